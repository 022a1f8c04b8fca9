//! Which proposal an answer is for, and what is forgotten first.

use super::*;
use crate::turn::{Answers, Step};
use semgate_contexts::json;
use semgate_protocol::{Reading, TextParts, native};

fn made() -> Arc<Proposal> {
    Proposal::new(Side::Caller, None)
}

fn named(id: &str, text: &str) -> Arc<Proposal> {
    Proposal::named(Side::Caller, id, Digest::of(text.as_bytes()))
}

fn close(proposal: &Arc<Proposal>) {
    Step::begin(Some(Arc::clone(proposal).into()), || None).unwrap().unwrap().delivered();
}

fn says(names: Option<&str>, text: &str) -> Answer<'static> {
    let names = names.map(|id| &*Box::leak(Box::<str>::from(id)));
    Answer { names, says: Performative::Accept, message: Digest::of(text.as_bytes()), by: Side::Agent }
}

fn between<'p>(by: &'p str, to: &'p str, line: &'p str) -> Between<'p> {
    Between { by, to, line }
}

/// What an answer that says nothing of its own is for.
fn only(pairs: &Pairs, (by, to, line): (&str, &str, &str)) -> Result<All, OutOfTurn> {
    pairs.answered(between(by, to, line), &says(None, "new"), None)
}

fn is(found: &Result<All, OutOfTurn>, proposal: &Arc<Proposal>) -> bool {
    matches!(found.as_deref(), Ok([found]) if Arc::ptr_eq(found, proposal))
}

#[test]
fn each_proposal_is_found_between_its_two_under_its_line_until_it_is_answered() {
    let pairs = Pairs::new(8, 64);
    let proposal = made();
    pairs.propose(between("a", "b", "supplyChain"), Arc::clone(&proposal));
    for other in [("a", "c", "supplyChain"), ("b", "a", "supplyChain"), ("a", "b", "payment")] {
        assert_eq!(only(&pairs, other).unwrap_err(), OutOfTurn::NotOpen, "{other:?}");
    }
    assert!(is(&only(&pairs, ("a", "b", "supplyChain")), &proposal));
    close(&proposal);
    assert_eq!(only(&pairs, ("a", "b", "supplyChain")).unwrap_err(), OutOfTurn::NotOpen);
}

#[test]
fn of_several_proposals_an_answer_is_for_the_one_that_it_names_and_none_if_it_names_none() {
    let (pairs, here) = (Pairs::new(8, 64), between("a", "b", "l"));
    let (first, second) = (named("p-1", "pay 1"), named("p-2", "pay 2"));
    pairs.propose(here, Arc::clone(&first));
    pairs.propose(here, Arc::clone(&second));
    let answered = |names: Option<&str>, own| pairs.answered(here, &says(names, "new"), own);
    assert_eq!(answered(None, None).unwrap_err(), OutOfTurn::Several);
    assert_eq!(answered(Some("p-3"), None).unwrap_err(), OutOfTurn::Unknown, "names nothing that is known");
    assert!(is(&answered(Some("p-1"), None), &first));
    assert!(is(&answered(Some("p-1"), Some(&second)), &first), "before what its own request proposed");
    assert!(is(&answered(None, Some(&second)), &second));
    close(&first);
    assert_eq!(answered(Some("p-1"), None).unwrap_err(), OutOfTurn::NotOpen, "and no other in its place");
    assert_eq!(answered(None, Some(&first)).unwrap_err(), OutOfTurn::NotOpen);
    assert!(is(&answered(None, None), &second), "the only one that is left");
}

#[test]
fn attack_the_loser_of_a_race_answers_what_was_proposed_meanwhile() {
    let (pairs, here) = (Pairs::new(8, 64), between("a", "b", "l"));
    let (first, second) = (named("p-1", "pay 1"), named("p-2", "pay 2"));
    pairs.propose(here, Arc::clone(&first));
    let look = |text: &str| {
        let proposals = pairs.answered(here, &says(None, text), None).unwrap();
        Answers { proposals, message: Some(Digest::of(text.as_bytes())) }
    };
    // both looked while there was one
    let (winner, loser) = (look("a-1"), look("a-2"));
    pairs.propose(here, Arc::clone(&second));
    let step = Step::begin(Some(winner), || None).unwrap();
    let lost = Step::begin(Some(loser.clone()), || Some(made()));
    assert_eq!(lost.unwrap_err(), OutOfTurn::NotOpen);
    assert!(second.is_open(), "nobody answered it");
    drop(step);
    assert!(Step::begin(Some(loser), || None).is_ok(), "it is open again: the answer did not arrive");
}

