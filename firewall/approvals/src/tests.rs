//! The rules of the book, under any order of commands.

use std::sync::Arc;

use proptest::prelude::*;
use semgate_policies::{Approval, Approvers};
use serde_json::json;

use crate::{
    Action, ActionInstance, Answer, ApprovalFault, Asked, Book, BookSettings, Event, Factor, Hold, HoldId,
    HoldState, HumanCard, HumanId, HumanRegistry, Question, Reply, Subject, Verdict,
};

const PEOPLE: [&str; 3] = ["human://alice.eng", "human://bob.sre", "human://carol"];

fn book() -> Book {
    Book::new(BookSettings { approvers: Approvers::Capability("approver".into()), use_seconds: 300 })
}

fn registry() -> HumanRegistry {
    let card = |id: &str| -> HumanCard {
        serde_json::from_value(json!({"id": id, "profile": {"name": "N"}, "capabilities": ["approver"]}))
            .unwrap()
    };
    HumanRegistry::new(PEOPLE.map(card)).unwrap()
}

fn question(amount: u64, quorum: u32) -> Question {
    let mut demand = Approval::new("file#large", "sign?");
    demand.quorum = quorum;
    let action = Action {
        sender: "spiffe://a/agent".into(),
        receiver: "spiffe://a/other".into(),
        binding: "l8".into(),
        context: "sha-256:0".into(),
        performative: "REQUEST".into(),
        instances: vec![ActionInstance { concept: "transfer".to_owned(), value: json!({"amount": amount}) }],
        refers: Vec::new(),
    };
    Question {
        subject: Subject::Action(action),
        urn: None,
        demands: vec![demand],
        session: None,
        decision_id: "d".into(),
        generation: 1,
    }
}

fn id(n: u128) -> HoldId {
    HoldId::of(n)
}

fn answer(hold: &Hold, person: &str, verdict: Verdict) -> Answer {
    Answer {
        id: hold.id.clone(),
        digest: hold.digest,
        human: HumanId::parse(person).unwrap(),
        factor: Factor::Certificate,
        reply: Reply { verdict, option: None, data: None, reason: None },
    }
}

/// Asks, and applies what follows.
fn ask(book: &mut Book, question: Question, n: u128, now: u64) -> Result<Asked, ApprovalFault> {
    let asked = book.ask(question, id(n), &registry(), now)?;
    if let Asked::Opens(_, events) = &asked {
        events.iter().for_each(|event| book.apply(event));
    }
    Ok(asked)
}

fn decide(book: &mut Book, answer: &Answer, now: u64) -> Result<(), ApprovalFault> {
    let decision = book.decide(answer, &registry(), now)?;
    let event = book.settle(&answer.id, decision, &registry())?;
    book.apply(&event);
    Ok(())
}

fn opened(book: &mut Book, quorum: u32) -> Arc<Hold> {
    ask(book, question(900, quorum), 1, 100).unwrap();
    Arc::clone(book.get(&id(1)).unwrap())
}

