//! The JSON-Schema-Test-Suite 2020-12, every file with its optional ones, through our reader, our compile options and
//! our validator. `schema_suite_deviations.txt` lists each deviation with its reason: an unlisted deviation fails, and so
//! does a listed one that is none. `docs/spec/json-schema-deviations.md` counts them.
//!
//! The suite is fetched once into `target/schema-suite`; where it cannot be had the test fails and says so.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use semgate_contexts::json::{self, Limits};
use semgate_contexts::schema::{Plain, compile_plain};
use serde_json::Value;

const VERSION: &str = "4.26.0";
const SHA256: &str = "0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326";

/// File, case, test (`*`: the whole case, since its schema does not compile).
type Key = (String, String, String);

#[test]
fn the_published_suite_passes_but_for_the_listed_deviations() {
    let folder = suite();
    let mut found = BTreeMap::new();
    let mut tests = 0;
    for file in files(&folder) {
        tests += run(&folder, &file, &mut found);
    }
    assert!(tests > 1_900, "only {tests} tests were found");
    let listed = listed();
    let unlisted: Vec<_> = found.iter().filter(|(key, ours)| listed.get(*key) != Some(*ours)).collect();
    let stale: Vec<_> = listed.iter().filter(|(key, _)| !found.contains_key(*key)).collect();
    for ((file, case, test), ours) in &unlisted {
        println!("| {} | {} | {} | {ours} | why |", cell(file), cell(case), cell(test));
    }
    assert!(unlisted.is_empty(), "{} deviations are not listed; see above", unlisted.len());
    assert!(stale.is_empty(), "listed and none: {stale:#?}");
    println!("{tests} tests, {} rows of deviations", found.len());
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folder of the suite. The first test that asks fetches it.
pub fn suite() -> PathBuf {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(fetched);
    FOLDER.clone()
}

fn fetched() -> PathBuf {
    let folder = root().join("target/schema-suite").join(VERSION);
    if folder.is_dir() {
        return folder;
    }
    std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fetch_schema_suite.py");
    let output = Command::new("python3").arg(script).arg(&folder).args([VERSION, SHA256]).output();
    let output = output.unwrap_or_else(|fault| panic!("python3, which fetches the suite: {fault}"));
    assert!(
        output.status.success(),
        "the suite could not be fetched: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    folder
}

fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for part in ["", "optional", "optional/format"] {
        for entry in std::fs::read_dir(folder.join(part)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".json") {
                found.push(if part.is_empty() { name } else { format!("{part}/{name}") });
            }
        }
    }
    found.sort();
    found
}

fn run(folder: &Path, file: &str, found: &mut BTreeMap<Key, String>) -> usize {
    let cases: Value = serde_json::from_slice(&std::fs::read(folder.join(file)).unwrap()).unwrap();
    let mut tests = 0;
    for case in cases.as_array().unwrap() {
        let key =
            |test: &str| (file.to_owned(), case["description"].as_str().unwrap().to_owned(), test.to_owned());
        tests += case["tests"].as_array().unwrap().len();
        match compile(&case["schema"]) {
            Err(ours) => drop(found.insert(key("*"), ours)),
            Ok(plain) => {
                for test in case["tests"].as_array().unwrap() {
                    let ours = verdict(&plain, &test["data"]);
                    let expected = if test["valid"] == true { "accepted" } else { "refused" };
                    if ours != expected {
                        found.insert(key(test["description"].as_str().unwrap()), ours.to_owned());
                    }
                }
            }
        }
    }
    tests
}

fn compile(schema: &Value) -> Result<Plain, String> {
    let text = schema.to_string();
    let read = json::read(text.as_bytes(), &Limits::default()).map_err(|_| "schema not read".to_owned())?;
    compile_plain(&read.to_value()).map_err(|_| "schema refused".to_owned())
}

fn verdict(plain: &Plain, data: &Value) -> &'static str {
    let text = data.to_string();
    match json::read(text.as_bytes(), &Limits::default()) {
        Err(_) => "not read",
        Ok(read) => match plain.accepts(&read) {
            Ok(()) => "accepted",
            Err(_) => "refused",
        },
    }
}

fn cell(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace('\n', "\\n")
}

/// The rows of the table, each with a reason.
fn listed() -> BTreeMap<Key, String> {
    let page = std::fs::read_to_string(root().join("contexts/tests/schema_suite_deviations.txt")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.contains(".json |"));
    rows.map(|row| {
        let cells = cells(row);
        let [file, case, test, ours, why] = cells.as_slice() else { panic!("five cells: {row}") };
        assert!(why.len() > 3 && why != "why", "no reason: {row}");
        ((file.clone(), case.clone(), test.clone()), ours.clone())
    })
    .collect()
}

fn cells(row: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut chars = row.trim().trim_start_matches("| ").chars();
    while let Some(c) = chars.next() {
        let last = cells.last_mut().unwrap();
        match c {
            '\\' => match chars.next() {
                Some('n') => last.push('\n'),
                Some(other) => last.push(other),
                None => {}
            },
            '|' => cells.push(String::new()),
            other => last.push(other),
        }
    }
    cells.pop();
    cells.into_iter().map(|cell| cell.trim().to_owned()).collect()
}
