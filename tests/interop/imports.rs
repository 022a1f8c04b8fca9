//! Contexts imported from other schema languages judge what others make: messages of Google's protobuf, values that hypothesis-jsonschema
//! makes of public descriptions, and graphs that pyshacl judges. Valid payloads pass but for the differences that the draft names; what
//! the source's own validator refuses is refused.

use crate::support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use semgate_contexts::json::{self, Limits};
use semgate_contexts::{Context, DocumentLimits, Prefix};
use semgate_import::names;
use serde_json::{Value, json};
use support::gateway::{Gateway, Scripted};
use support::policies::{REPLY, under};
use support::{SEMGATE, Up, node, python};

/// Ten files of `googleapis-common-protos`.
const PROTOS: [&str; 10] = [
    "google/type/money.proto",
    "google/type/postal_address.proto",
    "google/type/datetime.proto",
    "google/type/phone_number.proto",
    "google/rpc/error_details.proto",
    "google/rpc/status.proto",
    "google/api/http.proto",
    "google/api/monitored_resource.proto",
    "google/api/distribution.proto",
    "google/logging/type/http_request.proto",
];

/// Ten descriptions of `@readme/oas-examples`.
const DESCRIPTIONS: [&str; 10] = [
    "3.0/json/petstore.json",
    "3.0/json/petstore-expanded.json",
    "3.0/yaml/uspto.yaml",
    "3.0/json/link-example.json",
    "3.0/json/response-schemas.json",
    "3.0/json/schema-additional-properties.json",
    "3.1/yaml/train-travel.yaml",
    "3.1/json/petstore.json",
    "3.1/json/schema-types.json",
    "3.1/json/readme-extensions.json",
];

fn interpreter() -> &'static Path {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    READY.get_or_init(|| python::environment("requirements-import.txt", "interop-python-import"))
}

