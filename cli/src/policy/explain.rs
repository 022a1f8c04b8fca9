//! `semgate policy explain`: explains why a message is permitted or denied. For operators; no caller ever sees it.

mod limited;
mod show;

use std::path::PathBuf;

use clap::Args;
use semgate_contexts::{ContextUrn, Prefix, json};
use semgate_inspect::Code;
use semgate_policies::Parties;
use semgate_policy_analysis::{Explainer, Recalled, Recorded};

use super::audit::{self, Entry};
use super::case::Exchange;
use super::inputs::{self, Typing};
use super::stage::{CaseMessage, PERMITTED, PolicyStage};
use crate::fault::{Doing, Fault};
use crate::system::read_bytes;

/// Remark on a message that was refused before any condition was evaluated.
const UNCONDITIONED: &str = "; no policy condition was evaluated";

/// The decision, and the policies to explain it.
#[derive(Debug, Args)]
pub struct Explain {
    /// A message as sent
    #[arg(long, value_name = "FILE", conflicts_with = "decision", requires_all = ["sender", "receiver"])]
    message: Option<PathBuf>,
    /// Its verified sender: an alias or an id
    #[arg(long, value_name = "AGENT")]
    sender: Option<String>,
    /// Its receiver
    #[arg(long, value_name = "AGENT")]
    receiver: Option<String>,
    /// The request that the message replies to
    #[arg(long, value_name = "FILE", requires = "message")]
    answers: Option<PathBuf>,
    /// The binding of the message: `l8`, or `a2a` or `mcp` with a JSON-RPC request (in MCP, for example, a tool call)
    #[arg(long, default_value = "l8")]
    protocol: String,
    /// The protocol version in its own spelling; default: the newest
    #[arg(long, value_name = "VERSION", requires = "message")]
    binding_version: Option<String>,
    /// MCP: the context of the tools pinned by the route (its `default_context`), such as `acme.tools:v1.0`
    #[arg(long, value_name = "CONTEXT", requires = "message")]
    pinned: Option<String>,
    /// The time of the message, in RFC 3339
    #[arg(long)]
    time: Option<String>,
    /// A decision id
    #[arg(long, value_name = "ID", required_unless_present = "message")]
    decision: Option<String>,
    /// The audit log that holds it; default: that of `--config`
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    /// The policy directory; default: that of `--config`, else ./.semgate/policies
    #[arg(long, value_name = "DIR")]
    policies: Option<PathBuf>,
    #[command(flatten)]
    typing: Typing,
}

/// Remark on a refusal after all policies permitted and no limit applied: the upstream agent was not reached, or the `@redact` of a permit
/// failed.
const AFTERWARDS: &str = "; policies permitted it, and a later check refused it: docs/reference/refusals.md describes that code, and the gateway's log shows the cause under this id";

/// The explanation of a message, or of one record of a decision.
#[derive(Default)]
struct Explained {
    /// The record of the decision, for a recorded one.
    of: Option<RecordRef>,
    /// The policy sets of the decision, for a recorded one.
    sets: Option<Sets>,
    headline: String,
    /// The limits that stopped it, a sentence each.
    limits: Vec<String>,
    /// Reason why no policy is shown, if so.
    untold: Option<String>,
    recalled: Vec<Recalled>,
}

/// A record of a decision: a request and its reply have one each, and so has each event of a stream.
struct RecordRef {
    n: i64,
    direction: String,
    verdict: String,
    code: Option<String>,
    /// Number of further records with the same explanation.
    more: usize,
}

/// The deciding policy set, and the explaining one.
struct Sets {
    /// The digest in the record.
    decided: Option<String>,
    /// The digest of the explaining set.
    explains: String,
    /// True if policies decided although the record names no set: the built-in ones that deny everything before the operator's are live.
    stood_in: bool,
}

impl Explain {
    /// Explains.
    ///
    /// # Errors
    /// A file cannot be read, or a decision is not in the log or kept nothing.
    pub fn run(&self, json: bool) -> Result<u8, Fault> {
        if self.message.is_none() && self.audit.is_none() && !self.typing.is_of_a_gateway() {
            return Err(unnamed());
        }
        let typed = self.typing.read()?;
        let directory = typed.directory(self.policies.as_deref())?;
        let explainer = inputs::explainer(&directory, &typed, json)?;
        let audit = self.audit.as_deref().or(typed.config.as_ref().map(|config| config.audit.as_path()));
        let explained = match (&self.message, &self.decision, audit) {
            (Some(message), ..) => {
                let source = inputs::source(&directory)?;
                let policies = inputs::load(&source, &typed.contexts, &typed.floors, json)?;
                let stage = PolicyStage::new(policies, typed);
                vec![self.message(message, &stage, &explainer)?]
            }
            (None, Some(id), Some(log)) => decision(id, log, &explainer)?,
            _ => return Err(unnamed()),
        };
        let several = explained.len() > 1;
        for (at, one) in explained.iter().enumerate() {
            match (json, several) {
                (true, _) => out!("{}", one.as_json()),
                (false, true) => one.show_headed(at == 0),
                (false, false) => one.show(),
            }
        }
        Ok(0)
    }

