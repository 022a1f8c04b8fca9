//! Whose turn it is: a proposal is answered while it is open, and by the other side (F0-07, F0-08).

use semgate_contexts::Performative;

/// One end of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Who sends requests.
    Caller,
    /// The agent behind the route.
    Agent,
}

/// ACCEPT, REJECT or COUNTER_PROPOSE, and no proposal of the other side is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutOfTurn;

/// Whose proposal is open after `by` says this, if one is.
///
/// # Errors
/// [`OutOfTurn`]: only the other side's open proposal can be accepted, rejected or countered.
pub(crate) fn turn(open: Option<Side>, says: Performative, by: Side) -> Result<Option<Side>, OutOfTurn> {
    let others = open.is_some_and(|side| side != by);
    match says {
        Performative::Propose => Ok(Some(by)),
        Performative::CounterPropose if others => Ok(Some(by)),
        Performative::Accept | Performative::Reject if others => Ok(None),
        Performative::CounterPropose | Performative::Accept | Performative::Reject => Err(OutOfTurn),
        _ => Ok(open),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Performative::{Accept, CounterPropose, Inform, Propose, Reject, Request};
    use Side::{Agent, Caller};

    #[test]
    fn f0_08_only_the_open_proposal_of_the_other_side_can_be_answered() {
        for says in [Accept, Reject, CounterPropose] {
            assert_eq!(turn(None, says, Caller), Err(OutOfTurn), "{says}: nothing is proposed");
            assert_eq!(turn(Some(Caller), says, Caller), Err(OutOfTurn), "{says}: one's own proposal");
        }
        assert_eq!(turn(Some(Agent), Accept, Caller), Ok(None));
        assert_eq!(turn(Some(Agent), Reject, Caller), Ok(None));
        assert_eq!(turn(Some(Agent), CounterPropose, Caller), Ok(Some(Caller)));
    }

    #[test]
    fn what_negotiates_nothing_leaves_a_proposal_open() {
        assert_eq!(turn(Some(Agent), Inform, Caller), Ok(Some(Agent)));
        assert_eq!(turn(None, Request, Caller), Ok(None));
        assert_eq!(turn(Some(Agent), Propose, Caller), Ok(Some(Caller)));
    }
}
