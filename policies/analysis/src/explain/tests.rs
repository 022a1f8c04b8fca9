//! What is explained is what is decided.

mod approvals;
mod recalled;
mod recorded;
mod redacted;

use std::collections::BTreeSet;

use semgate_contexts::Performative;

use super::truth::{Open, Truth};
use super::{Cell, Explainer, Explanation, Holds, Part};
use crate::house::{
    Ask, COURIER, House, OPERATOR, RETAILER, STRANGER, TREASURER, WEBAPP, WHOLESALER, one_file,
    shipped_contexts, transfer,
};
use semgate_policies::{PolicyLimits, PolicySource, Verdict};

const CONTINGENCY: &str = r#"{"if_condition_text":"demand spike","then_change_text":"order more"}"#;

fn explainer(source: &PolicySource) -> Explainer {
    Explainer::load(source, &shipped_contexts(), &PolicyLimits::default()).unwrap()
}

fn explained(source: &PolicySource, ask: Ask<'_>) -> Explanation {
    let house = House::load(source, shipped_contexts()).unwrap();
    house.question(ask, |question| explainer(source).explain(question))
}

#[test]
fn a_forbid_that_decided_is_shown_clause_by_clause_with_its_place_and_what_would_pass_it_by() {
    let value = transfer("12000");
    let report = explained(&PolicySource::shipped(), Ask { value: &value, ..Ask::default() });
    let decided = &report.policies[0];
    assert_eq!((decided.id.as_str(), decided.part), ("payment.cedar#high-value", Part::Decided));
    let conditions: Vec<_> = decided
        .conditions
        .iter()
        .map(|one| (one.location.to_string(), one.clause, one.text.as_str(), one.holds.clone()))
        .collect();
    let amount = r#"resource.amount.greaterThan(decimal("10000.0"))"#;
    let held = r#"principal.credentials.contains("high-value-authorized")"#;
    assert_eq!(
        conditions,
        [
            ("payment.cedar:13:1".to_owned(), "when", amount, Holds::Yes),
            ("payment.cedar:14:1".to_owned(), "unless", held, Holds::No),
        ]
    );
    let beside = report.policies.iter().find(|one| one.id == "lines.cedar#transfers").unwrap();
    assert_eq!(beside.part, Part::Applies, "it would have permitted");
}

#[test]
fn what_nothing_permits_shows_the_permits_that_came_near_and_what_they_miss() {
    let ask = Ask { sender: WHOLESALER, receiver: RETAILER, value: &transfer("1"), ..Ask::default() };
    let report = explained(&PolicySource::shipped(), ask);
    let transfers = report.policies.iter().find(|one| one.id == "lines.cedar#transfers").unwrap();
    assert_eq!(transfers.out_of_scope, ["the sender would have to be in the group `partners`"]);
    let reply = report.policies.iter().find(|one| one.id == "lines.cedar#reply-transfers").unwrap();
    assert_eq!((reply.part, reply.conditions[0].holds.clone()), (Part::Near, Holds::No));
}

/// Policies of many forms, so that the matrix has every kind of cell.
fn many_forms() -> PolicySource {
    one_file(
        r#"permit (principal in Group::"partners", action == Action::"REQUEST", resource is payment::transfer) when { resource.amount.lessThan(decimal("50.0")) };
           permit (principal in Group::"planners", action, resource is payment::transfer);
           forbid (principal, action, resource is payment::transfer) when { context.direction == "reply" && principal in Group::"repliers" };
           forbid (principal == Agent::"spiffe://semgate.test/agent/courier-5", action, resource) when { context.free_text };
           permit (principal, action == Action::"QUERY", resource is a2a::GetTask);
           permit (principal, action == Action::"INFORM", resource is supplyChain::decision_contingency) when { true };
           permit (principal, action == Action::"QUERY", resource is supplyChain::decision_contingency) when { principal.credentials.contains("high-value-authorized") };
           permit (principal, action == Action::"PROPOSE", resource is supplyChain::decision_contingency) when { context.major + 9223372036854775807 > 0 || true };
           permit (principal, action == Action::"REQUEST", resource is supplyChain::decision_contingency) when { if context.major > 1 then true else true };
           forbid (principal, action == Action::"AGREE", resource is supplyChain::decision_contingency) when { context.receiver == principal };
           permit (principal, action == Action::"AGREE", resource is supplyChain::decision_contingency);"#,
    )
}