    fn message(
        &self,
        file: &std::path::Path,
        stage: &PolicyStage,
        explainer: &Explainer,
    ) -> Result<Explained, Fault> {
        let answers = self.answers.as_deref().map(read_bytes).transpose()?;
        let sent = CaseMessage {
            sender: &self.sender.clone().unwrap_or_default(),
            receiver: &self.receiver.clone().unwrap_or_default(),
            direction: if answers.is_some() { Exchange::Reply } else { Exchange::Request },
            protocol: &self.protocol,
            version: self.binding_version.as_deref(),
            time: self.time.as_deref(),
            shows: [&[], &[]],
            pinned: self.pinned.as_deref(),
        };
        let outcome = stage.message(&sent, &read_bytes(file)?, answers.as_deref())?;
        let why = if outcome.why.is_empty() { String::new() } else { format!(": {}", outcome.why) };
        let headline = format!("{}{why}", outcome.verdict);
        let (sender, receiver) = stage.parties(&sent)?;
        let Some(question) = outcome.question else {
            let headline = format!("{headline}{UNCONDITIONED}");
            let urn = outcome.context.filter(|_| outcome.verdict == Code::PolicyDenied.as_str());
            let line = urn.and_then(|urn| ContextUrn::parse(&urn, &Prefix::default()).ok());
            let near = line.map(|urn| explainer.refused_line(&sender, urn.line(), outcome.performative));
            let recalled = near.into_iter().flatten().collect();
            return Ok(Explained { headline, recalled, ..Explained::default() });
        };
        let parties = Parties {
            sender: &sender,
            receiver: &receiver,
            binding: &self.protocol,
            direction: sent.direction.as_str(),
        };
        let read = json::read(question.as_bytes(), &audit::LIMITS).doing("the questions of the message")?;
        let question =
            read.as_object().ok_or_else(|| Fault::new("the questions of the message are not an object"))?;
        let redacted: Vec<&str> = outcome.redacted.iter().map(String::as_str).collect();
        let recorded = Recorded { redacted: &redacted, by_these: false };
        let recalled = explainer.recall(parties, question, recorded).map_err(Fault::new)?;
        Ok(Explained { headline, recalled, ..Explained::default() })
    }
}

fn unnamed() -> Fault {
    Fault::new("nothing to explain is named")
        .hint("name a message with `--message`, or a decision with `--decision` and its log with `--audit` or `--config`")
        .status(2)
}

/// Looks a decision up in the log.
fn decision(id: &str, log: &std::path::Path, explainer: &Explainer) -> Result<Vec<Explained>, Fault> {
    let mut records = Vec::new();
    let cut = audit::each(log, |entry| {
        if entry.text("decision_id") == Some(id) {
            records.push(of_entry(entry, explainer));
        }
        Ok(())
    })?;
    audit::warn(log, cut);
    if records.is_empty() {
        return Err(Fault::new(format_args!("`{}` holds no decision with that id", log.display()))
            .hint("logs rotate: look in the older ones too"));
    }
    // a request and its reply are one decision; a record without content must not hide one with it, nor be hidden
    if records.iter().all(|(_, fault)| fault.is_some()) {
        let refused = records.iter().position(|(told, _)| told.was_refused());
        let explained = records.into_iter().nth(refused.unwrap_or_default());
        return Err(explained.and_then(|(_, fault)| fault).unwrap_or_else(|| not_asked(None, "")));
    }
    let mut all: Vec<Explained> = Vec::new();
    for (told, _) in records {
        match all.last_mut().filter(|last| last.untold.is_some() && last.says_what(&told)) {
            Some(Explained { of: Some(of), .. }) => of.more += 1,
            _ => all.push(told),
        }
    }
    Ok(all)
}

