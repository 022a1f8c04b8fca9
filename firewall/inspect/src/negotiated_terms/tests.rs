//! What is kept, for whom, and how much of it.

use super::*;

const OF: Parties<'static> = Parties { route: "r", sender: "a", receiver: "b" };

const fn parties(route: &'static str, sender: &'static str, receiver: &'static str) -> Parties<'static> {
    Parties { route, sender, receiver }
}

fn session(id: u8, until: u64) -> InSession {
    InSession { id: [id; 32], until, model: None }
}

fn mood() -> Arc<Context> {
    meaning("my_mood", &["happy", "sad"], &Prefix::default(), "/content").unwrap()
}

fn knows(learnt: &NegotiatedTerms, of: Parties<'_>, id: u8) -> bool {
    learnt.of(of).term(&[id; 32], "my_mood").is_some()
}

#[test]
fn what_is_settled_belongs_to_its_pair_route_and_session() {
    let learnt = NegotiatedTerms::new(8, 8);
    assert!(learnt.open(OF, session(1, 100), "my_mood", 0).is_some());
    assert!(!knows(&learnt, OF, 1));
    learnt.learn(OF, session(1, 100), "my_mood", &mood(), 0);
    assert!(knows(&learnt, OF, 1));
    assert!(!knows(&learnt, OF, 2), "another session");
    for other in [parties("r", "b", "a"), parties("r", "a", "c"), parties("q", "a", "b")] {
        assert!(!knows(&learnt, other, 1), "{other:?}");
    }
}

#[test]
fn attack_nothing_is_learnt_that_was_not_asked_and_nothing_is_settled_twice() {
    let learnt = NegotiatedTerms::new(8, 8);
    learnt.learn(OF, session(1, 100), "my_mood", &mood(), 0);
    assert!(!knows(&learnt, OF, 1));
    learnt.open(OF, session(1, 100), "my_mood", 0).unwrap();
    learnt.learn(OF, session(1, 100), "my_mood", &mood(), 0);
    assert!(learnt.open(OF, session(1, 100), "my_mood", 0).is_none());
}

#[test]
fn memory_is_bounded_by_names_and_by_sessions_of_which_the_one_that_ends_first_goes() {
    let learnt = NegotiatedTerms::new(2, 2);
    assert!(learnt.open(OF, session(1, 100), "a", 0).is_some());
    assert!(learnt.open(OF, session(1, 100), "b", 0).is_some());
    assert!(learnt.open(OF, session(1, 100), "c", 0).is_none(), "a third name");
    assert!(learnt.open(OF, session(2, 50), "a", 0).is_some());
    assert!(learnt.open(parties("r", "x", "b"), session(3, 90), "a", 0).is_some());
    assert!(learnt.of(OF).asks(&[1; 32], "a").is_some());
    assert!(learnt.of(OF).asks(&[2; 32], "a").is_none(), "it would have ended first");
}

#[test]
fn attack_who_opens_many_sessions_makes_nobody_else_forget() {
    let learnt = NegotiatedTerms::new(4, 4);
    learnt.open(OF, session(1, 50), "my_mood", 0).unwrap();
    learnt.learn(OF, session(1, 50), "my_mood", &mood(), 0);
    for id in 2..20 {
        // on two routes, and each ends later than the one before
        let of = parties(if id % 2 == 0 { "r" } else { "q" }, "greedy", "b");
        assert!(learnt.open(of, session(id, 100 + u64::from(id)), "my_mood", 0).is_some());
    }
    assert!(knows(&learnt, OF, 1));
    let held =
        |of: Parties<'_>| (0..20).filter(|id| learnt.of(of).asks(&[*id; 32], "my_mood").is_some()).count();
    assert_eq!(
        held(parties("r", "greedy", "b")) + held(parties("q", "greedy", "b")),
        3,
        "the rest of the places"
    );
    // what is over makes room first
    assert!(learnt.open(parties("r", "late", "b"), session(30, 300), "my_mood", 60).is_some());
    assert!(!knows(&learnt, OF, 1));
    assert_eq!(held(parties("r", "greedy", "b")) + held(parties("q", "greedy", "b")), 3);
}

#[test]
fn a_meaning_is_a_closed_concept_of_codes_and_no_handshake() {
    let mood = mood();
    let term = mood.term("my_mood").unwrap();
    let names: Vec<_> = term.shapes().flat_map(|shape| shape.performatives().iter()).collect();
    assert!(!names.iter().any(|performative| performative.as_str() == "REQUEST"));
    let refused = meaning("HELLO", &["x"], &Prefix::default(), "/content").unwrap_err();
    assert_eq!(refused.code(), Code::ContentInvalid);
}
