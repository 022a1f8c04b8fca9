use super::*;
use Performative::{Accept, CounterPropose, Inform, Propose, Reject, Request};
use Side::{Agent, Caller};

fn answered(proposal: &Arc<Proposal>) -> Result<Option<Arc<Step>>, OutOfTurn> {
    Step::begin(Some(Arc::clone(proposal).into()), || None)
}

#[test]
fn f0_08_only_the_open_proposal_of_the_other_side_can_be_answered() {
    let (own, others) = (Proposal::new(Caller, None), Proposal::new(Agent, None));
    for says in [Accept, Reject, CounterPropose] {
        assert_eq!(turn([], says, Caller).unwrap_err(), OutOfTurn::NotOpen, "{says}: nothing is proposed");
        let refused = turn([Arc::clone(&own)], says, Caller).unwrap_err();
        assert_eq!(refused, OutOfTurn::NotOpen, "{says}: one's own proposal");
        let found = turn([Arc::clone(&own), Arc::clone(&others)], says, Caller).unwrap();
        assert!(Arc::ptr_eq(&found.unwrap(), &others), "{says}");
    }
    for says in [Inform, Request, Propose] {
        assert!(turn([Arc::clone(&others)], says, Caller).unwrap().is_none(), "{says} answers nothing");
    }
}

#[test]
fn attack_two_accepts_race_and_one_gets_it() {
    let proposal = Proposal::new(Agent, None);
    let won: usize = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| match answered(&proposal) {
                    Ok(Some(step)) => {
                        step.delivered();
                        1
                    }
                    _ => 0,
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).sum()
    });
    assert_eq!(won, 1);
    assert!(!proposal.is_open());
}

#[test]
fn what_was_not_delivered_is_given_back() {
    let proposal = Proposal::new(Agent, None);
    let step = answered(&proposal).unwrap().unwrap();
    assert!(answered(&proposal).is_err(), "taken");
    drop(step);
    assert!(proposal.is_open(), "dropped before it was sent");
    let step = answered(&proposal).unwrap().unwrap();
    step.delivered();
    assert!(answered(&proposal).is_err(), "answered");
    step.undelivered();
    assert!(proposal.is_open(), "the connection was never opened");
    let step = answered(&proposal).unwrap().unwrap();
    step.delivered();
    drop(step);
    assert!(answered(&proposal).is_err(), "and once it is delivered it stays so");
}

#[test]
fn a_proposal_that_was_not_delivered_was_never_made() {
    let made = Proposal::new(Caller, None);
    drop(Step::begin(None, || Some(Arc::clone(&made))).unwrap());
    assert!(made.is_withdrawn() && !made.awaits(Agent));
}

#[test]
fn a_proposal_of_one_task_is_not_answered_in_another() {
    let proposal = Proposal::new(Agent, Some("t-1"));
    assert!(proposal.belongs_to(Some("t-1")) && proposal.belongs_to(None));
    assert!(!proposal.belongs_to(Some("t-2")));
    assert!(Proposal::new(Agent, None).belongs_to(Some("t-2")));
}

#[test]
fn attack_what_is_given_back_twice_opens_nothing_that_another_answered() {
    let proposal = Proposal::new(Side::Agent, None);
    let first = Step::begin(Some(Arc::clone(&proposal).into()), || None).unwrap().unwrap();
    first.delivered();
    first.undelivered();
    let second = Step::begin(Some(Arc::clone(&proposal).into()), || None).unwrap().unwrap();
    second.delivered();
    first.undelivered();
    drop(first);
    assert!(!proposal.awaits(Side::Caller), "it was accepted");
}
