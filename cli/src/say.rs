//! `semgate say CONTEXT CONCEPT JSON`: one native L8 message through the running gateway, as one of the agents of `up.json`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use semgate_contexts::{Context, ContextUrn, DocumentFault, DocumentLimits, Prefix};
use serde::Serialize;
use serde_json::Value;

use crate::client::{Client, Reply, StreamedReply};
use crate::fault::{Doing, Fault, REFUSED};
use crate::names;
use crate::terminal;
use crate::up_directory::UpDirectory;

/// Say one concept or task to the upstream agent of the gateway
#[derive(Debug, Args)]
pub struct Say {
    /// The context, as a URN or in short: `payment:v1.1`
    context: String,
    /// The concept or task of that context, or of the control vocabulary
    concept: String,
    /// Its members, a JSON object; sent as given
    #[arg(value_name = "JSON")]
    members: String,
    /// The agent of `up.json` that sends it
    #[arg(long = "as", value_name = "AGENT", default_value = "retailer-7")]
    speaker: String,
    /// The speech act; default: the first that the concept allows of QUERY, REQUEST (tasks) and INFORM
    #[arg(long)]
    performative: Option<String>,
    /// Accept a stream, and print each message as it comes, a line each
    #[arg(long)]
    stream: bool,
    /// Also name the context by this digest
    #[arg(long)]
    digest: Option<String>,
    /// The directory of `semgate up`
    #[arg(long, default_value = "./.semgate")]
    dir: PathBuf,
}

impl Say {
    /// Sends it and prints the verdict.
    ///
    /// # Errors
    /// There is no verdict; a refusal is the answer [`REFUSED`].
    pub async fn run(self, json: bool) -> Result<u8, Fault> {
        let up_dir = UpDirectory::open(&self.dir)?;
        let client = Client::of_agent(&up_dir, &self.speaker)?;
        let urn = names::full_urn(&self.context);
        let performative = match &self.performative {
            Some(named) => named.clone(),
            None => default_performative(&up_dir, &urn, &self.concept).await,
        };
        let line = Line {
            performative: &performative,
            sender: &up_dir.agent(&self.speaker)?.id,
            receiver: &up_dir.sample_agent()?.id,
            urn: &urn,
            digest: self.digest.as_deref(),
        };
        let body = line.message(&self.concept, &self.members)?;
        let url = up_dir.route("l8")?;
        let outcome = if self.stream {
            let followed = client.follow(url, body.into_bytes(), &mut |message| print(message)).await?;
            SendOutcome::followed(followed)
        } else {
            SendOutcome::read(&client.post(url, "application/json", body.into_bytes()).await?)
        };
        outcome.print(json)?;
        outcome.status()
    }
}

/// Prints a message: JSON for people and machines.
fn print(message: &str) {
    out!("{}", terminal::json(message));
}

/// Everything in a message but its content.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// The speech act.
    pub performative: &'a str,
    /// The sender.
    pub sender: &'a str,
    /// The receiver.
    pub receiver: &'a str,
    /// The context.
    pub urn: &'a str,
    /// The context's digest, if the sender names it.
    pub digest: Option<&'a str>,
}

