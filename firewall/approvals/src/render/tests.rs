//! Cards keep agent text apart, whatever it is.

mod bounds;
mod imitation;
mod shown;

use std::sync::Arc;

use semgate_policies::{Approval, ReasonRule};
use serde_json::{Value, json};

use super::*;
use crate::*;

/// Text that tries every markup at once.
pub(super) const HOSTILE: &str = "</td></table><script>alert(1)</script><img src=x onerror=y>\n*bold* <!channel> <https://evil.test|click> @here\n[x](https://evil.test) **md** ![i](https://evil.test/p.png)\n\u{1b}[2J\u{1b}]8;;https://evil.test\u{7}link\u{202e}evil\u{2066}\u{200b}\u{e0041}{{card}} {% raw %} &amp; &#60; \"'";

/// A book with one hold of this subject, and the hold.
pub(super) fn opened(subject: Subject, demands: Vec<Approval>) -> Hold {
    let settings = BookSettings {
        approvers: semgate_policies::Approvers::Capability("approver".into()),
        use_seconds: 300,
    };
    let mut book = Book::new(settings);
    let question = Question {
        subject,
        urn: Some("urn:contexts:payment:v2.1".into()),
        demands,
        session: None,
        decision_id: "d-1".into(),
        generation: 7,
    };
    let id = HoldId::of(42);
    let event = match question.subject {
        Subject::Action(_) => match book.ask(question, id.clone(), &HumanRegistry::default(), 1_000).unwrap()
        {
            Asked::Opens(_, mut events) => events.pop().unwrap(),
            other => panic!("{other:?}"),
        },
        Subject::Interaction(_) => book.interact(question, id.clone(), 1_000).unwrap().1,
    };
    book.apply(&event);
    Hold::clone(book.get(&id).unwrap())
}

pub(super) fn action(value: Value) -> Subject {
    Subject::Action(Action {
        sender: "spiffe://semgate.test/agent/retailer-7".into(),
        receiver: "spiffe://semgate.test/agent/bank-1".into(),
        binding: "a2a".into(),
        context: format!("sha-256:{}", "0".repeat(64)).into(),
        performative: "REQUEST".into(),
        instances: vec![ActionInstance { concept: "transfer".to_owned(), value }],
        refers: Vec::new(),
    })
}

pub(super) fn demand(reason: ReasonRule) -> Vec<Approval> {
    let mut demand = Approval::new("payments.cedar#large", "More than 10,000 euros leave the company");
    demand.reason = reason;
    vec![demand]
}

pub(super) fn asking(kind: InteractionKind, text: &str, options: &[&str]) -> Subject {
    Subject::Interaction(Box::new(Interaction {
        sender: Arc::from("spiffe://semgate.test/agent/ops-1"),
        target: HumanId::parse("human://bob.sre").unwrap(),
        kind,
        summary: text.to_owned(),
        body: text.to_owned(),
        options: options.iter().map(|&option| option.to_owned()).collect(),
        required_input: (kind == InteractionKind::Solicitation)
            .then(|| json!({"type": "string", "title": text})),
        secret: false,
        reason: Some(text.to_owned()),
        context: Some(text.to_owned()),
        call: Some(json!({"fn": text})),
        callback: None,
        responds_to: None,
    }))
}

pub(super) fn card(hold: &Hold) -> Card {
    Card::new(hold, Background { last_approved: None, page: Some("https://console.test/") })
}

pub(super) fn links() -> Links {
    Links {
        approve: Some("https://gate.test/decide/aaa".to_owned()),
        deny: Some("https://gate.test/decide/bbb".to_owned()),
    }
}

pub(super) fn page_of(card: &Card) -> String {
    let form = Form { person: "Bob", verdict: Verdict::Approved, token: "t", fault: None };
    confirmation(card, form).unwrap()
}

/// Every subject that holds this text wherever an agent can put one.
pub(super) fn subjects(text: &str) -> Vec<Hold> {
    use InteractionKind::*;
    let nested = json!({"amount": 12000.0, "note": text, "list": [text, {"deep": text}]});
    let mut all = vec![opened(action(nested), demand(ReasonRule::Never))];
    for kind in [Permission, Clarification, Solicitation, Notification] {
        let options =
            if kind == Clarification { vec![text, "deployment.yaml (Production)"] } else { Vec::new() };
        all.push(opened(asking(kind, text, &options), Vec::new()));
    }
    all
}

/// Texts and numbers of a JSON value, with the path to each.
pub(super) fn leaves(value: &Value) -> Vec<(String, Value)> {
    match value {
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, inner)| {
                leaves(inner).into_iter().map(move |(path, leaf)| (format!("/{name}{path}"), leaf))
            })
            .collect(),
        Value::Array(entries) => entries
            .iter()
            .enumerate()
            .flat_map(|(n, inner)| {
                leaves(inner).into_iter().map(move |(path, leaf)| (format!("/{n}{path}"), leaf))
            })
            .collect(),
        leaf => vec![(String::new(), leaf.clone())],
    }
}
