//! `semgate policy replay LOG`: recorded decisions, asked of other policies, and what would change.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use semgate_policies::Recalled;
use serde_json::{Value, json};

use super::audit::{self, Entry};
use super::inputs::{self, Contexts};
use crate::fault::Fault;

/// Which log, and the candidate.
#[derive(Debug, Args)]
pub struct Replay {
    /// An audit log of a gateway with `[audit_values]`
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// The candidate: a directory of `*.cedar` and `entities.json`
    #[arg(long, value_name = "DIR")]
    policies: PathBuf,
    #[command(flatten)]
    contexts: Contexts,
    /// Status 1 if a decision would change
    #[arg(long)]
    fail_on_change: bool,
    /// With `--fail-on-change`: decisions that cannot be decided do not make the status 3
    #[arg(long, requires = "fail_on_change")]
    allow_undecided: bool,
}

/// The status of a gate that has nothing to go by: neither a change nor none.
const UNDECIDED: u8 = 3;

/// A record that would come out otherwise, or of which that cannot be said.
struct Line {
    n: i64,
    decision: String,
    sender: String,
    concepts: BTreeSet<String>,
    then: &'static str,
    then_by: BTreeSet<String>,
    now: &'static str,
    now_by: BTreeSet<String>,
    why: String,
}

#[derive(Default)]
struct Report {
    same: usize,
    changed: Vec<Line>,
    undecidable: Vec<Line>,
    /// Records that do not hold what was asked.
    unasked: usize,
}

impl Replay {
    /// Replays the log.
    ///
    /// # Errors
    /// The log or the candidate cannot be read. What would change is a result, and status 1 only with
    /// `--fail-on-change`; with that, status 3 where nothing could be replayed or a decision cannot be decided.
    pub fn run(&self, json: bool) -> Result<u8, Fault> {
        let contexts = self.contexts.read()?;
        let explainer = inputs::explainer(&self.policies, &contexts, json)?;
        let mut report = Report::default();
        audit::each(&self.log, |entry| {
            match entry.asked() {
                None => report.unasked += 1,
                Some(asked) => report.add(entry, explainer.recall(entry.parties(), asked)),
            }
            Ok(())
        })?;
        report.print(json);
        if !self.fail_on_change || !report.changed.is_empty() {
            return Ok(u8::from(self.fail_on_change));
        }
        if report.same == 0 && report.undecidable.is_empty() {
            return Err(Fault::new("nothing could be replayed: no record of the log holds what was asked")
                .hint("a gateway keeps it with `[audit_values]` (docs/gateway-operations.md)")
                .status(UNDECIDED));
        }
        if report.same == 0 || (!report.undecidable.is_empty() && !self.allow_undecided) {
            let count = report.undecidable.len();
            return Err(Fault::new(format_args!("{count} decision(s) cannot be decided"))
                .hint("keep what they depend on (`[audit_values]`), or let them be with `--allow-undecided`")
                .status(UNDECIDED));
        }
        Ok(0)
    }
}

impl Report {
    fn add(&mut self, entry: &Entry<'_>, recalled: Result<Vec<Recalled>, String>) {
        let mut line = Line {
            n: entry.number(),
            decision: entry.text("decision_id").unwrap_or_default().to_owned(),
            sender: entry.text("sender").unwrap_or_default().to_owned(),
            concepts: BTreeSet::new(),
            then: "",
            then_by: BTreeSet::new(),
            now: "",
            now_by: BTreeSet::new(),
            why: String::new(),
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
        line.then = together(all.iter().map(|one| Some(one.then.as_str()))).unwrap_or_default();
        line.then_by = by(line.then, all.iter().map(|one| (one.then.as_str(), &one.then_by)));
        match together(all.iter().map(|one| one.now)) {
            Some(now) if now == line.then => self.same += 1,
            Some(now) => {
                line.now = now;
                line.now_by = by(now, all.iter().map(|one| (one.now.unwrap_or_default(), &one.now_by)));
                self.changed.push(line);
            }
            None => {
                let missing: BTreeSet<&str> =
                    all.iter().flat_map(|one| &one.missing).map(String::as_str).collect();
                let missing: Vec<&str> = missing.into_iter().collect();
                line.why = format!("it depends on what was not kept: {}", missing.join(", "));
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
                worded(line.then, &line.then_by),
                worded(line.now, &line.now_by)
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
            "then": self.then,
            "then_by": self.then_by,
            "now": self.now,
            "now_by": self.now_by,
            "why": self.why,
        })
    }
}

/// The verdict of a message of the verdicts of its questions; none if it depends on one that is not known.
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

/// The policies of those questions that make the verdict.
fn by<'v>(verdict: &str, all: impl Iterator<Item = (&'v str, &'v BTreeSet<String>)>) -> BTreeSet<String> {
    all.filter(|(own, _)| *own == verdict).flat_map(|(_, ids)| ids.iter().cloned()).collect()
}

fn worded(verdict: &str, by: &BTreeSet<String>) -> String {
    let by: Vec<&str> = by.iter().map(String::as_str).collect();
    if by.is_empty() { format!("{verdict} by no policy") } else { format!("{verdict} by {}", by.join(", ")) }
}