impl Line<'_> {
    /// The message with one concept whose members are `json`, inserted as text, so that exactly the typed text is judged.
    ///
    /// # Errors
    /// `json` is not a JSON object.
    pub fn message(&self, concept: &str, json: &str) -> Result<String, Fault> {
        let members = json.trim().strip_prefix('{').and_then(|j| j.strip_suffix('}')).ok_or_else(|| {
            Fault::new("the third argument is not a JSON object")
                .status(2)
                .hint(r#"for instance: semgate say supplyChain:v1.0 current_decision '{"item_id":"beer","quantity":120}'"#)
        })?;
        let separator = if members.trim().is_empty() { "" } else { "," };
        let named = serde_json::to_string(concept).doing("concept")?;
        self.raw(&format!(r#"{{"concept":{named}{separator}{members}}}"#))
    }

    /// The message with this text as its content.
    ///
    /// # Errors
    /// None in practice: a string always has a JSON form.
    pub fn raw(&self, content: &str) -> Result<String, Fault> {
        let q = |text: &str| serde_json::to_string(text).doing("message");
        let digest = match self.digest {
            Some(digest) => format!(r#","digest":{}"#, q(digest)?),
            None => String::new(),
        };
        Ok(format!(
            r#"{{"protocol":"L8/1.0","message_id":{},"performative":{},"sender_id":{},"receiver_id":{},"context":{}{digest},"content":{content}}}"#,
            q(&message_id())?,
            q(self.performative)?,
            q(self.sender)?,
            q(self.receiver)?,
            q(self.urn)?,
        ))
    }
}

/// A unique message id: time and a counter. It only helps readers of a log; a repeated id is no fault.
pub fn message_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map(|d| d.as_micros()).unwrap_or_default();
    format!("say-{now:x}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The concept's default performative, from the authority; without an answer INFORM, or QUERY for the question of F0-26.
async fn default_performative(up_dir: &UpDirectory, urn: &str, concept: &str) -> String {
    const WANTED: [&str; 4] = ["QUERY", "REQUEST", "INFORM", "PUBLISH"];
    if concept == "ambiguous_parameter" {
        return "QUERY".to_owned();
    }
    let Some(context) = published(up_dir, urn).await else { return "INFORM".to_owned() };
    let Some(term) = context.term(concept) else { return "INFORM".to_owned() };
    let wanted: &[&str] = match term.kind() {
        semgate_contexts::TermKind::Task => &WANTED[1..],
        semgate_contexts::TermKind::Concept => &["INFORM", "PUBLISH", "REQUEST", "QUERY"],
    };
    let takes = |name: &&&str| name.parse().is_ok_and(|p| term.side(p).is_ok());
    wanted.iter().find(takes).map_or_else(|| "INFORM".to_owned(), |name| (*name).to_owned())
}

/// The document as the authority serves it, with the documents to which it refers, sixteen at most. It only finds the form of its terms, so
/// it is not verified.
async fn published(up_dir: &UpDirectory, urn: &str) -> Option<Context> {
    let (prefix, limits) = (Prefix::default(), DocumentLimits::default());
    let mut others: Vec<Arc<Context>> = Vec::new();
    // each refers to the one after it
    let mut waiting = vec![payload(up_dir, urn).await?];
    loop {
        let find = |urn: &ContextUrn| others.iter().find(|context| context.urn() == urn).cloned();
        match Context::check_among(waiting.last()?, &prefix, &limits, &find) {
            Ok(context) if waiting.len() == 1 => return Some(context),
            Ok(context) => {
                waiting.pop();
                others.push(Arc::new(context));
            }
            Err(DocumentFault::ReferenceMissing { urn, .. })
                if others.len() + waiting.len() <= limits.max_references =>
            {
                waiting.push(payload(up_dir, urn.as_str()).await?);
            }
            Err(_) => return None,
        }
    }
}

async fn payload(up_dir: &UpDirectory, urn: &str) -> Option<Vec<u8>> {
    let client = Client::anonymous(up_dir).ok()?;
    let reply = client.get(&format!("{}/v1/contexts/{urn}", up_dir.up().authority_url)).await.ok()?;
    names::payload(&reply.body)
}

/// The result of a message.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SendOutcome {
    /// `ALLOWED` or `REFUSED`.
    pub verdict: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// The stable code of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The inner code of a refused reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Reason for the refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Advice for the sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Delivery to the upstream agent: `no`, `yes`, `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered: Option<String>,
    /// Id of the operator's record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_id: Option<String>,
    /// The reply of the upstream agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<Value>,
}

impl SendOutcome {
    /// Reads the gateway's answer: a problem document is the gateway's, also with 202 for a message that waits for a person. Any other
    /// answer of 2xx is the agent's own.
    pub fn read(reply: &Reply) -> Self {
        let body: Option<Value> = serde_json::from_slice(&reply.body).ok();
        let is_problem =
            reply.header("content-type").is_some_and(|kind| kind.starts_with("application/problem+json"));
        if (200..300).contains(&reply.status) && !is_problem {
            return Self {
                verdict: "ALLOWED",
                status: reply.status,
                decision_id: reply.header("semgate-decision").map(str::to_owned),
                reply: body,
                ..Self::default()
            };
        }
        let refused = Self::refused(&body.unwrap_or_default());
        let id = || reply.header("semgate-decision").map(str::to_owned);
        Self { status: reply.status, decision_id: refused.decision_id.clone().or_else(id), ..refused }
    }

    /// A refusal by its problem document.
    pub fn refused(problem: &Value) -> Self {
        let member = |name: &str| problem.get(name).and_then(Value::as_str).map(str::to_owned);
        Self {
            verdict: "REFUSED",
            code: member("code"),
            cause: member("cause"),
            reason: member("detail"),
            hint: member("hint"),
            delivered: member("delivered"),
            decision_id: member("decision_id"),
            ..Self::default()
        }
    }

    /// Reads the end of a stream: its messages were printed, and its last event decides.
    fn followed(StreamedReply { mut reply, streamed, failed }: StreamedReply) -> Self {
        if failed {
            // the status of the problem document, as if it were the answer's
            let problem: Option<Value> = serde_json::from_slice(&reply.body).ok();
            let status = problem.as_ref().and_then(|problem| problem.get("status")).and_then(Value::as_u64);
            reply.status = status.and_then(|status| status.try_into().ok()).unwrap_or(502);
        }
        let outcome = Self::read(&reply);
        if streamed && !failed { Self { reply: None, ..outcome } } else { outcome }
    }

    /// One line for a person: verdict, code, reason, hint.
    pub fn line(&self) -> String {
        let mut line = self.verdict.to_owned();
        if let Some(code) = &self.code {
            line.push_str(&format!(" {code}"));
        }
        if let Some(cause) = &self.cause {
            line.push_str(&format!(" ({cause})"));
        }
        if let Some(reason) = &self.reason {
            line.push_str(&format!(": {reason}"));
        }
        if let Some(hint) = &self.hint {
            line.push_str(&format!("; hint: {hint}"));
        }
        line
    }

    /// Prints verdict, reply and decision.
    ///
    /// # Errors
    /// None in practice: it has a JSON form.
    pub fn print(&self, json: bool) -> Result<(), Fault> {
        if json {
            out!("{}", serde_json::to_string(self).doing("outcome")?);
            return Ok(());
        }
        out!("{}", self.line());
        if let Some(reply) = &self.reply {
            out!("reply: {reply}");
        }
        if let Some(id) = &self.decision_id {
            out!("decision: {id}");
        }
        Ok(())
    }

    /// The exit status: 0, or [`REFUSED`].
    ///
    /// # Errors
    /// The answer is no verdict of a gateway.
    pub fn status(&self) -> Result<u8, Fault> {
        match (self.verdict, &self.code) {
            ("ALLOWED", _) => Ok(0),
            (_, Some(_)) => Ok(REFUSED),
            _ => Err(Fault::new(format_args!("the gateway answered {} without a code", self.status))
                .hint("check that a gateway of Semgate is at this address")),
        }
    }
}
