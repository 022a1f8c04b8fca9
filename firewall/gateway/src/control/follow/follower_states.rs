//! The state of each follower on its way to the admin page, and the bell that wakes it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use semgate_statement::PersistenceState;
use tokio::sync::Notify;

use super::obstacle::Obstacle;

#[derive(Default)]
struct FollowerState {
    memory: Option<PersistenceState>,
    obstacle: Option<Obstacle>,
    address: Option<String>,
    bell: Arc<Notify>,
}

/// One state for each followed authority.
pub(crate) struct FollowerStates(Mutex<BTreeMap<String, FollowerState>>);

impl FollowerStates {
    pub(crate) fn new(authorities: impl IntoIterator<Item = String>) -> Self {
        let states = authorities.into_iter().map(|name| (name, FollowerState::default()));
        Self(Mutex::new(states.collect()))
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<String, FollowerState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bell of an authority's follower, which rings when there is something to look at.
    pub(super) fn bell(&self, authority: &str) -> Arc<Notify> {
        self.locked().get(authority).map(|state| Arc::clone(&state.bell)).unwrap_or_default()
    }

    /// Takes the state of the memory on disk of this authority's follower.
    pub(super) fn remembers(&self, authority: &str, memory: PersistenceState) {
        if let Some(state) = self.locked().get_mut(authority) {
            state.memory = Some(memory);
        }
    }

    /// Takes the reason why this authority is not followed now.
    pub(super) fn obstructs(&self, authority: &str, obstacle: Option<Obstacle>) {
        if let Some(state) = self.locked().get_mut(authority) {
            state.obstacle = obstacle;
        }
    }

    /// The reason why this authority is not followed now, if there is one.
    pub(crate) fn obstacle(&self, authority: &str) -> Option<Obstacle> {
        self.locked().get(authority).and_then(|state| state.obstacle.clone())
    }

    /// Takes the address at which the authority answered last.
    pub(super) fn answers_at(&self, authority: &str, address: Option<String>) {
        if let Some(state) = self.locked().get_mut(authority) {
            state.address = address;
        }
    }

    /// The address at which the authority answered last.
    pub(crate) fn address(&self, authority: &str) -> Option<String> {
        self.locked().get(authority).and_then(|state| state.address.clone())
    }

    /// The state of the memory on disk of this authority's follower.
    pub(crate) fn memory(&self, authority: &str) -> Option<PersistenceState> {
        self.locked().get(authority).and_then(|state| state.memory)
    }
}