#[test]
fn attack_an_answer_that_is_sent_twice_answers_the_next_proposal() {
    let (pairs, here) = (Pairs::new(8, 64), between("a", "b", "l"));
    let (first, second) = (named("p-1", "pay 1"), named("p-2", "pay 2"));
    pairs.propose(here, Arc::clone(&first));
    let accept = says(None, "accept");
    let taken = |answer: &Answer<'_>| {
        let proposals = pairs.answered(here, answer, None)?;
        Step::begin(Some(Answers { proposals, message: Some(answer.message()) }), || None)
    };
    let step = taken(&accept).unwrap().unwrap();
    pairs.propose(here, Arc::clone(&second));
    assert_eq!(taken(&accept).unwrap_err(), OutOfTurn::Repeated, "while it is on its way");
    step.delivered();
    assert_eq!(taken(&accept).unwrap_err(), OutOfTurn::Repeated);
    step.undelivered();
    // said again after it did not arrive it is for the same one, although two are open
    taken(&accept).unwrap().unwrap().delivered();
    assert!(!first.is_open() && second.is_open());
    taken(&says(None, "another")).unwrap().unwrap().delivered();
    assert!(!second.is_open());
}

#[test]
fn a_proposal_that_is_sent_twice_is_one() {
    let (pairs, here) = (Pairs::new(8, 64), between("a", "b", "l"));
    let first = pairs.propose(here, named("p-1", "pay 1"));
    for _ in 0..3 {
        assert!(Arc::ptr_eq(&pairs.propose(here, named("p-1", "pay 1")), &first));
        let found = pairs.answered(here, &says(Some("p-1"), "accept"), None);
        assert!(is(&found, &first));
        assert!(is(&only(&pairs, ("a", "b", "l")), &first));
    }
    assert_eq!(pairs.locked().held, 1);
    let elsewhere = pairs.propose(between("a", "c", "l"), named("p-1", "pay 1"));
    assert!(!Arc::ptr_eq(&elsewhere, &first), "to another agent it is another one");
}

#[test]
fn attack_a_proposal_that_is_sent_again_is_answered_again() {
    let (pairs, here) = (Pairs::new(8, 64), between("a", "b", "l"));
    let (accept, reject) = (says(Some("p-1"), "accept"), says(None, "reject"));
    let first = pairs.propose(here, named("p-1", "pay 1"));
    let taken = |answer: &Answer<'_>, own| {
        let proposals = pairs.answered(here, answer, own)?;
        Step::begin(Some(Answers { proposals, message: Some(answer.message()) }), || None)
    };
    let step = taken(&accept, None).unwrap().unwrap();
    let while_taken = pairs.propose(here, named("p-1", "pay 1"));
    assert_eq!(taken(&reject, Some(&while_taken)).unwrap_err(), OutOfTurn::NotOpen, "by its own reply");
    step.delivered();
    let after = pairs.propose(here, named("p-1", "pay 1"));
    assert_eq!(taken(&accept, None).unwrap_err(), OutOfTurn::Repeated);
    for own in [&while_taken, &after] {
        assert_eq!(taken(&reject, Some(own)).unwrap_err(), OutOfTurn::NotOpen);
        assert!(Arc::ptr_eq(own, &first));
    }
    assert_eq!(pairs.locked().held, 1);
}

#[test]
fn attack_a_proposal_that_is_sent_again_in_vain_takes_back_the_one_that_arrived() {
    let (pairs, here) = (Pairs::new(8, 64), between("a", "b", "l"));
    let said = || Step::begin(None, || Some(pairs.propose(here, named("p-1", "pay 1")))).unwrap().unwrap();
    let (first, again) = (said(), said());
    let proposal = Arc::clone(first.makes().unwrap());
    first.delivered();
    drop(again);
    drop(said());
    assert!(is(&only(&pairs, ("a", "b", "l")), &proposal), "its first message arrived");
    first.undelivered();
    assert_eq!(only(&pairs, ("a", "b", "l")).unwrap_err(), OutOfTurn::NotOpen, "none of its messages did");
    let anew = said();
    assert!(is(&only(&pairs, ("a", "b", "l")), anew.makes().unwrap()));
    assert!(!Arc::ptr_eq(anew.makes().unwrap(), &proposal));
    // whichever of two arrives
    let again = said();
    anew.undelivered();
    again.delivered();
    assert!(is(&only(&pairs, ("a", "b", "l")), again.makes().unwrap()));
}

