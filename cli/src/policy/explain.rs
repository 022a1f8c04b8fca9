//! `semgate policy explain`: why a message is permitted or denied. For operators; no caller ever sees it.

mod limited;

use std::path::PathBuf;

use clap::Args;
use semgate_contexts::{ContextUrn, Prefix, json};
use semgate_inspect::Code;
use semgate_policies::{Explainer, Explanation, Holds, Part, Parties, Recalled, Weighed};
use serde_json::{Value, json};

use super::audit::{self, Entry};
use super::case::Way;
use super::inputs::{self, Contexts};
use super::stage::{Sent, Stage};
use crate::fault::{Doing, Fault};

/// Which decision, and the policies that are asked.
#[derive(Debug, Args)]
pub struct Explain {
    /// A message as it is sent
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
    /// The binding of the message: `l8`, or `a2a` or `mcp` with a JSON-RPC request (in MCP a call of a tool, say)
    #[arg(long, default_value = "l8")]
    protocol: String,
    /// The version of the protocol, as it writes it; the newest unless given
    #[arg(long, value_name = "VERSION", requires = "message")]
    binding_version: Option<String>,
    /// MCP: the context of the tools that the route pins (its `default_context`), such as `acme.tools:v1.0`
    #[arg(long, value_name = "CONTEXT", requires = "message")]
    pinned: Option<String>,
    /// The clock: RFC 3339
    #[arg(long)]
    time: Option<String>,
    /// A decision id
    #[arg(long, value_name = "ID", requires = "audit", required_unless_present = "message")]
    decision: Option<String>,
    /// The audit log that holds it
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    /// The policy directory
    #[arg(long, value_name = "DIR", default_value = "./.semgate/policies")]
    policies: PathBuf,
    #[command(flatten)]
    contexts: Contexts,
}

/// What is told of a message, or of one record of a decision.
struct Told {
    headline: String,
    /// The limits that stopped it, a sentence each.
    limits: Vec<String>,
    recalled: Vec<Recalled>,
}

impl Told {
    const fn unlimited(headline: String, recalled: Vec<Recalled>) -> Self {
        Self { headline, limits: Vec::new(), recalled }
    }
}

impl Explain {
    /// Explains.
    ///
    /// # Errors
    /// Files that cannot be read, a decision that is not in the log or of which nothing was kept.
    pub fn run(&self, json: bool) -> Result<u8, Fault> {
        let contexts = self.contexts.read()?;
        let explainer = inputs::explainer(&self.policies, &contexts, json)?;
        let told = match (&self.message, &self.decision, &self.audit) {
            (Some(message), ..) => {
                let stage = Stage::new(
                    inputs::load(&inputs::source(&self.policies)?, &contexts, &self.contexts.floors(), json)?,
                    contexts,
                );
                vec![self.message(message, &stage, &explainer)?]
            }
            (None, Some(id), Some(log)) => decision(id, log, &explainer)?,
            _ => return Err(Fault::new("name a message, or a decision and its log")),
        };
        for Told { headline, limits, recalled } in told {
            if json {
                let questions: Vec<Value> = recalled.iter().map(as_json).collect();
                out!("{}", json!({"verdict": headline, "limits": limits, "questions": questions}));
            } else {
                out!("{headline}");
                limits.iter().for_each(|limit| out!("  {limit}"));
                recalled.iter().for_each(show);
            }
        }
        Ok(0)
    }

    fn message(&self, file: &std::path::Path, stage: &Stage, explainer: &Explainer) -> Result<Told, Fault> {
        let bytes = |file: &std::path::Path| {
            std::fs::read(file).doing(format_args!("cannot read `{}`", file.display()))
        };
        let answers = self.answers.as_deref().map(bytes).transpose()?;
        let sent = Sent {
            sender: &self.sender.clone().unwrap_or_default(),
            receiver: &self.receiver.clone().unwrap_or_default(),
            direction: if answers.is_some() { Way::Reply } else { Way::Request },
            protocol: &self.protocol,
            version: self.binding_version.as_deref(),
            time: self.time.as_deref(),
            shows: [&[], &[]],
            pinned: self.pinned.as_deref(),
        };
        let outcome = stage.message(&sent, &bytes(file)?, answers.as_deref())?;
        let why = if outcome.why.is_empty() { String::new() } else { format!(": {}", outcome.why) };
        let headline = format!("{}{why}", outcome.verdict);
        let (sender, receiver) = stage.parties(&sent)?;
        let Some(asked) = outcome.asked else {
            let headline = format!("{headline}; it did not come to the policies' conditions");
            let urn = outcome.context.filter(|_| outcome.verdict == Code::PolicyDenied.as_str());
            let line = urn.and_then(|urn| ContextUrn::parse(&urn, &Prefix::default()).ok());
            let near = line.map(|urn| explainer.refused_line(&sender, urn.line()));
            return Ok(Told::unlimited(headline, near.into_iter().flatten().collect()));
        };
        let parties = Parties {
            sender: &sender,
            receiver: &receiver,
            binding: &self.protocol,
            direction: sent.direction.as_str(),
        };
        let read = json::read(asked.as_bytes(), &audit::LIMITS).doing("the questions of the message")?;
        let asked = read.as_object().ok_or_else(|| Fault::new("the questions of the message are none"))?;
        Ok(Told::unlimited(headline, explainer.recall(parties, asked).map_err(Fault::new)?))
    }
}