#[test]
fn the_digest_of_an_action_is_that_of_its_canonical_form() {
    let Subject::Action(action) = question(12_000, 1).subject else { unreachable!() };
    let canonical = action.canonical().unwrap();
    assert_eq!(
        canonical,
        r#"{"binding":"l8","context":"sha-256:0","instances":[{"concept":"transfer","value":{"amount":12000}}],"performative":"REQUEST","receiver":"spiffe://a/other","sender":"spiffe://a/agent"}"#
    );
    let mut spelled = action.clone();
    spelled.instances[0].value = serde_json::from_str(r#"{"amount": 1.2e4}"#).unwrap();
    assert_eq!(spelled.digest().unwrap(), action.digest().unwrap());
    spelled.instances[0].value = json!({"amount": 12_001});
    assert_ne!(spelled.digest().unwrap(), action.digest().unwrap());
}

#[test]
fn a_person_counts_once_and_one_denial_denies() {
    let mut book = book();
    let hold = opened(&mut book, 2);
    decide(&mut book, &answer(&hold, PEOPLE[0], Verdict::Approved), 101).unwrap();
    let again = decide(&mut book, &answer(&hold, PEOPLE[0], Verdict::Approved), 102);
    assert_eq!(again, Err(ApprovalFault::DecidedBefore));
    decide(&mut book, &answer(&hold, PEOPLE[1], Verdict::Denied), 103).unwrap();
    assert_eq!(book.get(&hold.id).unwrap().state, HoldState::Denied);
    let late = decide(&mut book, &answer(&hold, PEOPLE[2], Verdict::Approved), 104);
    assert_eq!(late, Err(ApprovalFault::Closed));
    assert!(matches!(ask(&mut book, question(900, 2), 2, 105), Ok(Asked::Denied(_))));
}

#[test]
fn a_weak_proof_a_foreign_digest_and_a_stranger_decide_nothing() {
    let mut book = book();
    let mut asked = question(900, 1);
    asked.demands[0].assurance = semgate_policies::Assurance::High;
    ask(&mut book, asked, 1, 100).unwrap();
    let hold = Arc::clone(book.get(&id(1)).unwrap());
    let good = answer(&hold, PEOPLE[0], Verdict::Approved);
    let weak = Answer { factor: Factor::Slack, ..good.clone() };
    assert_eq!(decide(&mut book, &weak, 101), Err(ApprovalFault::WeakProof));
    let other = Answer { digest: crate::ActionDigest::of("other"), ..good.clone() };
    assert_eq!(decide(&mut book, &other, 101), Err(ApprovalFault::OtherAction));
    let stranger = Answer { human: HumanId::parse("human://eve").unwrap(), ..good.clone() };
    assert_eq!(decide(&mut book, &stranger, 101), Err(ApprovalFault::NotYours));
    decide(&mut book, &good, 101).unwrap();
}

#[test]
fn time_ends_what_nobody_answers_and_what_nobody_uses() {
    let mut book = book();
    let hold = opened(&mut book, 1);
    assert_eq!(book.next_due(), Some(hold.expires_at + 1));
    assert_eq!(
        decide(&mut book, &answer(&hold, PEOPLE[0], Verdict::Approved), hold.expires_at + 1),
        Err(ApprovalFault::Closed)
    );
    for event in book.due(hold.expires_at + 1) {
        book.apply(&event);
    }
    assert_eq!(book.get(&hold.id).unwrap().state, HoldState::Expired);
    ask(&mut book, question(901, 1), 2, 100).unwrap();
    let hold = Arc::clone(book.get(&id(2)).unwrap());
    decide(&mut book, &answer(&hold, PEOPLE[0], Verdict::Approved), 200).unwrap();
    for event in book.due(501) {
        book.apply(&event);
    }
    assert_eq!(book.get(&hold.id).unwrap().state, HoldState::Lapsed);
    assert_eq!(book.next_due(), None);
}

#[test]
fn a_giver_and_all_delegates_are_one_vote_and_nobody_delegates_to_oneself() {
    let mut book = book();
    let mut asked = question(900, 2);
    asked.demands[0].approvers = Some(Approvers::Human(PEOPLE[0].into()));
    ask(&mut book, asked, 1, 100).unwrap();
    let hold = Arc::clone(book.get(&id(1)).unwrap());
    let human = |n: usize| HumanId::parse(PEOPLE[n]).unwrap();
    let pass = |from: usize, to: usize| crate::Pass {
        id: id(1),
        from: human(from),
        to: human(to),
        factor: Factor::Certificate,
    };
    assert_eq!(book.delegate(&pass(0, 0), &registry()), Err(ApprovalFault::Own));
    assert_eq!(book.delegate(&pass(1, 2), &registry()), Err(ApprovalFault::NotYours));
    let event = book.delegate(&pass(0, 1), &registry()).unwrap();
    book.apply(&event);
    decide(&mut book, &answer(&hold, PEOPLE[1], Verdict::Approved), 101).unwrap();
    decide(&mut book, &answer(&hold, PEOPLE[0], Verdict::Approved), 102).unwrap();
    assert!(book.get(&id(1)).unwrap().state.is_open(), "one vote of two");
}

#[test]
fn an_approval_of_somebody_who_has_left_lets_nothing_pass() {
    let mut book = book();
    let hold = opened(&mut book, 1);
    decide(&mut book, &answer(&hold, PEOPLE[0], Verdict::Approved), 101).unwrap();
    let Ok(Asked::Approved(approved)) = ask(&mut book, question(900, 1), 2, 102) else { unreachable!() };
    let left =
        HumanRegistry::new(registry().cards().filter(|card| card.id.as_str() != PEOPLE[0]).cloned()).unwrap();
    assert_eq!(book.used(&approved, "d", &left, 103).unwrap_err(), ApprovalFault::Spent);
    assert!(matches!(book.ask(question(900, 1), id(3), &left, 103), Ok(Asked::Opens(..))));
}

/// One command of a random run.
#[derive(Clone, Debug)]
enum Step {
    Ask(u64),
    Decide(u64, usize, bool),
    Use(u64),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..3_u64).prop_map(Step::Ask),
        (0..3_u64, 0..3_usize, any::<bool>()).prop_map(|(at, who, yes)| Step::Decide(at, who, yes)),
        (0..3_u64).prop_map(Step::Use),
        (0..400_u64).prop_map(Step::Wait),
    ];
    proptest::collection::vec(step, 0..60)
}