#[test]
fn where_the_matrix_says_never_or_always_no_message_comes_out_otherwise() {
    let agents = [
        ("retailer-7", RETAILER),
        ("public-webapp-3", WEBAPP),
        ("treasurer-1", TREASURER),
        ("courier-5", COURIER),
        ("wholesaler-1", WHOLESALER),
        ("operator", OPERATOR),
        ("anyone else", STRANGER),
    ];
    let values = [transfer("1"), transfer("12000")];
    let mut cells: BTreeSet<&str> = BTreeSet::new();
    for source in [PolicySource::shipped(), many_forms()] {
        let matrix = explainer(&source).matrix(&PolicyLimits::default()).unwrap();
        let house = House::load(&source, shipped_contexts()).unwrap();
        for (name, sender) in agents {
            for action in Performative::ALL {
                for (concept, urn, term, value) in [
                    ("payment::transfer", "payment:v1.1", "transfer", values[0].as_str()),
                    ("payment::transfer", "payment:v2.0", "transfer", values[1].as_str()),
                    (
                        "supplyChain::decision_contingency",
                        "supplyChain:v1.0",
                        "decision_contingency",
                        CONTINGENCY,
                    ),
                ] {
                    let rows = &matrix.concepts[concept];
                    let row = rows.iter().find(|row| row.agents.iter().any(|agent| agent == name)).unwrap();
                    let Some(cell) = row.cells.get(&action) else { continue };
                    for (direction, receiver) in
                        [("request", WHOLESALER), ("reply", WHOLESALER), ("request", sender)]
                    {
                        let ask =
                            Ask { sender, receiver, action, urn, term, value, direction, ..Ask::default() };
                        let passes = matches!(house.ask(ask), Verdict::Permitted { .. });
                        let why = format!("{name} {action} {concept} {direction}: {cell}");
                        match cell {
                            Cell::Always | Cell::Asks(_) => assert!(passes, "{why}"),
                            Cell::Never => assert!(!passes, "{why}"),
                            Cell::Depends(_) => {}
                        }
                        cells.insert(match cell {
                            Cell::Always => "always",
                            Cell::Asks(_) => "asks",
                            Cell::Never => "never",
                            Cell::Depends(_) => "depends",
                        });
                    }
                }
            }
        }
    }
    assert_eq!(cells.len(), 3, "every kind of cell is met");
}

#[test]
fn the_matrix_names_what_a_cell_depends_on_and_nothing_that_changes_nothing() {
    let matrix = explainer(&many_forms()).matrix(&PolicyLimits::default()).unwrap();
    let cell = |concept: &str, agent: &str, action| {
        let rows = &matrix.concepts[concept];
        rows.iter().find(|row| row.agents.iter().any(|one| one == agent)).unwrap().cells[&action].clone()
    };
    let on = |members: &[&str]| Cell::Depends(members.iter().map(|member| (*member).to_owned()).collect());
    let (pay, plan) = ("payment::transfer", "supplyChain::decision_contingency");
    assert_eq!(cell(pay, "retailer-7", Performative::Request), on(&["resource.amount"]));
    assert_eq!(cell(pay, "retailer-7", Performative::Inform), Cell::Never);
    assert_eq!(
        cell(pay, "treasurer-1", Performative::Request),
        Cell::Always,
        "another permit changes nothing"
    );
    assert_eq!(cell(plan, "retailer-7", Performative::Inform), Cell::Always);
    assert_eq!(cell(plan, "courier-5", Performative::Inform), on(&["context.free_text"]));
    let beside = cell(pay, "courier-5", Performative::Request);
    assert_eq!(
        beside,
        on(&["context.free_text"]),
        "a transfer has no free text, and over MCP some stands beside it"
    );
    assert_eq!(cell("a2a::GetTask", "courier-5", Performative::Query), Cell::Always, "MCP does not say it");
    assert_eq!(cell(plan, "treasurer-1", Performative::Query), Cell::Always, "what the file gives is known");
    assert_eq!(cell(plan, "retailer-7", Performative::Query), Cell::Never);
    assert_eq!(cell(plan, "retailer-7", Performative::Propose), on(&["context.major"]), "it could overflow");
    assert_eq!(cell(plan, "retailer-7", Performative::Request), Cell::Always, "both branches are true");
    assert_eq!(cell(plan, "retailer-7", Performative::Agree), on(&["context.receiver"]));
}

