//! `semgate approvals list | show | approve | deny | delegate`: a person's answers, proved by the person's own client certificate.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use semgate_approvals::render::{Card, terminal, visible_line};
use serde_json::{Value, json};

use crate::authority_client::DIRECTORY;
use crate::client::{Client, Reply};
use crate::fault::{Doing, Fault};
use crate::terminal::is_coloured_output;
use crate::up_directory::UpDirectory;

/// Requests that wait for people: list them, look at one, approve, deny, delegate
#[derive(Debug, Subcommand)]
pub enum ApprovalsJob {
    /// List requests that you may decide
    List {
        /// Also those that are over
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        at: PeopleArgs,
    },
    /// Show everything that one request would let happen
    Show {
        /// The id of the request
        id: String,
        #[command(flatten)]
        at: PeopleArgs,
    },
    /// Approve exactly this action, once
    Approve {
        /// The id of the request
        id: String,
        #[command(flatten)]
        answer: AnswerArgs,
        /// The chosen option of a clarification, exactly as offered
        #[arg(long)]
        option: Option<String>,
        /// The data of a solicitation, as JSON
        #[arg(long, value_name = "JSON")]
        data: Option<String>,
    },
    /// Refuse an action
    Deny {
        /// The id of the request
        id: String,
        #[command(flatten)]
        answer: AnswerArgs,
    },
    /// Let another person decide as well
    Delegate {
        /// The id of the request
        id: String,
        /// The person, such as `human://alice.eng`
        #[arg(long)]
        to: String,
        #[command(flatten)]
        at: PeopleArgs,
    },
}

/// A decision: its action and reason.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// Digest of the action that you looked at; default: that of the request now
    #[arg(long)]
    digest: Option<String>,
    /// Your reason
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    at: PeopleArgs,
}

/// The gateway's address for people, and the person.
#[derive(Debug, Args)]
pub struct PeopleArgs {
    /// The directory of `semgate up`
    #[arg(long, default_value = DIRECTORY, conflicts_with = "gateway")]
    dir: PathBuf,
    /// The person of `up.json`
    #[arg(long = "as", value_name = "NAME", default_value = "bob.sre")]
    person: String,
    /// Another gateway's address for people; needs `--roots`, `--cert` and `--key`
    #[arg(long, value_name = "URL", requires_all = ["roots", "cert", "key"])]
    gateway: Option<String>,
    /// PEM roots of that gateway
    #[arg(long)]
    roots: Option<PathBuf>,
    /// PEM chain of your client certificate, leaf first
    #[arg(long, requires = "key")]
    cert: Option<PathBuf>,
    /// PEM key of your client certificate
    #[arg(long, requires = "cert")]
    key: Option<PathBuf>,
}

/// A gateway's address for people, with a client of one person.
struct People {
    client: Client,
    url: String,
}

impl PeopleArgs {
    fn open(&self) -> Result<People, Fault> {
        if let (Some(url), Some(roots)) = (&self.gateway, &self.roots) {
            let identity = self.cert.as_deref().zip(self.key.as_deref());
            let url = url.trim_end_matches('/').to_owned();
            return Ok(People { client: Client::new(roots, identity)?, url });
        }
        let up_dir = UpDirectory::open(&self.dir)?;
        let person = up_dir.human(&self.person)?;
        let identity = (up_dir.path(&person.cert), up_dir.path(&person.key));
        let roots = up_dir.path(&up_dir.up().roots);
        let client = Client::new(&roots, Some((&identity.0, &identity.1)))?;
        Ok(People { client, url: up_dir.people_url()?.to_owned() })
    }
}

