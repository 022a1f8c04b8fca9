//! `docs/policy.md` shows what is so.

use super::{House, one_file, shipped_contexts};
use crate::agents::Agents;
use crate::{PolicyLimits, PolicySource};

const PAGE: &str = include_str!("../../../docs/policy.md");

fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    PAGE.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_agents_of_the_page_are_read() {
    let shown = blocks("json");
    assert_eq!(shown.len(), 1);
    let agents = Agents::read(shown[0].as_bytes(), &PolicyLimits::default()).unwrap();
    assert_eq!(agents.entries().len(), 1);
}

#[test]
fn the_policies_of_the_page_load() {
    let shown = blocks("cedar");
    assert!(shown.len() >= 4);
    let entities = String::from_utf8(PolicySource::shipped().entities).unwrap();
    let entities = entities.replacen("\"groups\": [", "\"groups\": [\"banks\", ", 1);
    for text in shown {
        let source = PolicySource { entities: entities.clone().into(), ..one_file(text) };
        assert!(House::load(&source, shipped_contexts()).is_ok(), "{text}");
    }
}

#[test]
fn the_faults_of_the_page_are_the_faults_that_are_printed() {
    let high_value = "@id(\"high-value\") forbid (principal, action, resource is payment::transfer)\n\
                      when { resource.amuont.greaterThan(decimal(\"10000.0\")) };";
    let greater = high_value.replace("amuont.greaterThan(decimal(\"10000.0\"))", "amount > 10000");
    let lines = "permit (\n\n  principal in Group::\"partner\", action, resource);";
    let mistakes = [
        ("payment.cedar", high_value),
        ("payment.cedar", &greater),
        ("payment.cedar", "permit (principal, action, resource is transfer);"),
        ("lines.cedar", lines),
        ("lines.cedar", "permit (principal, action, resource) when { false };"),
    ];
    for (name, text) in mistakes {
        let source =
            PolicySource { files: vec![(name.to_owned(), text.to_owned())], ..PolicySource::shipped() };
        let fault = House::load(&source, shipped_contexts()).err().unwrap().remove(0);
        assert!(PAGE.contains(&fault), "the page does not show:\n{fault}");
    }
}
