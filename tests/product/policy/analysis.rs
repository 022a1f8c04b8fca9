//! The analysis of policy sets: a list of cases that z3 and cvc5 must decide alike, and the command line with and without a solver.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

use semgate_contexts::{Context, DocumentLimits, Line, Prefix, library};
use semgate_policies::{ContextTypes, Floors, ParsedPolicy, PolicyLimits, PolicySource, parse_set};
use semgate_policy_analysis::{Analyser, Level, Setting, Solver, SolverLimits};
use serde_json::Value;

use super::support::{SEMGATE, python};
use super::word;

/// 2026-06-01T12:00:00Z.
const NOW: u64 = 1_780_315_200;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/analysis/tests/cases")
}

fn contexts() -> Vec<Arc<Context>> {
    let grid = std::fs::read(folder().join("grid-v1.0.json")).unwrap();
    let all = library::all().iter().map(|(_, bytes)| *bytes).chain([&*grid]);
    let read = |bytes: &[u8]| Context::check(bytes, &Prefix::default(), &DocumentLimits::default()).unwrap();
    all.map(|bytes| Arc::new(read(bytes))).collect()
}

/// The policies of one case.
fn policies(case: &Value) -> Vec<ParsedPolicy> {
    let text = case["text"].as_str().unwrap().to_owned();
    let shipped = PolicySource::shipped();
    let files = if case["group"] == "rules" { shipped.files } else { vec![("p.cedar".to_owned(), text)] };
    let source = PolicySource { files, entities: shipped.entities, limits: None };
    parse_set(&source, &PolicyLimits::default()).unwrap().0
}

/// What a solver makes of one case: levels and findings, advice left out, and whether all was decided.
fn outcome(case: &Value, analyser: &mut Analyser<'_>) -> (BTreeSet<String>, bool) {
    let report = analyser.verdicts(&policies(case));
    assert!(report.is_complete(), "{}: {report:?}", case["id"]);
    if std::env::var_os("SEMGATE_SHOW").is_some() {
        report.findings.iter().for_each(|one| println!("{} {}: {one}", case["id"], one.level.as_str()));
    }
    let grave = report.findings.iter().filter(|one| one.level > Level::Advice);
    let outcome_of = grave.map(|one| format!("{} {}", one.level.as_str(), one.kind.as_str())).collect();
    (outcome_of, report.undecided.is_empty())
}

/// The outcomes of all cases, in their order. Those with floors come after the others, since what is known is compiled once for all.
fn outcomes(program: &Path) -> Vec<(BTreeSet<String>, bool)> {
    let began = Instant::now();
    let limits = SolverLimits { query: Duration::from_secs(10), total: Duration::MAX };
    let mut solver = Solver::open(program, limits, Box::new(move || began.elapsed())).unwrap();
    let (contexts, cases) = (contexts(), cases());
    let types = ContextTypes::of(&contexts, &[]);
    let agents = parse_set(&PolicySource::shipped(), &PolicyLimits::default()).unwrap().1;
    let bindings = [
        ("a2a", vec!["0.3", "1.0"]),
        ("l8", vec![""]),
        ("mcp", vec!["2025-06-18", "2025-11-25", "2026-07-28"]),
    ];
    let mut all = vec![None; cases.len()];
    for above in [false, true] {
        let floors: Floors =
            above.then(|| (Line::parse("payment").unwrap(), "v2.0".parse().unwrap())).into_iter().collect();
        let setting = Setting {
            contexts: &contexts,
            types: &types,
            floors: &floors,
            agents: &agents,
            bindings: &bindings,
            now: NOW,
        };
        let mut analyser = Analyser::of(&setting, &mut solver).unwrap();
        for (case, outcome_of) in cases.iter().zip(&mut all) {
            if case["floors"]["payment"].is_string() == above {
                *outcome_of = Some(outcome(case, &mut analyser));
            }
        }
    }
    eprintln!("{}: {} queries in {:?}", solver.name(), solver.asked(), began.elapsed());
    all.into_iter().map(Option::unwrap).collect()
}