/// The answer of a command of `import_payloads.py`.
fn made(words: &[&str]) -> Value {
    let mut command = Command::new(interpreter());
    command.arg(python::script("import_payloads.py")).args(words);
    // hypothesis keeps tables of characters, by default where it is called
    let output = command.env("HYPOTHESIS_STORAGE_DIRECTORY", interpreter().with_file_name("hypothesis-data"));
    let output = output.output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn semgate(words: &[&str]) -> Value {
    let output = Command::new(SEMGATE).arg("--json").args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// An imported and published context, with what its draft names.
struct Imported {
    context: Context,
    warnings: Vec<String>,
}

/// Imports with these words, publishes the draft as it is, and reads it back from the authority.
fn imported(up: &Up, line: &str, words: &[&str]) -> Imported {
    let (draft, dir) = (up.dir.join(format!("{line}.json")), up.dir.to_str().unwrap());
    let draft = draft.to_str().unwrap();
    let told = semgate(&[&["context", "import"], words, &["--line", line, "--out", draft]].concat());
    semgate(&["context", "publish", draft, "--dir", dir]);
    let fetched = up.dir.join(format!("{line}.jws"));
    let shown = semgate(&[
        "context",
        "fetch",
        &format!("{line}:v1.0"),
        "--out",
        fetched.to_str().unwrap(),
        "--dir",
        dir,
    ]);
    assert_eq!(shown["digest"], told["digest"], "{line}");
    let bytes = std::fs::read(draft).unwrap();
    let context = Context::check(&bytes, &Prefix::default(), &DocumentLimits::default()).unwrap();
    let warnings =
        told["warnings"].as_array().unwrap().iter().map(|one| one["what"].as_str().unwrap().to_owned());
    Imported { context, warnings: warnings.collect() }
}

impl Imported {
    /// The rule by which one side of a term refuses a value; `reader` where no message can hold it.
    fn rule(&self, term: &str, side: usize, value: &Value) -> Option<String> {
        let text = value.to_string();
        let Ok(read) = json::read(text.as_bytes(), &Limits::default()) else {
            return Some("reader".to_owned());
        };
        let term =
            self.context.term(term).unwrap_or_else(|| panic!("no term `{term}` in {}", self.context.urn()));
        let shape = term.shapes().nth(side).unwrap();
        shape.conform(read.as_object().unwrap(), None).err().map(|fault| fault.rule)
    }

    /// True if a warning of the draft says that this rule refuses more than the source.
    fn names(&self, rule: &str) -> bool {
        let words: &[&str] = match rule {
            "additionalProperties" | "unevaluatedProperties" => {
                &["members that it does not name are refused", "is left out"]
            }
            "x-free-text" | "maxLength" | "anyOf" => &["is free text", "is text that is not marked"],
            "format" => &["is asserted"],
            "maxItems" => &["since they must differ"],
            "reader" => &["a message holds numbers up to 2^53 - 1"],
            _ => &[],
        };
        self.warnings.iter().any(|warning| words.iter().any(|word| warning.contains(word)))
    }

    /// Holds the payloads of one side of a term against it; returns how many passed.
    fn judge(&self, term: &str, side: usize, payloads: &Value) -> usize {
        let list = |name: &str| payloads[name].as_array().unwrap().iter();
        let mut passed = 0;
        for value in list("valid") {
            match self.rule(term, side, value) {
                None => passed += 1,
                Some(rule) => {
                    assert!(self.names(&rule), "`{rule}` of {term} refuses {value}, and no warning says so")
                }
            }
        }
        for value in list("refused") {
            assert!(
                self.rule(term, side, value).is_some(),
                "{term} accepts {value}, which its source refuses"
            );
        }
        passed
    }
}

/// A gateway of this house whose policies permit everything to partners.
fn gateway(up: &Up) -> (Gateway, Scripted) {
    let rules = "permit (principal in Group::\"partners\", action, resource);\n";
    std::fs::write(up.path("/policies").join("imports.cedar"), rules).unwrap();
    let behind = Scripted::saying(REPLY.to_owned());
    (Gateway::before(up, behind.address, ""), behind)
}

/// A concept with a payload that passes and one that is refused.
type Examples = BTreeMap<String, [Value; 3]>;

/// Sends one valid and one refused message of each context through a gateway.
fn through_the_gateway(up: &Up, examples: &Examples) {
    let (gateway, behind) = gateway(up);
    let sent = |line: &str, named: &Value, payload: &Value| {
        let mut content = payload.clone();
        content.as_object_mut().unwrap().extend(named.as_object().unwrap().clone());
        gateway.post(&under(&format!("{line}:v1.0"), &content).replace("\"INFORM\"", "\"REQUEST\""))
    };
    for (line, [named, good, bad]) in examples {
        let before = behind.received();
        let refused = sent(line, named, bad);
        assert_eq!(refused.code(), "content_invalid", "{line}: {bad}");
        assert_eq!(behind.received(), before, "{line}: a refused message arrived");
        let answer = sent(line, named, good);
        let body = String::from_utf8_lossy(&answer.body);
        assert_eq!(behind.received(), before + 1, "{line}: {good} did not arrive: {body}");
    }
}

#[test]
fn f0_17_ten_proto_files_import_publish_and_judge_the_messages_of_googles_protobuf() {
    let up = Up::start();
    let script = "import sysconfig; print(sysconfig.get_paths()['purelib'])";
    let output = Command::new(interpreter()).args(["-c", script]).output().unwrap();
    let folder = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    let payloads = made(&[&["protobuf"], PROTOS.as_slice()].concat());
    let (mut passed, mut examples) = (0, Examples::new());
    for (number, file) in PROTOS.iter().enumerate() {
        let (line, path) = (format!("proto-{number}"), format!("{folder}/{file}"));
        let imported = imported(&up, &line, &["protobuf", &path, "--include", &folder]);
        for (full, made) in payloads[*file].as_object().unwrap() {
            let concept = full.rsplit('.').next().unwrap();
            let valid = made["valid"].as_array().unwrap();
            // Google's own JSON passes whole: not one difference is needed
            assert_eq!(imported.judge(concept, 0, made), valid.len(), "{full}");
            assert!(made["refused"].as_array().unwrap().len() > 50, "{full}");
            passed += valid.len();
            let named = json!({ "concept": concept });
            let example = [named, valid.last().unwrap().clone(), made["refused"][0].clone()];
            examples.insert(line.clone(), example);
        }
        let text = json!({"currencyCode": "two\nlines", "message": "two\nlines"});
        for concept in
            ["Money", "Status"].into_iter().filter(|concept| imported.context.term(concept).is_some())
        {
            let named = json!({"currencyCode": text["currencyCode"]});
            let value = if concept == "Money" { named } else { json!({"message": text["message"]}) };
            assert_eq!(imported.rule(concept, 0, &value).as_deref(), Some("x-free-text"));
            assert!(imported.names("x-free-text"));
        }
    }
    assert!(passed > 1_000, "{passed}");
    through_the_gateway(&up, &examples);
}

#[test]
fn f0_58_ten_openapi_descriptions_import_publish_and_judge_the_values_of_hypothesis() {
    let up = Up::start();
    let folder = node::installed("oas").join("node_modules/@readme/oas-examples");
    let (mut passed, mut examples) = (0, Examples::new());
    for (number, file) in DESCRIPTIONS.iter().enumerate() {
        let (line, path) = (format!("openapi-{number}"), folder.join(file));
        let path = path.to_str().unwrap();
        let imported = imported(&up, &line, &["openapi", path]);
        let payloads = made(&["openapi", path]);
        let labels: Vec<&str> = payloads.as_object().unwrap().keys().map(String::as_str).collect();
        let tasks = names::tasks(labels.iter().copied());
        let mut of_file = 0;
        for (label, sides) in payloads.as_object().unwrap() {
            let task = &tasks[label.as_str()];
            for side in [0, 1] {
                let made = &sides[side];
                of_file += imported.judge(task, side, made);
                let good = made["valid"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .rfind(|one| imported.rule(task, 0, one).is_none());
                let bad = made["refused"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .find(|one| imported.rule(task, 0, one).is_some_and(|rule| rule != "reader"));
                if let (0, Some(good), Some(bad)) = (side, good, bad) {
                    examples.insert(line.clone(), [json!({ "task": task }), good.clone(), bad.clone()]);
                }
            }
        }
        assert!(of_file > 10, "{file}: {of_file} values passed");
        passed += of_file;
    }
    assert!(passed > 500 && examples.len() == DESCRIPTIONS.len(), "{passed} {:?}", examples.keys());
    through_the_gateway(&up, &examples);
}

#[test]
fn f0_53_pyshacl_agrees_with_the_gateway_on_instances_of_an_exported_context() {
    let dir = tempfile::tempdir().unwrap();
    let graph = dir.path().join("travel.jsonld");
    semgate(&["context", "export", "jsonld", "travel:v2.1", "--out", graph.to_str().unwrap()]);
    let shipped = semgate_contexts::library::all().iter().find(|(name, _)| *name == "travel-v2.1").unwrap().1;
    let context = Context::check(shipped, &Prefix::default(), &DocumentLimits::default()).unwrap();
    let travel = Imported { context, warnings: Vec::new() };
    let flight = json!({"origin_code": "JFK", "dest_code": "LGA", "date": "2026-12-24"});
    let with = |member: &str, value: Value| {
        let mut flight = flight.clone();
        flight[member] = value;
        flight
    };
    let mut cases = vec![
        (0, flight.clone()),
        (0, with("origin_code", json!("XXXX"))),
        (0, with("origin_code", json!(7))),
        (0, with("date", json!("soon"))),
        (0, with("date", json!(20_261_224))),
        (0, with("seat", json!("1A"))),
        (0, json!({})),
        (0, json!({"origin_code": "JFK", "dest_code": "LGA"})),
        (1, json!({"status": "confirmed", "booking_reference": "ABC123"})),
        (1, json!({"status": "confirmed"})),
        (1, json!({"status": "lost"})),
        (1, json!({"status": "confirmed", "booking_reference": "abc"})),
        (1, json!({"status": "confirmed", "booking_reference": "A".repeat(17)})),
        (1, json!({"booking_reference": "ABC123"})),
    ];
    cases.extend(["EWR", "LHR", "SFO"].map(|code| (0, with("dest_code", json!(code)))));
    let shape = |side: usize| {
        ["urn:contexts:travel:v2.1#bookFlight", "urn:contexts:travel:v2.1#bookFlight_results"][side]
    };
    let asked: Vec<Value> =
        cases.iter().map(|(side, value)| json!({"shape": shape(*side), "value": value})).collect();
    let file = dir.path().join("cases.json");
    std::fs::write(&file, json!(asked).to_string()).unwrap();
    let verdicts = made(&["conforms", graph.to_str().unwrap(), file.to_str().unwrap()]);
    let mut passed = 0;
    for ((side, value), theirs) in cases.iter().zip(verdicts.as_array().unwrap()) {
        let ours = travel.rule("bookFlight", *side, value).is_none();
        assert_eq!(json!(ours), *theirs, "{value}");
        passed += usize::from(ours);
    }
    assert!(passed > 2 && passed < cases.len() - 5);
}
