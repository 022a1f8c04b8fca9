//! Locks for tool lists in progress.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use tokio::sync::Mutex;

/// Tool lists in progress on one core, separate for each caller, so that no caller waits for another's list.
#[derive(Debug, Default)]
pub(crate) struct Listings(RefCell<HashMap<Box<str>, Weak<Mutex<()>>>>);

impl Listings {
    /// Lock of a caller. Unused locks are dropped, so there are at most as many as active callers.
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