impl People {
    async fn get(&self, path: &str) -> Result<Value, Fault> {
        read(&self.client.get(&format!("{}{path}", self.url)).await?)
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, Fault> {
        let url = format!("{}{path}", self.url);
        read(&self.client.post(&url, "application/json", body.to_string().into_bytes()).await?)
    }
}

/// The JSON of a success, or the gateway's reason.
fn read(reply: &Reply) -> Result<Value, Fault> {
    let body: Value = serde_json::from_slice(&reply.body).doing("the gateway's answer")?;
    if reply.status == 200 {
        return Ok(body);
    }
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
    Err(Fault::new(format_args!("{}: {}", text("code"), text("detail")))
        .hint("`semgate approvals list` shows what you may decide"))
}

/// Runs one job.
///
/// # Errors
/// The gateway's refusal, or no answer.
pub async fn run(job: ApprovalsJob, json: bool) -> Result<u8, Fault> {
    match job {
        ApprovalsJob::List { all, at } => {
            let state = if all { "all" } else { "open" };
            let listed = at.open()?.get(&format!("/v1/approvals?state={state}")).await?;
            list(&listed, json);
        }
        ApprovalsJob::Show { id, at } => show(&at.open()?.get(&path(&id, "")).await?, json)?,
        ApprovalsJob::Approve { id, answer, option, data } => {
            let data: Option<Value> =
                data.map(|text| serde_json::from_str(&text)).transpose().doing("`--data`")?;
            decide(&id, "/approve", answer, json!({"selected_option": option, "data": data}), json).await?;
        }
        ApprovalsJob::Deny { id, answer } => decide(&id, "/deny", answer, json!({}), json).await?,
        ApprovalsJob::Delegate { id, to, at } => {
            outcome(&at.open()?.post(&path(&id, "/delegate"), &json!({"to": to})).await?, json);
        }
    }
    Ok(0)
}

fn path(id: &str, act: &str) -> String {
    format!("/v1/approvals/{id}{act}")
}

async fn decide(id: &str, act: &str, answer: AnswerArgs, mut body: Value, json: bool) -> Result<(), Fault> {
    let people = answer.at.open()?;
    let digest = match answer.digest {
        Some(digest) => json!(digest),
        None => people.get(&path(id, "")).await?.get("digest").cloned().unwrap_or_default(),
    };
    if let Some(members) = body.as_object_mut() {
        members.insert("digest".to_owned(), digest);
        members.insert("reason".to_owned(), json!(answer.reason));
    }
    outcome(&people.post(&path(id, act), &body).await?, json);
    Ok(())
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn outcome(hold: &Value, json: bool) {
    if json {
        out!("{hold}");
    } else {
        out!("{} {}", text(hold, "id"), text(hold, "state"));
    }
}

fn list(listed: &Value, json: bool) {
    if json {
        out!("{listed}");
        return;
    }
    for hold in listed.get("approvals").and_then(Value::as_array).into_iter().flatten() {
        let until = hold.get("expires_at").and_then(Value::as_u64).unwrap_or_default();
        out!(
            "{}  {:<9} until {until}  {}",
            text(hold, "id"),
            text(hold, "state"),
            visible_line(&summary(hold))
        );
    }
}

/// One line about a request: sender, receiver and concepts, or the agent's summary.
fn summary(hold: &Value) -> String {
    let part = |name: &str| hold.get(name).filter(|part| !part.is_null());
    if let Some(action) = part("action") {
        let instances = action.get("instances").and_then(Value::as_array).into_iter().flatten();
        let concepts: Vec<&str> = instances.map(|one| text(one, "concept")).collect();
        return format!(
            "{} to {}: {}",
            text(action, "sender"),
            text(action, "receiver"),
            concepts.join(", ")
        );
    }
    let asked = part("interaction").unwrap_or(&Value::Null);
    format!("{} asks {}: {}", text(asked, "sender"), text(asked, "target"), text(asked, "summary"))
}

/// Prints a request as its card: the gateway's words apart from those of the agent.
///
/// # Errors
/// The answer does not show the action that its digest covers.
fn show(hold: &Value, json: bool) -> Result<(), Fault> {
    let card = Card::read(hold).ok_or_else(|| {
        Fault::new("the gateway's answer does not show the action that its digest covers")
            .hint("do not decide this request; ask the operator of the gateway")
    })?;
    if json {
        out!("{hold}");
        return Ok(());
    }
    out_raw!("{}\n", terminal(&card, is_coloured_output()));
    out!("state     {}", text(hold, "state"));
    for decision in hold.get("decisions").and_then(Value::as_array).into_iter().flatten() {
        let feedback = text(decision, "feedback");
        out!("decision  {} {} {feedback}", text(decision, "human_id"), text(decision, "decision"));
    }
    Ok(())
}
