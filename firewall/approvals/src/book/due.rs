//! Changes that time causes.

use super::Book;
use crate::{End, Event, HoldState};

impl Book {
    /// The next second at which something is due.
    pub fn next_due(&self) -> Option<u64> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Everything that is due: expiries, escalations and lapsed approvals. Silence denies.
    pub fn due(&self, now: u64) -> Vec<Event> {
        let due = self.due.iter().take_while(|(at, _)| *at <= now);
        due.filter_map(|(_, id)| {
            let hold = self.holds.get(id)?;
            let ended = |end, why: &str| Event::Ended { id: id.clone(), end, why: why.to_owned() };
            Some(match hold.state {
                HoldState::Approved => ended(End::Lapsed, "the approval was not used in time"),
                _ if now > hold.expires_at => ended(End::Expired, "nobody answered in time"),
                _ => Event::Escalated { id: id.clone(), after: hold.next_escalation()? },
            })
        })
        .collect()
    }
}