#[test]
fn what_passes_only_with_an_approval_has_its_own_word_in_the_matrix() {
    let report = |policies: &str| {
        let matrix = explainer(&one_file(policies)).matrix(&PolicyLimits::default()).unwrap();
        matrix.concepts["payment::transfer"][0].cells[&Performative::Request].to_string()
    };
    let always = "permit (principal, action == Action::\"REQUEST\", resource is payment::transfer);\n";
    let asked = format!("@approve(\"sign it\") {always}");
    let large = asked.replace(");\n", ") when { resource.amount.greaterThan(decimal(\"1.0\")) };\n");
    let no_usd =
        "forbid (principal, action, resource is payment::transfer) when { resource.currency == \"USD\" };\n";
    assert_eq!(report(always), "always");
    assert_eq!(report(&asked), "asks");
    assert_eq!(report(&format!("{asked}{always}")), "asks", "one is enough");
    assert_eq!(report(&large), "asks, depends on resource.amount");
    assert_eq!(report(&format!("{asked}{no_usd}")), "asks, depends on resource.currency");
    assert_eq!(report(&format!("{always}{large}")), "depends on resource.amount", "whether it asks");
}

#[test]
fn what_is_open_stays_open_unless_every_value_of_it_comes_to_the_same() {
    let open = |may_fail| Truth::Open(Open { reads: BTreeSet::from(["x".to_owned()]), may_fail });
    let failed = || Truth::Error("why".into());
    assert_eq!(open(false).and(|| Truth::False), Truth::False);
    assert_eq!(
        open(true).and(|| Truth::False),
        open(true),
        "it could fail before the right side is looked at"
    );
    assert_eq!(open(false).and(|| Truth::True), open(false));
    assert_eq!(open(false).and(failed), open(true), "the right side fails where the left one is true");
    assert_eq!(Truth::False.and(failed), Truth::False);
    assert_eq!(failed().and(|| Truth::False), failed());
    assert_eq!(open(false).or(|| Truth::True), Truth::True);
    assert_eq!(open(true).or(|| Truth::True), open(true));
    assert_eq!(Truth::True.or(failed), Truth::True);
    assert_eq!(open(false).or(failed), open(true));
}

#[test]
fn a_line_that_is_refused_as_a_whole_is_explained_by_the_permits_that_come_near() {
    let explainer = explainer(&PolicySource::shipped());
    let payment = semgate_contexts::Line::parse("payment").unwrap();
    let report = explainer.refused_line(STRANGER, &payment, None);
    let transfer = report.iter().find(|one| one.concept == "payment::transfer").unwrap();
    let near: Vec<&str> = transfer.explanation.policies.iter().map(|one| one.id.as_str()).collect();
    assert!(near.contains(&"lines.cedar#transfers"), "{near:?}");
    let reply = &transfer.explanation.policies[0];
    assert_eq!(
        (reply.id.as_str(), &reply.conditions[0].holds),
        ("lines.cedar#reply-transfers", &Holds::Unasked)
    );
    assert!(
        explainer.refused_line(STRANGER, &semgate_contexts::Line::parse("nothing").unwrap(), None).is_empty()
    );
}

#[test]
fn a_matrix_that_would_take_too_long_is_refused_before_it_is_begun() {
    let limits = PolicyLimits { max_matrix_looks: 1_000, ..PolicyLimits::default() };
    let fault = explainer(&PolicySource::shipped()).matrix(&limits).unwrap_err().to_string();
    assert!(
        fault.starts_with("evaluations for a matrix of ") && fault.ends_with(" policies: more than 1000"),
        "{fault}"
    );
}
