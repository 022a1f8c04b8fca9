//! The description against the routes, and the codes against their page. The behaviour of the routes is in `tests/`.

use std::collections::{BTreeMap, BTreeSet};

use super::problem::Code;
use super::read::OPENAPI;
use super::router::table;

#[test]
fn every_route_is_described_and_every_described_route_is_served() {
    let described: serde_json::Value = serde_json::from_str(OPENAPI).unwrap();
    let described: BTreeMap<String, BTreeSet<String>> = described["paths"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(path, item)| {
            (path.clone(), item.as_object().unwrap().keys().map(|m| m.to_uppercase()).collect())
        })
        .collect();
    let served: BTreeMap<String, BTreeSet<String>> = table()
        .into_iter()
        .map(|(path, _, allow)| {
            let methods = allow.split(", ").filter(|m| *m != "HEAD").map(str::to_owned).collect();
            (path.replace("{*", "{"), methods)
        })
        .collect();
    assert_eq!(described, served);
}

/// A caller that goes by the description meets nothing that is not in it: no `default` stands for what nobody thought of, and no code has a
/// status that no route describes.
#[test]
fn every_answer_is_described_by_its_status_and_every_code_has_its_status_somewhere() {
    let described: serde_json::Value = serde_json::from_str(OPENAPI).unwrap();
    let mut statuses = BTreeSet::new();
    for (path, item) in described["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            for (status, answer) in operation["responses"].as_object().unwrap() {
                assert_ne!(status, "default", "{method} {path}");
                statuses.insert(status.parse::<u16>().unwrap());
                if let Some(at) = answer["$ref"].as_str() {
                    let there = described.pointer(at.strip_prefix('#').unwrap());
                    assert!(there.is_some_and(|a| a["description"].is_string()), "{method} {path} {status}");
                }
            }
        }
    }
    // No route answers that there is none, or that it has another method.
    let elsewhere = [Code::NotFound, Code::MethodNotAllowed];
    for code in Code::ALL.iter().filter(|code| !elsewhere.contains(code)) {
        assert!(statuses.contains(&code.status().as_u16()), "{}", code.as_str());
    }
}

#[test]
fn every_code_is_in_the_specification_with_its_status_and_no_other_is() {
    let page = include_str!("../../../../docs/spec/authority-api.md");
    let mut listed = BTreeMap::new();
    for line in page.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, code, status, ..] = cells[..] else { continue };
        if let (Some(code), Ok(status)) =
            (code.strip_prefix('`').and_then(|c| c.strip_suffix('`')), status.parse::<u16>())
        {
            assert_eq!(listed.insert(code.to_owned(), status), None, "`{code}` is listed twice");
        }
    }
    let known: BTreeMap<String, u16> =
        Code::ALL.iter().map(|c| (c.as_str().to_owned(), c.status().as_u16())).collect();
    assert_eq!(listed, known);
}

#[test]
fn hints_and_codes_are_fit_for_outsiders() {
    for code in Code::ALL {
        assert!(code.as_str().bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{}", code.as_str());
        assert!(!code.hint().is_empty() && !code.hint().ends_with('.'), "{}", code.as_str());
    }
}
