//! `semgate policy replay LOG`: applies other policies to recorded decisions, and shows the changes.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use semgate_contexts::json::{Json, Object};
use semgate_policy_analysis::{Recalled, Recorded};
use serde_json::{Value, json};

use super::audit::{self, Entry};
use super::inputs::{self, Typing};
use crate::fault::Fault;

/// The log, and the candidate.
#[derive(Debug, Args)]
pub struct Replay {
    /// An audit log of a gateway with `[audit_values]`
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// The candidate: a directory of `*.cedar` and `entities.json`
    #[arg(long, value_name = "DIR")]
    policies: PathBuf,
    #[command(flatten)]
    typing: Typing,
    /// Status 1 if a decision would change
    #[arg(long)]
    fail_on_change: bool,
    /// With `--fail-on-change`: undecidable records do not make the status 3
    #[arg(long, requires = "fail_on_change")]
    allow_undecided: bool,
}

/// The exit status of a check without a result: neither changed nor unchanged.
const UNDECIDED: u8 = 3;

/// A record with another verdict, or without a known one.
#[derive(Default)]
struct Line {
    n: i64,
    decision: String,
    sender: String,
    concepts: BTreeSet<String>,
    then: ReplayOutcome,
    now: ReplayOutcome,
    why: String,
}

/// The recorded or new result of a message.
#[derive(Default)]
struct ReplayOutcome {
    verdict: &'static str,
    by: BTreeSet<String>,
    /// The redacted members.
    redacted: BTreeSet<String>,
}

#[derive(Default)]
struct Report {
    same: usize,
    changed: Vec<Line>,
    undecidable: Vec<Line>,
    /// Records without the request to the policies.
    unasked: usize,
}

impl Replay {
    /// Replays the log.
    ///
    /// # Errors
    /// The log or the candidate cannot be read. Changes are a result, and status 1 only with `--fail-on-change`. With that, status 3 if
    /// nothing could be replayed or a decision is undecidable.
    pub fn run(&self, json: bool) -> Result<u8, Fault> {
        let explainer = inputs::explainer(&self.policies, &self.typing.read()?, json)?;
        let mut report = Report::default();
        let own = explainer.policies().digest().to_string();
        let cut = audit::each(&self.log, |entry| {
            match entry.question() {
                None => report.unasked += 1,
                // senders choose the size: a record without content says nothing of the candidate
                Some(asked) if asked.get("too_large").is_some() => report.unasked += 1,
                // a message without a concept, as older records have it
                Some(asked) if asks_nothing(asked) => report.unasked += 1,
                Some(asked) => {
                    let redacted: Vec<&str> = entry.names("redacted").collect();
                    // a decision by the candidate itself stays the same
                    let by_these = entry.text("policy_digest") == Some(own.as_str());
                    let recorded = Recorded { redacted: &redacted, by_these };
                    let parties = entry.parties();
                    let disabled =
                        |id: &&str| explainer.policies().agent(id).is_some_and(|agent| agent.disabled);
                    let disabled = [parties.sender, parties.receiver].into_iter().find(disabled);
                    report.add(entry, explainer.recall(parties, asked, recorded), disabled);
                }
            }
            Ok(())
        })?;
        audit::warn(&self.log, cut);
        report.print(json);
        if !self.fail_on_change || !report.changed.is_empty() {
            return Ok(u8::from(self.fail_on_change));
        }
        if report.same == 0 && report.undecidable.is_empty() {
            return Err(Fault::new("nothing could be replayed: no record of the log holds what was asked")
                .hint("a gateway keeps it with `[audit_values]` (docs/how-to/run-a-gateway.md)")
                .status(UNDECIDED));
        }
        if report.same == 0 || (!report.undecidable.is_empty() && !self.allow_undecided) {
            let count = report.undecidable.len();
            return Err(Fault::new(format_args!("{count} decision(s) cannot be decided"))
                .hint("each line says why: keep what it depends on (`[audit_values]`), name a missing document with `--context`, or accept them with `--allow-undecided`")
                .status(UNDECIDED));
        }
        Ok(0)
    }
}

