//! How often one person is interrupted (F1-26).

use std::collections::{HashMap, VecDeque};

use semgate_approvals::{HoldId, HumanId};

/// Requests that a person gets one by one within an hour. 12: one in five minutes leaves time to read each.
const PER_HOUR: usize = 12;
const HOUR: u64 = 3600;
/// Seconds for which further requests are gathered into one message: a third of the common time to answer.
const GATHER: u64 = 300;
/// Requests that one message gathers. People then look at the list anyway.
const MAX_GATHERED: usize = 1_024;

/// Requests of each person.
#[derive(Debug, Default)]
pub(super) struct Pace {
    people: HashMap<HumanId, Turns>,
}

#[derive(Debug, Default)]
struct Turns {
    /// Times of the single messages of the last hour.
    sent: VecDeque<u64>,
    gathered: Vec<HoldId>,
    /// Time of the message that gathers them.
    due: u64,
}

/// Requests that one message lists.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Gathered {
    pub(super) human: HumanId,
    pub(super) ids: Vec<HoldId>,
}

impl Pace {
    /// Returns true if the person gets this request at once. Otherwise it goes into the next gathering message.
    pub(super) fn admits(&mut self, human: &HumanId, id: &HoldId, now: u64) -> bool {
        let turns = self.people.entry(human.clone()).or_default();
        while turns.sent.front().is_some_and(|at| at.saturating_add(HOUR) <= now) {
            turns.sent.pop_front();
        }
        if turns.sent.len() < PER_HOUR && turns.gathered.is_empty() {
            turns.sent.push_back(now);
            return true;
        }
        if turns.gathered.is_empty() {
            turns.due = now.saturating_add(GATHER);
        }
        if turns.gathered.len() < MAX_GATHERED {
            turns.gathered.push(id.clone());
        }
        false
    }

    /// The next second at which a gathering message is due.
    pub(super) fn next_due(&self) -> Option<u64> {
        self.people.values().filter(|turns| !turns.gathered.is_empty()).map(|turns| turns.due).min()
    }

    /// Takes the messages that are due, and forgets people whom nothing was sent for an hour.
    pub(super) fn due(&mut self, now: u64) -> Vec<Gathered> {
        let mut due = Vec::new();
        for (human, turns) in &mut self.people {
            if !turns.gathered.is_empty() && turns.due <= now {
                due.push(Gathered { human: human.clone(), ids: std::mem::take(&mut turns.gathered) });
            }
        }
        let is_recent = |turns: &Turns| turns.sent.back().is_some_and(|at| at.saturating_add(HOUR) > now);
        self.people.retain(|_, turns| is_recent(turns) || !turns.gathered.is_empty());
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a2h_attack_flood_of_requests_interrupts_a_person_twelve_times_an_hour() {
        let (mut pace, bob) = (Pace::default(), HumanId::parse("human://bob.sre").unwrap());
        let mut messages = 0;
        for n in 0..3_600_u64 {
            messages += pace.due(n).len();
            messages += usize::from(pace.admits(&bob, &HoldId::of(n.into()), n));
        }
        assert!((PER_HOUR..=24).contains(&messages), "{messages}");
        let gathered = pace.due(3_900);
        assert!(gathered[0].ids.len() <= MAX_GATHERED && gathered[0].human == bob);
        let alice = HumanId::parse("human://alice.eng").unwrap();
        assert!(pace.admits(&alice, &HoldId::of(1), 3_900), "another person is not affected");
    }

    #[test]
    fn gathered_requests_come_in_one_message_and_in_order() {
        let (mut pace, bob) = (Pace::default(), HumanId::parse("human://bob.sre").unwrap());
        for n in 0..15_u64 {
            assert_eq!(pace.admits(&bob, &HoldId::of(n.into()), 100), n < 12);
        }
        assert_eq!((pace.next_due(), pace.due(399)), (Some(400), Vec::new()));
        let ids = (12..15).map(HoldId::of).collect();
        assert_eq!(pace.due(400), [Gathered { human: bob.clone(), ids }]);
        assert_eq!(pace.next_due(), None);
        assert!(pace.admits(&bob, &HoldId::of(99), 100 + HOUR));
        pace.due(100 + 3 * HOUR);
        assert!(pace.people.is_empty(), "people of earlier hours are forgotten");
    }
}
