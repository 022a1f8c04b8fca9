//! `semgate call`: one message through any route of a gateway, in the protocol of its agent.

mod a2a;
pub mod ldp;
mod mcp;
pub mod outcome;
mod target;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use semgate_contexts::Performative;
use serde_json::Value;

use self::target::Target;
use crate::client::Client;
use crate::fault::{Doing, Fault};
use crate::names;
use crate::say::{Line, SendOutcome};

/// Pause between looks at a gateway that starts.
const PAUSE: Duration = Duration::from_millis(100);

/// Say one thing to an agent through its gateway: L8, A2A and LDP by `CONTEXT CONCEPT JSON`, A2A by `--text`, MCP by `--tool`
#[derive(Debug, Args)]
pub struct Call {
    /// The context, as a URN or in short: `payment:v1.1`
    #[arg(requires_all = ["concept", "members"], conflicts_with_all = ["text", "card", "tool", "list_tools"])]
    context: Option<String>,
    /// The concept or task
    concept: Option<String>,
    /// Its members, a JSON object; sent as given
    #[arg(value_name = "JSON")]
    members: Option<String>,
    /// A2A: a text part
    #[arg(long, conflicts_with_all = ["card", "tool", "list_tools"])]
    text: Option<String>,
    /// A2A, LDP: show the agent's card
    #[arg(long, conflicts_with_all = ["tool", "list_tools"])]
    card: bool,
    /// MCP: call this tool
    #[arg(long, value_name = "NAME", conflicts_with = "list_tools")]
    tool: Option<String>,
    /// MCP: the tool's arguments
    #[arg(long, value_name = "JSON", default_value = "{}", requires = "tool")]
    args: String,
    /// MCP: list the tools
    #[arg(long)]
    list_tools: bool,
    /// The speech act of L8; default: REQUEST for a task, INFORM for a concept
    #[arg(long)]
    performative: Option<Performative>,
    /// The gateway's address; default: that of `--dir`
    #[arg(long, value_name = "URL")]
    gateway: Option<String>,
    /// The route of `--dir`, if it has several
    #[arg(long, value_name = "NAME", conflicts_with = "gateway")]
    route: Option<String>,
    /// The protocol; default: that of the route, or the one that the words are for
    #[arg(long, value_name = "PROTOCOL")]
    binding: Option<Spoken>,
    /// The one who speaks, of `--dir`; default: its one client
    #[arg(long = "as", value_name = "NAME")]
    speaker: Option<String>,
    /// The directory of `semgate init` or `semgate up`
    #[arg(long, default_value = "./.semgate")]
    dir: PathBuf,
    /// PEM chain of the speaker, in place of `--as`
    #[arg(long, requires_all = ["key", "roots", "gateway"], conflicts_with = "speaker")]
    cert: Option<PathBuf>,
    /// PEM key of the speaker
    #[arg(long, requires = "cert")]
    key: Option<PathBuf>,
    /// PEM roots of the gateway
    #[arg(long, requires = "gateway")]
    roots: Option<PathBuf>,
    /// Seconds to wait until the gateway of `--dir` is ready
    #[arg(long, value_name = "SECONDS", default_value_t = 0, conflicts_with = "gateway")]
    wait: u64,
}

/// The protocol of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Spoken {
    /// Native L8 JSON.
    L8,
    /// A2A over JSON-RPC.
    A2a,
    /// MCP over streamable HTTP.
    Mcp,
    /// LDP: a session and one task in it.
    Ldp,
}

impl Spoken {
    const fn name(self) -> &'static str {
        match self {
            Self::L8 => "L8",
            Self::A2a => "A2A",
            Self::Mcp => "MCP",
            Self::Ldp => "LDP",
        }
    }
}

/// The content of a message of L8 or A2A.
struct Concept<'a> {
    urn: String,
    name: &'a str,
    members: &'a str,
}

impl Call {
    /// Sends it and prints the verdict.
    ///
    /// # Errors
    /// There is no verdict; a refusal is status 3.
    pub async fn run(self, json: bool) -> Result<u8, Fault> {
        let target = self.target()?;
        if self.wait > 0 {
            target.until_ready(Duration::from_secs(self.wait)).await?;
        }
        let outcome = match self.spoken(&target)? {
            Spoken::L8 => self.l8(&target).await?,
            Spoken::A2a => self.a2a(&target).await?,
            Spoken::Mcp => self.mcp(&target).await?,
            Spoken::Ldp => self.ldp(&target).await?,
        };
        outcome.print(json)?;
        outcome.status()
    }

    fn target(&self) -> Result<Target, Fault> {
        let Some(url) = &self.gateway else {
            return Target::of_directory(&self.dir, self.route.as_deref(), self.speaker.as_deref());
        };
        let client = match (&self.roots, &self.cert, &self.key) {
            (Some(roots), cert, key) => Client::new(roots, cert.as_deref().zip(key.as_deref()))?,
            (None, ..) if url.starts_with("http://") => Client::plain(),
            _ => return Target::at(&self.dir, url, self.speaker.as_deref()),
        };
        Ok(Target::elsewhere(url, client))
    }