impl Report {
    /// Adds a record; `disabled` is the party that the candidate has disabled, if any.
    fn add(&mut self, entry: &Entry<'_>, recalled: Result<Vec<Recalled>, String>, disabled: Option<&str>) {
        let mut line = Line {
            n: entry.number(),
            decision: entry.text("decision_id").unwrap_or_default().to_owned(),
            sender: entry.text("sender").unwrap_or_default().to_owned(),
            ..Line::default()
        };
        let all = match recalled {
            Ok(all) => all,
            Err(why) => {
                line.why = why;
                self.undecidable.push(line);
                return;
            }
        };
        line.concepts = all.iter().map(|one| one.concept.clone()).collect();
        let then = together(all.iter().map(|one| Some(one.then.as_str()))).unwrap_or_default();
        line.then = ReplayOutcome::of(
            then,
            all.iter().map(|one| (one.then.as_str(), &one.then_by, &one.then_redacted)),
        );
        match together(all.iter().map(|one| one.now)) {
            Some(now) => {
                let now_is = |one: &Recalled| one.now.unwrap_or_default();
                line.now = ReplayOutcome::of(
                    now,
                    all.iter().map(|one| (now_is(one), &one.now_by, &one.now_redacted)),
                );
                if let Some(id) = disabled.filter(|_| now == "denied" && line.now.by.is_empty()) {
                    line.why = format!("`{id}` is disabled");
                }
                if line.then.differs(&line.now) {
                    self.changed.push(line);
                } else {
                    self.same += 1;
                }
            }
            None => {
                let missing: BTreeSet<&str> =
                    all.iter().flat_map(|one| &one.missing).map(String::as_str).collect();
                let missing: Vec<&str> = missing.into_iter().collect();
                line.why = format!("it depends on values that were not kept: {}", missing.join(", "));
                self.undecidable.push(line);
            }
        }
    }

    fn print(&self, json: bool) {
        if json {
            let changed: Vec<Value> = self.changed.iter().map(Line::json).collect();
            let undecidable: Vec<Value> = self.undecidable.iter().map(Line::json).collect();
            out!(
                "{}",
                json!({"same": self.same, "changed": changed, "undecidable": undecidable, "unasked": self.unasked})
            );
            return;
        }
        for line in &self.changed {
            let concepts: Vec<&str> = line.concepts.iter().map(String::as_str).collect();
            out!(
                "{} {} {}: {} -> {}",
                line.decision,
                line.sender,
                concepts.join(", "),
                line.then.worded(),
                if line.why.is_empty() { line.now.worded() } else { format!("denied: {}", line.why) }
            );
        }
        for line in &self.undecidable {
            out!("{} {}: cannot be decided: {}", line.decision, line.sender, line.why);
        }
        out!(
            "{} would change, {} would not, {} cannot be decided; {} record(s) do not hold what was asked",
            self.changed.len(),
            self.same,
            self.undecidable.len(),
            self.unasked
        );
    }
}

impl Line {
    fn json(&self) -> Value {
        json!({
            "n": self.n,
            "decision_id": self.decision,
            "sender": self.sender,
            "concepts": self.concepts,
            "then": self.then.verdict,
            "then_by": self.then.by,
            "then_redacted": self.then.redacted,
            "now": self.now.verdict,
            "now_by": self.now.by,
            "now_redacted": self.now.redacted,
            "why": self.why,
        })
    }
}

/// Returns true for a record of a message without a request to the policies.
fn asks_nothing(question: &Object<'_>) -> bool {
    question.get("questions").and_then(Json::as_array).is_some_and(|all| all.is_empty())
}

/// The verdict of a message, from those of its requests; none if it depends on an unknown one.
///
/// A number that cannot be compared stops a message before any denial, and a denial before an approval.
fn together<'v>(verdicts: impl Iterator<Item = Option<&'v str>> + Clone) -> Option<&'static str> {
    let any = |verdict: &str| verdicts.clone().any(|one| one == Some(verdict));
    for stops in ["untypable", "denied", "error"] {
        if any(stops) {
            return Some(stops);
        }
    }
    if verdicts.clone().any(|one| one.is_none()) {
        return None;
    }
    Some(if any("approval") { "approval" } else { "permitted" })
}

type Answer<'v> = (&'v str, &'v BTreeSet<String>, &'v BTreeSet<String>);

impl ReplayOutcome {
    /// The verdict of a message, with the policies behind the deciding requests.
    fn of<'v>(verdict: &'static str, all: impl Iterator<Item = Answer<'v>> + Clone) -> Self {
        let by = all.clone().filter(|(own, ..)| *own == verdict).flat_map(|(_, ids, _)| ids.iter().cloned());
        let redacted = all.flat_map(|(.., members)| members.iter().cloned());
        let passes = verdict == "permitted";
        Self { verdict, by: by.collect(), redacted: redacted.filter(|_| passes).collect() }
    }

    /// Returns true if the difference is visible: it passes or not, or other members are redacted.
    fn differs(&self, other: &Self) -> bool {
        (self.verdict, &self.redacted) != (other.verdict, &other.redacted)
    }

    fn worded(&self) -> String {
        if self.verdict == "untypable" {
            return "refused before any policy".to_owned();
        }
        let listed = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
        let by = if self.by.is_empty() { "no policy".to_owned() } else { listed(&self.by) };
        let gone = if self.redacted.is_empty() {
            String::new()
        } else {
            format!(", without {}", listed(&self.redacted))
        };
        format!("{} by {by}{gone}", self.verdict)
    }
}