/// Looks a decision up in the log.
fn decision(id: &str, log: &std::path::Path, explainer: &Explainer) -> Result<Vec<Told>, Fault> {
    let mut found = Vec::new();
    audit::each(log, |entry| {
        if entry.text("decision_id") == Some(id) {
            found.push(of_entry(entry, explainer));
        }
        Ok(())
    })?;
    if found.is_empty() {
        return Err(Fault::new(format_args!("`{}` holds no decision of that id", log.display()))
            .hint("logs rotate: look in the older ones too"));
    }
    // a request and its reply are one decision, and a record that kept nothing hides none that did
    let (mut told, mut fault) = (Vec::new(), None);
    for one in found {
        match one {
            Ok(one) => told.push(one),
            Err(why) => fault = Some(why),
        }
    }
    match fault {
        Some(why) if told.is_empty() => Err(why),
        _ => Ok(told),
    }
}

fn of_entry(entry: &Entry<'_>, explainer: &Explainer) -> Result<Told, Fault> {
    let code = entry.text("code").map_or_else(String::new, |code| format!(" ({code})"));
    let direction = match entry.text("direction") {
        Some("reply") => "reply ",
        _ => "",
    };
    let headline = format!(
        "{direction}{}{code}, as it was decided; explained by the policies named here",
        entry.text("verdict").unwrap_or("?")
    );
    let limits = limited::sentences(entry);
    let Some(asked) = entry.asked() else {
        if !limits.is_empty() {
            return Ok(Told { headline, limits, recalled: Vec::new() });
        }
        let why = "the record does not hold what was asked: it was refused before the policies' conditions, or the gateway keeps nothing (`[audit_values]`)";
        return Err(Fault::new(why).hint("put `[audit_values]`, even without a line below it, at the end of firewall.toml (of `up`: .semgate/firewall.toml) and start again"));
    };
    let recalled = explainer.recall(entry.parties(), asked).map_err(Fault::new)?;
    Ok(Told { headline, limits, recalled })
}

fn show(recalled: &Recalled) {
    let now = recalled.now.unwrap_or("cannot be said");
    out!("\n{}: {now}", recalled.concept);
    if !recalled.missing.is_empty() {
        let missing: Vec<&str> = recalled.missing.iter().map(String::as_str).collect();
        out!("  it depends on what was not kept: {}", missing.join(", "));
    }
    for (part, heading) in [
        (Part::Decided, "decided"),
        (Part::Applies, "applies too"),
        (Part::Open, "depends on what was not kept"),
        (Part::Near, "came near"),
    ] {
        let mut of_part = recalled.explanation.policies.iter().filter(|one| one.part == part).peekable();
        if of_part.peek().is_some() {
            out!("  {heading}:");
            of_part.for_each(show_policy);
        }
    }
    if !recalled.explanation.to_pass.is_empty() {
        out!("  to pass, all of these:");
        for change in &recalled.explanation.to_pass {
            out!("    {change}");
        }
    }
}

fn show_policy(policy: &Weighed) {
    let effect = if policy.permits { "permit" } else { "forbid" };
    out!("    {effect} {} ({})", policy.id, policy.place);
    if let Some(asks) = &policy.asks {
        out!("      asks a human: {asks}");
    }
    for wish in &policy.out_of_scope {
        out!("      scope: {wish}");
    }
    for condition in &policy.conditions {
        out!(
            "      {} {} {}: {}",
            condition.place,
            condition.clause,
            condition.text,
            holds(&condition.holds)
        );
    }
}

fn holds(holds: &Holds) -> String {
    match holds {
        Holds::Yes => "true".to_owned(),
        Holds::No => "false".to_owned(),
        Holds::Fails => "cannot be evaluated".to_owned(),
        Holds::Unknown(members) => format!("not known without {}", members.join(", ")),
    }
}

fn as_json(recalled: &Recalled) -> Value {
    let Explanation { policies, to_pass, .. } = &recalled.explanation;
    let policies: Vec<Value> = policies
        .iter()
        .map(|policy| {
            let conditions: Vec<Value> = policy
                .conditions
                .iter()
                .map(|one| {
                    json!({"place": one.place.to_string(), "clause": one.clause, "text": one.text, "holds": holds(&one.holds)})
                })
                .collect();
            let part = match policy.part {
                Part::Decided => "decided",
                Part::Applies => "applies",
                Part::Open => "open",
                Part::Near => "near",
            };
            json!({
                "id": policy.id,
                "effect": if policy.permits { "permit" } else { "forbid" },
                "place": policy.place.to_string(),
                "part": part,
                "asks": policy.asks,
                "out_of_scope": policy.out_of_scope,
                "conditions": conditions,
            })
        })
        .collect();
    json!({
        "concept": recalled.concept,
        "verdict": recalled.now,
        "missing": recalled.missing,
        "policies": policies,
        "to_pass": to_pass,
    })
}