    fn spoken(&self, target: &Target) -> Result<Spoken, Fault> {
        let by_words = match () {
            () if self.tool.is_some() || self.list_tools => Some(Spoken::Mcp),
            () if self.card && self.binding.or(target.binding) == Some(Spoken::Ldp) => Some(Spoken::Ldp),
            () if self.text.is_some() || self.card => Some(Spoken::A2a),
            () => None,
        };
        let spoken = self.binding.or(target.binding).or(by_words).unwrap_or(Spoken::L8);
        if by_words.is_some_and(|by_words| by_words != spoken)
            || (by_words.is_none() && self.context.is_none())
        {
            let words = match spoken {
                Spoken::L8 => "CONTEXT CONCEPT JSON",
                Spoken::A2a => "CONTEXT CONCEPT JSON, `--text` or `--card`",
                Spoken::Mcp => "`--tool NAME --args JSON` or `--list-tools`",
                Spoken::Ldp => "CONTEXT SKILL JSON or `--card`",
            };
            return Err(Fault::new(format_args!("nothing to say to an agent of {}", spoken.name()))
                .hint(format_args!("give {words}"))
                .status(2));
        }
        Ok(spoken)
    }

    fn concept(&self) -> Option<Concept<'_>> {
        let (context, name, members) =
            (self.context.as_ref()?, self.concept.as_ref()?, self.members.as_ref()?);
        Some(Concept { urn: names::full_urn(context), name, members })
    }

    async fn l8(&self, target: &Target) -> Result<SendOutcome, Fault> {
        let concept = self.concept().ok_or_else(|| Fault::new("nothing to say").status(2))?;
        let (Some(sender), Some(receiver)) = (&target.sender, &target.receiver) else {
            return Err(Fault::new("native L8 names sender and receiver, which only `--dir` knows")
                .hint("name the directory of the gateway with `--dir`"));
        };
        let performative = match self.performative {
            Some(named) => named.as_str(),
            None => target.default_performative(&concept.urn, concept.name),
        };
        let line = Line { performative, sender, receiver, urn: &concept.urn, digest: None };
        let body = line.message(concept.name, concept.members)?.into_bytes();
        Ok(SendOutcome::read(&target.client.post(&target.url, "application/json", body).await?))
    }

    async fn a2a(&self, target: &Target) -> Result<SendOutcome, Fault> {
        if self.card {
            let reply = target.client.get(&format!("{}/.well-known/agent-card.json", target.url)).await?;
            return Ok(outcome::of_answer(&reply));
        }
        let content = match (&self.text, self.concept()) {
            (Some(text), _) => a2a::Content::Text(text),
            (None, Some(concept)) => {
                let data = typed(&concept)?;
                a2a::Content::Typed(concept.urn, data, self.performative)
            }
            (None, None) => return Err(Fault::new("nothing to say").status(2)),
        };
        a2a::send(target, &content).await
    }

    async fn ldp(&self, target: &Target) -> Result<SendOutcome, Fault> {
        if self.card {
            return Ok(SendOutcome::read(&target.client.get(&format!("{}/ldp/identity", target.url)).await?));
        }
        let concept = self.concept().ok_or_else(|| Fault::new("nothing to say").status(2))?;
        let from = target.sender.as_ref().ok_or_else(|| {
            Fault::new("LDP names the sender, which only `--dir` knows")
                .hint("name the directory of the gateway with `--dir`")
        })?;
        let input: Value = serde_json::from_str(concept.members)
            .hinted("the third argument", "give a JSON object")
            .map_err(|fault| fault.status(2))?;
        ldp::Delegate { client: &target.client, url: &target.url, from }
            .task(&concept.urn, concept.name, input)
            .await
    }

    async fn mcp(&self, target: &Target) -> Result<SendOutcome, Fault> {
        let (method, params) = match &self.tool {
            None => ("tools/list", serde_json::json!({})),
            Some(tool) => {
                let arguments: Value = serde_json::from_str(&self.args)
                    .hinted("`--args`", r#"give a JSON object, for instance `{"a": 1}`"#)
                    .map_err(|fault| fault.status(2))?;
                ("tools/call", serde_json::json!({"name": tool, "arguments": arguments}))
            }
        };
        mcp::ask(target, method, params).await
    }
}

/// The data of a typed part.
fn typed(concept: &Concept<'_>) -> Result<Value, Fault> {
    let mut data: Value = serde_json::from_str(concept.members)
        .hinted("the third argument", "give a JSON object")
        .map_err(|fault| fault.status(2))?;
    let Value::Object(members) = &mut data else {
        return Err(Fault::new("the third argument is not a JSON object")
            .hint("for instance `{}`")
            .status(2));
    };
    members.insert("concept".to_owned(), concept.name.into());
    Ok(data)
}

impl Target {
    /// Waits until the gateway answers messages.
    ///
    /// # Errors
    /// It is not ready in time.
    async fn until_ready(&self, patience: Duration) -> Result<(), Fault> {
        let began = Instant::now();
        let Some(admin) = &self.admin else { return Ok(()) };
        let admin_client = Client::plain();
        loop {
            let last = match admin_client.get(&format!("{admin}/readyz")).await {
                Ok(reply) if reply.status == 200 => return Ok(()),
                Ok(reply) => String::from_utf8_lossy(&reply.body).into_owned(),
                Err(fault) => fault.what().to_owned(),
            };
            if began.elapsed() > patience {
                return Err(Fault::new(format_args!("the gateway is not ready: {last}"))
                    .hint("start it with `semgate up --dir DIR`; its log shows what it waits for"));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}