#[test]
fn attack_another_proposal_takes_the_place_of_the_one_that_is_accepted() {
    let (pairs, here) = (Pairs::new(8, 64), between("a", "b", "l"));
    let (seen, exchanged) = (named("p-1", "pay 1"), named("p-1", "pay 1000"));
    pairs.propose(here, Arc::clone(&seen));
    pairs.propose(here, Arc::clone(&exchanged));
    for (names, why) in [(Some("p-1"), OutOfTurn::SameName), (None, OutOfTurn::Several)] {
        let found = pairs.answered(here, &says(names, "accept"), None);
        assert_eq!(found.unwrap_err(), why, "{names:?}");
    }
    let accept = says(Some("p-1"), "accept");
    let taken = |proposal: &Arc<Proposal>| {
        let answers = Answers { proposals: vec![Arc::clone(proposal)], message: Some(accept.message()) };
        Step::begin(Some(answers), || None).unwrap().unwrap().delivered();
    };
    taken(&seen);
    close(&exchanged);
    // an id that is used again once nothing is open under it is a new proposal, and not for what was said before
    let next = pairs.propose(here, named("p-1", "pay 2"));
    assert_eq!(pairs.answered(here, &accept, None).unwrap_err(), OutOfTurn::Repeated);
    assert!(is(&pairs.answered(here, &says(Some("p-1"), "accept the next"), None), &next));
}

#[test]
fn attack_an_answer_that_names_a_proposal_which_is_not_known_here_answers_another() {
    let (pairs, here) = (Pairs::new(8, 64), between("a", "b", "l"));
    let there = [between("c", "b", "l"), between("a", "b", "m"), between("a", "c", "l")];
    for (n, there) in there.into_iter().enumerate() {
        pairs.propose(there, named(&format!("there-{n}"), "pay"));
    }
    let (open, own) = (named("p-1", "pay 1"), named("own-1", "pay 2"));
    pairs.propose(here, Arc::clone(&open));
    for names in ["there-0", "there-1", "there-2", "forgotten", "", "p-10", "re-p-1"] {
        for own in [None, Some(&own)] {
            let found = pairs.answered(here, &says(Some(names), "accept"), own);
            assert_eq!(found.unwrap_err(), OutOfTurn::Unknown, "{names}");
        }
    }
    let found = pairs.answered(here, &says(Some("own-1"), "accept"), Some(&own));
    assert!(is(&found, &own), "what its own request proposed is known, although it is held no more");
    assert!(open.is_open());
}

#[test]
fn two_proposals_under_one_name_are_rejected_together_and_all_or_none() {
    let (pairs, here) = (Pairs::new(8, 64), between("a", "b", "l"));
    let both = [named("k-1", "pay 1"), named("k-1", "pay 2")];
    both.iter().for_each(|one| drop(pairs.propose(here, Arc::clone(one))));
    let reject = Answer { says: Performative::Reject, ..says(Some("k-1"), "reject") };
    let found = || {
        let proposals = pairs.answered(here, &reject, None)?;
        Ok(Answers { proposals, message: Some(reject.message()) })
    };
    let looked: Result<_, OutOfTurn> = found();
    let second = Step::begin(Some(Arc::clone(&both[1]).into()), || None).unwrap().unwrap();
    assert_eq!(Step::begin(Some(looked.unwrap()), || None).unwrap_err(), OutOfTurn::NotOpen);
    assert!(both[0].is_open(), "one of them is somebody else's: it is given back");
    drop(second);
    drop(Step::begin(Some(found().unwrap()), || None).unwrap());
    assert!(both.iter().all(|one| one.is_open()), "it did not arrive");
    Step::begin(Some(found().unwrap()), || None).unwrap().unwrap().delivered();
    assert!(both.iter().all(|one| one.is_over()));
    assert_eq!(found().unwrap_err(), OutOfTurn::Repeated);
}

