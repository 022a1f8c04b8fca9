//! `semgate policy test DIR`: plays every case, and lists policies that no case decides.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use semgate_policies::Approval;
use serde_json::json;

use super::case::{APPROVAL, Case, CaseFile, Subject};
use super::inputs::{self, Typing};
use super::stage::{CaseOutcome, PolicyStage};
use crate::fault::{Fault, Finding};
use crate::findings::{Check, FindingFiles};

/// The cases, and the policies that judge them.
#[derive(Debug, Args)]
pub struct Test {
    /// A directory of cases, `*.json`
    #[arg(value_name = "DIR")]
    cases: PathBuf,
    /// The policy directory; default: the parent of the cases
    #[arg(long, value_name = "DIR")]
    policies: Option<PathBuf>,
    #[command(flatten)]
    typing: Typing,
    /// Status 1 also if no case decides by some policy
    #[arg(long)]
    require_coverage: bool,
    #[command(flatten)]
    files: FindingFiles,
}

/// A case with an unexpected result.
struct Failure {
    location: String,
    expected: String,
    got: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: expected {}, got {}", self.location, self.expected, self.got)
    }
}

impl Test {
    /// Plays all cases.
    ///
    /// # Errors
    /// Policies or cases cannot be read. A failed case is status 1 and a line of the result.
    pub fn run(&self, json: bool) -> Result<u8, Fault> {
        let mut checks = Vec::new();
        let outcome = self.play_all(&mut checks, json);
        self.files.write("policy test", &self.cases, checks, outcome)
    }

    fn play_all(&self, checks: &mut Vec<Check>, json: bool) -> Result<u8, Fault> {
        if !self.cases.is_dir() {
            return Err(Fault::new(format_args!("`{}` is not a directory", self.cases.display())).hint(
                "name a directory of `*.json`, each a list of cases as docs/how-to/test-policies.md says",
            ));
        }
        let above = self.cases.join("..");
        let dir = self.policies.as_deref().unwrap_or(&above);
        let typed = self.typing.read()?;
        let source = inputs::source(dir)?;
        typed.announce();
        let policies = inputs::load(&source, &typed.contexts, &typed.floors, json)?;
        let stage = PolicyStage::new(policies, typed);
        let files = CaseFile::read_dir(&self.cases)?;
        let (mut decided, mut failures, mut count) = (BTreeSet::new(), Vec::new(), 0_usize);
        for file in &files {
            for (position, (case, subject)) in file.cases.iter().enumerate() {
                count += 1;
                let location = format!("{}: case {} `{}`", file.name, position + 1, case.shows);
                let failure = play(&stage, case, subject, location.clone(), &mut decided);
                let finding = failure
                    .iter()
                    .map(|failure| Finding { file: file.name.clone(), ..Finding::new(failure.to_string()) });
                checks.push(Check { name: location, findings: finding.collect() });
                failures.extend(failure);
            }
        }
        let undecided: Vec<&str> = stage.policies().ids().filter(|id| !decided.contains(*id)).collect();
        let report = Report { count, failures, undecided, policies: stage.policies().ids().count() };
        report.print(dir, json);
        let uncovered = self.require_coverage && !report.undecided.is_empty();
        if self.require_coverage {
            let missing = report.undecided.iter().map(|id| Finding::new(format!("no case decides by: {id}")));
            checks.push(Check { name: "coverage".to_owned(), findings: missing.collect() });
        }
        Ok(u8::from(!report.failures.is_empty() || uncovered))
    }
}

fn play(
    stage: &PolicyStage,
    case: &Case,
    subject: &Subject,
    location: String,
    decided: &mut BTreeSet<String>,
) -> Option<Failure> {
    let outcome = match stage.play(case, subject) {
        Ok(outcome) => outcome,
        Err(fault) => {
            let got = format!(
                "cannot be played: {}",
                fault.to_string().trim_start_matches("error: ").replace('\n', "; ")
            );
            return Some(Failure { location, expected: case.expect.clone(), got });
        }
    };
    decided.extend(outcome.policies.iter().cloned());
    let wanted = case.policies.as_ref().map(|ids| ids.iter().cloned().collect::<BTreeSet<String>>());
    let same_verdict = outcome.is(&case.expect);
    let same_policies = wanted.as_ref().is_none_or(|wanted| *wanted == outcome.policies);
    if same_verdict && same_policies && outcome.asks(case) {
        return None;
    }
    let mut expected = by(&case.expect, wanted.as_ref());
    expected.extend(case.approvers.iter().map(|who| format!(", asking {who}")));
    expected.extend(case.quorum.iter().map(|count| format!(", quorum {count}")));
    let mut got = by(outcome.verdict, Some(&outcome.policies));
    got.extend(outcome.demands.iter().map(|demand| {
        let who = demand.approvers.as_ref().map_or_else(|| "nobody by name".to_owned(), ToString::to_string);
        format!(", asking {who}, quorum {}", demand.quorum)
    }));
    if !outcome.why.is_empty() {
        got = format!("{got} ({})", outcome.why);
    }
    Some(Failure { location, expected, got })
}

impl CaseOutcome {
    /// Returns true if one demand asks as the case expects.
    fn asks(&self, case: &Case) -> bool {
        let named = |demand: &Approval| demand.approvers.as_ref().map(ToString::to_string);
        let fits = |demand: &Approval| {
            (case.approvers.is_none() || named(demand) == case.approvers)
                && case.quorum.is_none_or(|quorum| demand.quorum == quorum)
        };
        (case.approvers.is_none() && case.quorum.is_none()) || self.demands.iter().any(fits)
    }

    fn is(&self, expected: &str) -> bool {
        match expected {
            "denied" => self.verdict == semgate_inspect::Code::PolicyDenied.as_str(),
            APPROVAL => self.verdict == semgate_inspect::Code::ApprovalRequired.as_str(),
            other => self.verdict == other,
        }
    }
}

fn by(verdict: &str, policies: Option<&BTreeSet<String>>) -> String {
    match policies {
        None => verdict.to_owned(),
        Some(none) if none.is_empty() => format!("{verdict} by no policy"),
        Some(ids) => format!("{verdict} by {}", ids.iter().cloned().collect::<Vec<_>>().join(", ")),
    }
}

/// The result of all cases.
struct Report<'r> {
    count: usize,
    failures: Vec<Failure>,
    /// Policies that decide no case.
    undecided: Vec<&'r str>,
    /// Number of policies.
    policies: usize,
}

impl Report<'_> {
    fn print(&self, policies: &Path, json: bool) {
        let Self { count, failures, undecided, policies: of } = self;
        if json {
            let failed =
                |one: &Failure| json!({"case": one.location, "expected": one.expected, "got": one.got});
            let failures: Vec<_> = failures.iter().map(failed).collect();
            out!(
                "{}",
                json!({"policies": policies, "cases": count, "failures": failures, "undecided": undecided})
            );
            return;
        }
        for failure in failures {
            out!("{failure}");
        }
        for id in undecided {
            out!("no case decides by: {id}");
        }
        let covered = of - undecided.len();
        out!("{count} case(s), {} failed; {covered} of {of} policies decide a case", failures.len());
    }
}