proptest! {
    /// No run uses an approval twice, or one that nobody gave; and the events alone give the same book.
    #[test]
    fn no_order_of_commands_uses_an_approval_twice(steps in steps()) {
        let (mut book, mut events, mut now, mut next) = (book(), Vec::new(), 1_000_u64, 0_u128);
        let mut uses: std::collections::HashMap<HoldId, u32> = std::collections::HashMap::new();
        for step in steps {
            next += 1;
            let mut new = book.due(now);
            new.iter().for_each(|event| book.apply(event));
            let more = match step {
                Step::Ask(amount) => match book.ask(question(amount, 1), id(next), &registry(), now) {
                    Ok(Asked::Opens(_, events)) => events,
                    _ => Vec::new(),
                },
                Step::Decide(amount, who, yes) => {
                    let verdict = if yes { Verdict::Approved } else { Verdict::Denied };
                    let hold = book.holds().find(|hold| hold.canonical.contains(&format!("\"amount\":{amount}}}"))).cloned();
                    let decided = hold.and_then(|hold| {
                        let decision = book.decide(&answer(&hold, PEOPLE[who], verdict), &registry(), now).ok()?;
                        book.settle(&hold.id, decision, &registry()).ok()
                    });
                    decided.into_iter().collect()
                }
                Step::Use(amount) => match book.ask(question(amount, 1), id(next), &registry(), now) {
                    Ok(Asked::Approved(approved)) => {
                        let (used, event) = book.used(&approved, "d", &registry(), now).unwrap();
                        let hold = book.get(used.id()).unwrap();
                        prop_assert!(hold.decisions.iter().all(|one| one.decision == Verdict::Approved) && !hold.decisions.is_empty());
                        *uses.entry(used.id().clone()).or_default() += 1;
                        vec![event]
                    }
                    _ => Vec::new(),
                },
                Step::Wait(seconds) => {
                    now += seconds;
                    Vec::new()
                }
            };
            more.iter().for_each(|event| book.apply(event));
            new.extend(more);
            events.extend(new);
        }
        prop_assert!(uses.values().all(|count| *count == 1), "{uses:?}");
        let mut replayed = self::book();
        for event in &events {
            let text = serde_json::to_string(event).unwrap();
            replayed.apply(&serde_json::from_str::<Event>(&text).unwrap());
        }
        let mut restored = self::book();
        book.snapshot().iter().for_each(|event| restored.apply(event));
        for other in [&replayed, &restored] {
            prop_assert_eq!(other.snapshot(), book.snapshot());
            prop_assert_eq!((other.open(), other.next_due()), (book.open(), book.next_due()));
        }
    }
}