/// By what a transfer of this amount is known again.
fn transfers(amount: &str) -> Digest {
    let text = format!(
        r#"{{"protocol": "L8/1.0", "message_id": "k-1", "performative": "PROPOSE", "sender_id": "a", "receiver_id": "b",
            "context": "urn:contexts:payment:v1.1", "content": {{"concept_type": "transfer", "amount": {amount}}}}}"#
    );
    let json = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
    let reading = Reading {
        extension: "",
        max_concepts: 1,
        admit: TextParts::default(),
        tenant: None,
        meta: semgate_protocol::MetaKeys::NONE,
        untyped: false,
        formats: &[],
    };
    same(&native::read(&json, &reading).unwrap())
}

#[test]
fn attack_of_two_proposals_under_one_name_whose_amounts_have_one_double_the_other_is_accepted() {
    let (one, other) = ("4398046511104.0001", "4398046511104.0002");
    assert_eq!(one.parse::<f64>().unwrap().to_bits(), other.parse::<f64>().unwrap().to_bits());
    let pairs = Pairs::new(8, 8);
    for amount in [one, other] {
        let proposal = Proposal::named(Side::Caller, "k-1", transfers(amount));
        let _ = pairs.propose(between("a", "b", "payment"), proposal);
    }
    let found = pairs.answered(between("a", "b", "payment"), &says(Some("k-1"), "yes"), None);
    assert_eq!(found.unwrap_err(), OutOfTurn::SameName);
    // however a number is written it is one
    for (amount, same) in [("120", "1.2e2"), ("120.0", "120"), ("0.10", "0.1"), ("-0", "0.0")] {
        assert_eq!(transfers(amount), transfers(same), "{amount} and {same}");
    }
    // and what two readers could take for different numbers is read by nobody
    for amount in ["9007199254740993", "1e400", "0.123456789012345678"] {
        assert!(json::read(amount.as_bytes(), &json::Limits::default()).is_err(), "{amount}");
    }
}

#[test]
fn who_proposes_too_much_forgets_its_own_answered_ones_first() {
    let pairs = Pairs::new(4, 8);
    let kept = made();
    pairs.propose(between("b", "x", "l"), Arc::clone(&kept));
    let open = made();
    pairs.propose(between("a", "x", "l"), Arc::clone(&open));
    for _ in 0..3 {
        let over = made();
        pairs.propose(between("a", "x", "l"), Arc::clone(&over));
        close(&over);
    }
    pairs.propose(between("a", "x", "m"), made());
    assert!(is(&only(&pairs, ("a", "x", "l")), &open), "an answered one made room");
    assert_eq!(pairs.locked().by["a"].iter().filter(|made| made.proposal.is_over()).count(), 2, "the oldest");
    for _ in 0..100 {
        pairs.propose(between("a", "x", "m"), made());
    }
    assert!(only(&pairs, ("a", "x", "l")).is_err(), "the oldest of one's own is forgotten");
    for n in 0..100 {
        pairs.propose(between(&format!("s-{}", n % 2), "x", "m"), made());
    }
    assert!(pairs.locked().held <= 8);
    assert!(only(&pairs, ("b", "x", "l")).is_ok(), "and nobody else's, while one holds more");
}

#[test]
fn attack_one_agent_makes_another_forget_what_it_proposed_to_a_third() {
    // the bound of each agent, and the bound of all
    for pairs in [Pairs::new(256, 65_536), Pairs::new(65_536, 256)] {
        let kept = made();
        pairs.propose(between("agent", "x", "l"), Arc::clone(&kept));
        let mut last = made();
        for n in 0..1_000 {
            last = named(&format!("p-{n}"), "pay");
            pairs.propose(between("agent", "z", "l"), Arc::clone(&last));
        }
        assert!(is(&only(&pairs, ("agent", "x", "l")), &kept), "x was told of one");
        let newest = pairs.answered(between("agent", "z", "l"), &says(Some("p-999"), "accept"), None);
        assert!(is(&newest, &last));
        let open = pairs.locked();
        assert_eq!(open.held, open.by["agent"].len());
        assert!(open.held <= 256, "{}", open.held);
    }
}
