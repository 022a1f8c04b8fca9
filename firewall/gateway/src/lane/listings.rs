//! Who lists tools at the moment.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use tokio::sync::Mutex;

/// Who lists at the moment, on one core: each caller by itself, so that nobody waits for a list that a server owes to somebody else.
#[derive(Debug, Default)]
pub(crate) struct Listings(RefCell<HashMap<Box<str>, Weak<Mutex<()>>>>);

impl Listings {
    /// The turn of a caller. Turns that nobody waits for are forgotten, so there are never more than callers under way.
    pub(crate) fn of(&self, caller: &str) -> Rc<Mutex<()>> {
        let mut held = self.0.borrow_mut();
        if let Some(turn) = held.get(caller).and_then(Weak::upgrade) {
            return turn;
        }
        held.retain(|_, turn| turn.strong_count() > 0);
        let turn = Rc::new(Mutex::new(()));
        held.insert(caller.into(), Rc::downgrade(&turn));
        turn
    }
}
