//! The forms in which a server describes its tools: one for each tool and version. The reviewer sees all of each.
//!
//! The whole tool object is pinned. A draft has its name, its description and the supported parts of its schemas. Everything else is
//! reported verbatim; [`unseen`] finds it.

use std::collections::{BTreeMap, BTreeSet};

use semgate_import::draft::{Drafted, Form};
use semgate_import::schema;
use semgate_inspect::tools::digest_of;
use serde_json::{Map, Value, json};

/// One tool, with its descriptions.
pub(super) struct Tool {
    pub name: String,
    pub forms: Vec<Form>,
}

/// The definition of the newest version, at any position: versions are dates, and sort as such.
pub(super) fn newest(forms: &[Form]) -> Option<&Value> {
    let newest = forms.iter().max_by_key(|form| form.versions.iter().max());
    newest.map(|form| &form.definition)
}

/// Members that only one version of the protocol has: `execution` of a tool (2025-11-25) and `x-mcp-header` of an argument (2026-07-28).
const OF_ONE_VERSION: [&str; 2] = ["execution", "x-mcp-header"];

/// The tools of all lists.
#[derive(Default)]
pub(super) struct Gathered {
    /// In the order of first listing.
    pub tools: Vec<Tool>,
    /// Tools with several descriptions, each with the reason for its omission: a reviewer would see one description and sign all.
    pub left_out: Vec<(String, String)>,
}

/// Merges the lists of all versions. Omits a tool that one list has twice, or that two versions describe differently.
pub(super) fn gather(lists: Vec<(&'static str, Vec<Value>)>) -> Gathered {
    let mut gathered = Gathered::default();
    let tools = &mut gathered.tools;
    let (mut twice, mut differences) = (BTreeMap::new(), BTreeMap::<String, BTreeSet<String>>::new());
    for (version, list) in lists {
        let mut names = BTreeSet::new();
        for definition in list {
            let Some(name) = definition.get("name").and_then(Value::as_str).map(str::to_owned) else {
                continue;
            };
            if !names.insert(name.clone()) {
                twice.insert(name, version);
                continue;
            }
            let Some(tool) = tools.iter_mut().find(|tool| tool.name == name) else {
                tools.push(Tool { name, forms: vec![Form { versions: vec![version], definition }] });
                continue;
            };
            if let Some(form) = tool.forms.iter_mut().find(|form| form.definition == definition) {
                form.versions.push(version);
                continue;
            }
            let before = tool.forms.iter().flat_map(|form| differing(&form.definition, &definition));
            let members: BTreeSet<String> = before.collect();
            if !members.is_empty() {
                differences.entry(name).or_default().extend(members);
            }
            tool.forms.push(Form { versions: vec![version], definition });
        }
    }
    tools.retain(|tool| {
        let why = match (twice.get(&tool.name), differences.get(&tool.name)) {
            (Some(version), _) => format!("the server lists it twice in {version}, and a client takes either"),
            (None, Some(members)) => format!(
                "the server describes it differently in two versions ({}): draft one of them with `--protocol`; calls in the other are refused",
                members.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
            ),
            (None, None) => return true,
        };
        gathered.left_out.push((tool.name.clone(), why));
        false
    });
    gathered
}

/// The members in which two definitions differ, apart from those that only one version of the protocol has.
fn differing(one: &Value, other: &Value) -> Vec<String> {
    let (one, other) = (common(one), common(other));
    let members = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let (one, other) = (members(&one), members(&other));
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let differ = names.into_iter().filter(|name| one.get(*name) != other.get(*name));
    differ.map(|name| Value::from(name.as_str()).to_string()).collect()
}

fn common(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let shared = map.iter().filter(|(name, _)| !OF_ONE_VERSION.contains(&name.as_str()));
            Value::Object(shared.map(|(name, value)| (name.clone(), common(value))).collect())
        }
        Value::Array(items) => items.iter().map(common).collect(),
        other => other.clone(),
    }
}

/// All pinned forms, as written next to a draft: by task, each form with its digest and the versions that have it.
pub(super) fn pinned(tasks: &[Drafted]) -> Option<Value> {
    let tools = tasks.iter().filter(|drafted| !drafted.forms.is_empty());
    let all = tools.map(|drafted| {
        let forms = drafted.forms.iter().map(|form| {
            let digest = digest_of(&form.definition).map(|digest| digest.to_string());
            json!({"digest": digest, "protocol": form.versions, "definition": form.definition})
        });
        (drafted.name.clone(), forms.collect())
    });
    let all: Map<String, Value> = all.collect();
    (!all.is_empty()).then_some(Value::Object(all))
}

/// Everything that a task pins and the draft does not show, a line each.
pub(super) fn unseen(drafted: &Drafted) -> Vec<String> {
    let mut lines = Vec::new();
    let mut tell = |line: String| {
        if !lines.contains(&line) {
            lines.push(line);
        }
    };
    let mut shown = Vec::new();
    std::iter::once(&drafted.task)
        .chain(drafted.definitions.values())
        .for_each(|part| words(part, &mut shown));
    shown.extend(drafted.definitions.keys().map(String::as_str));
    // line breaks become spaces; a text that lost another character counts as absent
    let stands = |word: &str| {
        let word = schema::spaced(word);
        shown.iter().any(|text| text.contains(&word))
    };
    for (member, value) in drafted.forms.iter().filter_map(|form| form.definition.as_object()).flatten() {
        let quoted = Value::from(member.as_str());
        if member == "name" || (member == "description" && value.as_str().is_some_and(stands)) {
            continue;
        }
        if !matches!(member.as_str(), "inputSchema" | "outputSchema") {
            tell(format!("it pins {quoted}, which the draft does not show: {value}"));
            continue;
        }
        let mut all = Vec::new();
        words(value, &mut all);
        let plain = |word: &str| schema::is_plain(word) || drafted.references.contains(word);
        let hidden: BTreeSet<&str> = all.into_iter().filter(|word| !plain(word) && !stands(word)).collect();
        if !hidden.is_empty() {
            tell(format!("it pins text of {quoted} that the draft does not show: {}", json!(hidden)));
        }
    }
    lines
}

/// Every name and text in a value.
fn words<'v>(value: &'v Value, into: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => into.push(text),
        Value::Array(items) => items.iter().for_each(|item| words(item, into)),
        Value::Object(map) => {
            for (name, value) in map {
                into.push(name);
                words(value, into);
            }
        }
        _ => {}
    }
}
