//! The analysis of a policy set by a solver: finding one, running it, and printing what it found.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use semgate_contexts::Context;
use semgate_policies::{ContextTypes, Floors, PolicyLimits, PolicySource, parse_set};
use semgate_policy_analysis::{Analyser, Level, Report, Setting, Solver, SolverLimits};
use semgate_protocol::{a2a, mcp};
use serde_json::{Value, json};

use super::inputs;
use crate::fault::{Doing, Fault};
use crate::system;
use crate::terminal::Progress;

/// The variable that names a solver.
const VARIABLE: &str = "SEMGATE_SOLVER";
/// The name of a solver that stands for no analysis.
const NONE: &str = "none";
/// Programs that are looked for on the `PATH`, in this order.
const PROGRAMS: [&str; 2] = ["z3", "cvc5"];
/// How to get one.
const HINT: &str = "`pip install z3-solver` or Debian's package `z3` has one; then put it on the `PATH`, or name it with `--solver`";

/// How a set is analysed.
#[derive(Debug, Args)]
pub struct Analysis {
    /// Fail unless the set is analysed; needs a solver, z3 or cvc5
    #[arg(long)]
    analyse: bool,
    /// The solver; else `SEMGATE_SOLVER`, else `z3` or `cvc5` on the `PATH`. `none` leaves the analysis out
    #[arg(long, value_name = "PATH")]
    solver: Option<PathBuf>,
    /// Seconds for the whole analysis; a policy that is undecided by then is not a fault
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    analysis_seconds: u64,
}

/// The outcome for a set.
pub enum Outcome {
    /// A solver answered.
    Analysed(Report),
    /// None did, for this reason.
    NotAnalysed(String),
    /// None was wanted.
    LeftOut,
}

impl Analysis {
    /// True if the command line demands an analysis.
    pub const fn demanded(&self) -> bool {
        self.analyse
    }

    /// Analyses a set that was loaded beside these contexts.
    ///
    /// # Errors
    /// A solver that was named and is none; `--analyse` without an analysis; a fault in the set, each printed.
    pub fn run(
        &self,
        source: &PolicySource,
        contexts: &[Arc<Context>],
        floors: &Floors,
        json: bool,
    ) -> Result<Outcome, Fault> {
        if self.named().is_some_and(|program| program == Path::new(NONE)) {
            let fault = || Fault::new("`--analyse` needs a solver, and `none` is named").hint(HINT).status(2);
            return if self.analyse { Err(fault()) } else { Ok(Outcome::LeftOut) };
        }
        let mut solver = match self.open()? {
            Ok(solver) => solver,
            Err(why) if self.analyse => {
                return Err(Fault::new(format_args!("not analysed: {why}")).hint(HINT));
            }
            Err(why) => return Ok(Outcome::NotAnalysed(why)),
        };
        let (policies, agents) = parse_set(source, &PolicyLimits::default())
            .map_err(|faults| inputs::rejected(&faults, source, json))?;
        let types = ContextTypes::of(contexts, &policies);
        let bindings = bindings();
        let setting = Setting {
            contexts,
            types: &types,
            floors,
            agents: &agents,
            bindings: &bindings,
            now: system::now(),
        };
        let progress = Progress::of("analysing the policies");
        let report = Analyser::of(&setting, &mut solver).doing("analysis")?.analyse(&policies);
        drop(progress);
        if report.solver_failed && self.analyse {
            return Err(Fault::new(format_args!("not analysed: {} gave an invalid answer", report.solver))
                .hint("try another solver with `--solver`"));
        }
        if report.worst() == Some(Level::Fault) {
            return Err(faulty(&report, json));
        }
        Ok(Outcome::Analysed(report))
    }

    /// The solver that the command line or the environment names.
    fn named(&self) -> Option<PathBuf> {
        let named = self.solver.clone().or_else(|| std::env::var_os(VARIABLE).map(PathBuf::from));
        named.filter(|program| !program.as_os_str().is_empty())
    }