/// The fault for a decision with this code whose record lacks the request to the policies; `what` is empty or `reply `.
fn not_asked(code: Option<&str>, what: &str) -> Fault {
    const OF_POLICIES: [&str; 4] = ["policy_denied", "approval_required", "reply_refused", "policy_error"];
    match code {
        Some("reply_refused") => Fault::new(
            "the record does not hold what was asked: the reply was refused before any condition was evaluated (the `cause` of the answer shows why), or the gateway keeps nothing of it (`[audit_values]`)",
        )
        .hint("the gateway's log shows the refusal under this id; if firewall.toml ends with `[audit_values]`, values are kept from the next message on"),
        Some(code) if !OF_POLICIES.contains(&code) => {
            let it = if what.is_empty() { "it" } else { "the reply" };
            Fault::new(format_args!("{it} was refused as `{code}` before policies were asked, so none decided"))
                .hint("the record's `detail` and docs/reference/refusals.md say what that code means and what to send instead")
        }
        _ => Fault::new("the record does not hold what was asked: the message has no concept, or the gateway keeps nothing of it (`[audit_values]`)")
            .hint("put `[audit_values]`, even without a line below it, at the end of firewall.toml (of `up`: .semgate/firewall.toml) and start again"),
    }
}

/// The line of a recorded request that was refused as a whole: its context was not examined, so it has no digest. None for any other
/// record.
fn closed_line(entry: &Entry<'_>) -> Option<ContextUrn> {
    let denied = entry.text("code") == Some(Code::PolicyDenied.as_str()) && entry.question().is_none();
    let context = entry.text("context").filter(|_| denied && entry.text("digest").is_none())?;
    ContextUrn::parse(context, &Prefix::default()).ok()
}

/// The answer of these policies to a request whose line was refused as a whole.
fn refused_line(entry: &Entry<'_>, urn: &ContextUrn, explainer: &Explainer) -> Result<Vec<Recalled>, Fault> {
    let sender = entry.parties().sender;
    let performative = entry.text("performative").and_then(|name| name.parse().ok());
    match explainer.policies().may_use_line(sender, urn.line()) {
        Err(_) => Ok(explainer.refused_line(sender, urn.line(), performative)),
        // refused by another set, or for the line of a vocabulary beside the context of the message
        Ok(_) => Err(Fault::new(format_args!(
            "the line was refused to this sender before any condition was evaluated, and these policies do not refuse `{}` so",
            urn.line()
        ))
        .hint("ask again with `--message`")),
    }
}

/// The explanation of a record, and the fault that ends the command if there is no more.
fn of_entry(entry: &Entry<'_>, explainer: &Explainer) -> (Explained, Option<Fault>) {
    let text = |name| entry.text(name).map(str::to_owned);
    let (verdict, code) = (text("verdict").unwrap_or_else(|| "?".to_owned()), text("code"));
    let what = match entry.text("direction") {
        Some("reply") => "reply ",
        _ => "",
    };
    let limits = limited::sentences(entry);
    let decided = text("policy_digest");
    let sets = Sets {
        stood_in: decided.is_none() && entry.names("policies").next().is_some(),
        explains: explainer.policies().digest().to_string(),
        decided,
    };
    let redacted: Vec<&str> = entry.names("redacted").collect();
    let recorded = Recorded { redacted: &redacted, by_these: sets.same() };
    let closed = closed_line(entry);
    let recalled = match entry.question() {
        Some(asked) => explainer.recall(entry.parties(), asked, recorded).map_err(Fault::new),
        None if !limits.is_empty() || sets.stood_in => Ok(Vec::new()),
        None => match &closed {
            Some(urn) => refused_line(entry, urn, explainer),
            None => Err(not_asked(code.as_deref(), what)),
        },
    };
    let came = code.as_ref().map_or_else(|| verdict.clone(), |code| format!("{verdict} ({code})"));
    let of = RecordRef {
        n: entry.number(),
        direction: text("direction").unwrap_or_else(|| "request".to_owned()),
        verdict,
        code,
        more: 0,
    };
    let (recalled, fault) = match recalled {
        Ok(recalled) => (recalled, None),
        Err(fault) => (Vec::new(), Some(fault)),
    };
    let permitted = !recalled.is_empty() && recalled.iter().all(|one| one.then == PERMITTED);
    let explained = match (&fault, &closed) {
        (None, Some(_)) => UNCONDITIONED,
        (None, None) if of.code.is_some() && limits.is_empty() && permitted => AFTERWARDS,
        (None, None) => "; explained by the policies named here",
        (Some(_), _) => "",
    };
    let headline = format!("{what}{came}, as it was decided{explained}");
    let untold = fault.as_ref().map(|fault| fault.what().to_owned());
    (Explained { of: Some(of), sets: Some(sets), headline, limits, untold, recalled }, fault)
}