fn cases() -> Vec<Value> {
    let text = std::fs::read(folder().join("cases.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn z3_and_cvc5_decide_every_case_as_expected() {
    let cvc5 = std::thread::spawn(|| outcomes(Path::new("cvc5")));
    let z3 = outcomes(python::z3());
    let cvc5 = cvc5.join().unwrap();
    let mut wrong = Vec::new();
    for ((case, (by_z3, decided)), (by_cvc5, also)) in cases().iter().zip(&z3).zip(&cvc5) {
        let list = |name: &str| case[name].as_array().into_iter().flatten();
        let expected: BTreeSet<String> = list("expect").map(|one| one.as_str().unwrap().to_owned()).collect();
        if *by_z3 != expected || !decided {
            wrong.push(format!("{}: z3 says {by_z3:?}, {decided}", case["id"]));
        }
        // one that took too long may find less, and never something else
        let agrees = if *also { by_cvc5 == by_z3 } else { by_cvc5.is_subset(by_z3) };
        if !agrees {
            wrong.push(format!("{}: z3 says {by_z3:?} and cvc5 {by_cvc5:?}", case["id"]));
        }
    }
    let open = cvc5.iter().filter(|(_, decided)| !decided).count();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(open * 20 < cvc5.len(), "cvc5 left {open} cases open");
}

/// A set in which one permit can never apply by what it adds up, and one is good.
fn idle_set() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let rules = super::rules();
    std::fs::copy(rules.join("entities.json"), dir.path().join("entities.json")).unwrap();
    let text = "@id(\"good\")\npermit (principal, action, resource is payment::transfer)\nwhen { context.locked };\n\n\
                @id(\"idle\")\npermit (principal, action, resource is payment::transfer)\n\
                when { context.scores.concepts + context.scores.ambiguous < 1 };\n";
    std::fs::write(dir.path().join("p.cedar"), text).unwrap();
    dir
}

/// Runs `semgate policy` with a `PATH` of one directory.
fn policy_with(path: &Path, words: &[&str]) -> (i32, String, String) {
    let output: Output = Command::new(SEMGATE)
        .arg("policy")
        .args(words)
        .env("PATH", path)
        .env_remove("SEMGATE_SOLVER")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// A directory with a program of this name that runs a script of the shell.
fn program(name: &str, script: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(name);
    std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

#[test]
fn with_a_solver_a_policy_that_never_applies_is_named_with_its_place_and_the_reason() {
    let (set, z3) = (idle_set(), python::z3());
    let (status, shown, errors) = policy_with(z3.parent().unwrap(), &["check", word(set.path())]);
    assert_eq!(status, 1, "{shown}{errors}");
    let reason = "p.cedar:5: policy `p.cedar#idle` never applies (`(context.scores.concepts + context.scores.ambiguous) < 1`, \
                  given `context.scores.concepts >= 1` and `context.scores.ambiguous >= 0`";
    assert!(shown.lines().any(|line| line.starts_with(reason)), "{shown}");
    assert!(!shown.contains("p.cedar#good` never"), "{shown}");
    assert!(errors.contains("1 fault(s)") && errors.contains("z3 5.4.1 proved it"), "{errors}");
    let nowhere = tempfile::tempdir().unwrap();
    let words = ["check", word(set.path()), "--solver", word(z3)];
    assert_eq!(policy_with(nowhere.path(), &words).0, 1, "a solver that is named need not be on the `PATH`");
}

#[test]
fn a_good_set_is_analysed_and_both_outputs_say_by_which_solver() {
    let (rules, z3) = (super::rules(), python::z3());
    let words = ["check", word(&rules), "--analyse", "--solver", word(z3), "--analysis-seconds", "600"];
    let (status, shown, errors) = policy_with(z3.parent().unwrap(), &words);
    assert_eq!(status, 0, "{shown}{errors}");
    assert!(
        shown.contains("\nanalysed by z3 5.4.1: ") || shown.starts_with("analysed by z3 5.4.1: "),
        "{shown}"
    );
    let output = Command::new(SEMGATE).args(["--json", "policy"]).args(words).output().unwrap();
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&summary["analysis"]["solver"], &summary["analysis"]["complete"]),
        (&"z3 5.4.1".into(), &true.into())
    );
}

#[test]
fn without_a_solver_the_set_is_not_analysed_and_a_demand_fails() {
    let (set, nowhere) = (idle_set(), tempfile::tempdir().unwrap());
    let (status, shown, errors) = policy_with(nowhere.path(), &["check", word(set.path())]);
    assert_eq!(status, 0, "{shown}{errors}");
    assert!(
        shown.contains("not analysed: no solver (z3 or cvc5) is on the `PATH` (`pip install z3-solver`"),
        "{shown}"
    );
    let (status, _, errors) = policy_with(nowhere.path(), &["check", word(set.path()), "--analyse"]);
    assert_eq!(status, 1);
    assert!(
        errors.contains("not analysed: no solver") && errors.contains("pip install z3-solver"),
        "{errors}"
    );
    let words = ["check", word(set.path()), "--solver", "/nowhere/z3"];
    let (status, _, errors) = policy_with(nowhere.path(), &words);
    assert_eq!(status, 1);
    assert!(errors.contains("`--solver`: `/nowhere/z3`: it does not start"), "{errors}");
}

#[test]
fn a_program_that_is_no_solver_never_finds_anything() {
    const VERSION: &str = "if [ \"$1\" = --version ]; then echo 'Z3 version 9.9.9 - 64 bit'; exit; fi";
    let set = idle_set();
    for (what, script) in [
        ("silent", "while :; do :; done".to_owned()),
        ("another program", "echo 'GNU bash, version 5'".to_owned()),
        ("nonsense", format!("{VERSION}\nwhile read line; do echo fish; done")),
        ("always unsat", format!("{VERSION}\nwhile read line; do echo unsat; done")),
        ("one answer without an end", format!("{VERSION}\nwhile :; do echo unsat; done")),
        (
            "unsat to all, marks kept",
            format!(
                "{VERSION}\nwhile read -r line; do case $line in *check-sat*) echo unsat;; '(echo '*) line=${{line#*\\\"}}; echo \"${{line%%\\\"*}}\";; esac; done"
            ),
        ),
    ] {
        let bad = program("z3", &script);
        let (status, shown, errors) = policy_with(bad.path(), &["check", word(set.path())]);
        assert_eq!(status, 0, "{what}: {shown}{errors}");
        assert!(shown.contains("not analysed: `") && !shown.contains("never applies"), "{what}: {shown}");
        let (status, _, errors) = policy_with(bad.path(), &["check", word(set.path()), "--analyse"]);
        assert_eq!(status, 1, "{what}: {errors}");
    }
}

#[test]
fn a_solver_that_hangs_or_fails_in_the_middle_leaves_questions_undecided_in_time() {
    let (set, z3) = (idle_set(), python::z3());
    // answers the probe as z3, and then stops or talks
    for (after, message) in
        [("exec sleep 1000", "until `--analysis-seconds` ran out"), ("echo fish", "an invalid answer")]
    {
        let script = format!(
            "if [ \"$1\" = --version ]; then exec {z3} \"$1\"; fi\n\
             if [ -e \"$0.used2\" ]; then {after}; exit; fi\n\
             if [ -e \"$0.used\" ]; then : >\"$0.used2\"; else : >\"$0.used\"; fi\nexec {z3} \"$@\"",
            z3 = z3.display()
        );
        let bad = program("z3", &format!("PATH=/usr/bin:/bin\n{script}"));
        let began = Instant::now();
        let words = ["check", word(set.path()), "--analysis-seconds", "8"];
        let (status, shown, errors) = policy_with(bad.path(), &words);
        assert_eq!(status, 0, "{shown}{errors}");
        assert!(shown.contains(message) && !shown.contains("never applies"), "{shown}");
        assert!(shown.contains("not decided: `p.cedar#idle`"), "{shown}");
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    }
}
