//! The text so far of each push target.

use crate::stream::StreamState;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Push targets with remembered text: 256, each with a small multiple of `appended_text` at most. Nothing is
/// appended to the text of a forgotten target until a notification carries it whole.
const COURSES: usize = 256;

/// The text so far of each push target, by token. The target that was notified first is forgotten first.
#[derive(Debug, Default)]
pub(crate) struct Courses(Mutex<Kept>);

#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) states: HashMap<String, StreamState>,
    order: VecDeque<String>,
}

impl Courses {
    pub(super) fn locked(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    pub(super) fn of(&mut self, token: &str) -> &mut StreamState {
        if !self.states.contains_key(token) {
            while self.order.len() >= COURSES {
                if let Some(gone) = self.order.pop_front() {
                    self.states.remove(&gone);
                }
            }
            self.order.push_back(token.to_owned());
        }
        self.states.entry(token.to_owned()).or_default()
    }
}