    /// The solver that was named, else the first of the `PATH` that works, else why there is none.
    fn open(&self) -> Result<Result<Solver, String>, Fault> {
        if let Some(program) = self.named() {
            let word = if self.solver.is_some() { "--solver" } else { VARIABLE };
            let solver = self.start(&program);
            return solver.map(Ok).hinted(format_args!("`{word}`: `{}`", program.display()), HINT);
        }
        let mut why = "no solver (z3 or cvc5) is on the `PATH`".to_owned();
        for program in PROGRAMS.iter().filter_map(|name| on_path(name)) {
            match self.start(&program) {
                Ok(solver) => return Ok(Ok(solver)),
                Err(fault) => why = format!("`{}`: {fault}", program.display()),
            }
        }
        Ok(Err(why))
    }

    fn start(&self, program: &Path) -> Result<Solver, semgate_policy_analysis::SolverFault> {
        let total = Duration::from_secs(self.analysis_seconds);
        let limits = SolverLimits { total, ..SolverLimits::default() };
        let began = Instant::now();
        Solver::open(program, limits, Box::new(move || began.elapsed()))
    }
}

impl Outcome {
    /// Name and version of the solver, where every question was put to it.
    pub fn solver(&self) -> Option<String> {
        match self {
            Self::Analysed(report) if report.is_complete() => Some(report.solver.clone()),
            _ => None,
        }
    }

    /// For `--json`.
    pub fn to_json(&self) -> Value {
        match self {
            Self::NotAnalysed(why) => json!({"solver": null, "why": why}),
            Self::LeftOut => Value::Null,
            Self::Analysed(report) => {
                let findings: Vec<Value> = report.findings.iter().map(|one| one.to_json()).collect();
                json!({
                    "solver": report.solver, "queries": report.queries, "findings": findings,
                    "undecided": report.undecided, "complete": report.is_complete(),
                })
            }
        }
    }

    /// Lines for people: findings, and what was done.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::LeftOut => Vec::new(),
            Self::NotAnalysed(why) => vec![format!("not analysed: {why} ({HINT})")],
            Self::Analysed(report) => {
                let mut lines: Vec<String> =
                    report.findings.iter().map(|one| format!("{}: {one}", one.level.as_str())).collect();
                lines.extend(report.undecided.iter().map(|policy| format!("not decided: `{policy}`")));
                let ended = match (report.cut_off, report.solver_failed) {
                    (_, true) => ", which gave an invalid answer",
                    (true, _) => ", until `--analysis-seconds` ran out",
                    _ => "",
                };
                lines.push(format!("analysed by {}: {} queries{ended}", report.solver, report.queries));
                lines
            }
        }
    }
}

/// Prints every finding; what to end with.
fn faulty(report: &Report, json: bool) -> Fault {
    for finding in &report.findings {
        if json {
            out!("{}", json!({(finding.level.as_str()): finding.to_string(), "finding": finding.to_json()}));
        } else if finding.level == Level::Fault {
            out!("{finding}");
        } else {
            out!("{}: {finding}", finding.level.as_str());
        }
    }
    let count = report.findings.iter().filter(|finding| finding.level == Level::Fault).count();
    Fault::new(format_args!(
        "{count} fault(s): a gateway would load this set, but these policies have no effect in it"
    ))
    .with_findings(report.findings.iter().filter(|one| one.level == Level::Fault).map(|one| {
        crate::fault::Finding { message: one.to_string(), file: one.file.clone(), line: one.line, column: 0 }
    }))
    .hint(format_args!("{} proved it; remove the policy, or correct it", report.solver))
}

/// A program of the `PATH`.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|program| program.is_file())
}

/// Each binding with the versions of its protocol, as `context.binding_version` has them.
fn bindings() -> [(&'static str, Vec<&'static str>); 3] {
    let a2a = [a2a::Version::V03, a2a::Version::V10].map(a2a::Version::as_str);
    let mcp = mcp::Revision::ALL.map(mcp::Revision::as_str);
    [("a2a", a2a.to_vec()), ("l8", vec![""]), ("mcp", mcp.to_vec())]
}
