//! Checkpoints that gateways show each other: what is accepted here, for others to fetch from the admin address, and what others accepted,
//! on its way to the follower that compares it. An authority that shows two histories cannot know whom its readers talk to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use semgate_contexts::json::{self, Limits};
use semgate_statement::PersistenceState;
use serde_json::{Value, json};
use tokio::sync::Notify;

/// Checkpoints of one authority that wait to be compared: more than one each from the most peers that there can be.
const MAX_OFFERED: usize = 64;
/// The longest list of checkpoints that is read: 64 authorities with checkpoints of 16 KiB.
pub(crate) const MAX_LIST_BYTES: usize = 1024 * 1024;

/// A checkpoint that another gateway accepted, as it was signed.
pub(crate) struct Offered {
    /// What the operator calls the other gateway.
    pub(crate) from: String,
    pub(crate) note: String,
}

#[derive(Default)]
struct Place {
    accepted: Option<String>,
    split: bool,
    memory: Option<PersistenceState>,
    offered: Vec<Offered>,
    bell: Arc<Notify>,
}

/// One place for each followed authority.
pub(crate) struct Exchange(Mutex<BTreeMap<String, Place>>);

impl Exchange {
    pub(crate) fn new(authorities: impl IntoIterator<Item = String>) -> Self {
        Self(Mutex::new(authorities.into_iter().map(|name| (name, Place::default())).collect()))
    }

    fn places(&self) -> MutexGuard<'_, BTreeMap<String, Place>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rung when there is something to look at.
    pub(super) fn bell(&self, authority: &str) -> Arc<Notify> {
        self.places().get(authority).map(|place| Arc::clone(&place.bell)).unwrap_or_default()
    }

    /// What the follower of an authority accepted last, and whether that authority contradicted itself.
    pub(super) fn accepted(&self, authority: &str, note: Option<&str>, split: bool) {
        if let Some(place) = self.places().get_mut(authority) {
            place.accepted = note.map(str::to_owned);
            place.split = split;
        }
    }

    /// What others accepted since the last call.
    pub(super) fn take(&self, authority: &str) -> Vec<Offered> {
        self.places().get_mut(authority).map(|place| std::mem::take(&mut place.offered)).unwrap_or_default()
    }

    /// Whether this authority contradicted itself.
    pub(crate) fn is_split(&self, authority: &str) -> Option<&'static str> {
        self.places().get(authority).filter(|place| place.split).map(|_| "contradicted itself")
    }

    /// Takes the state of the memory on disk of this authority's follower.
    pub(super) fn remembers(&self, authority: &str, memory: PersistenceState) {
        if let Some(place) = self.places().get_mut(authority) {
            place.memory = Some(memory);
        }
    }

    /// The state of the memory on disk of this authority's follower.
    pub(crate) fn memory(&self, authority: &str) -> Option<PersistenceState> {
        self.places().get(authority).and_then(|place| place.memory)
    }

    /// The list for other gateways: `{"checkpoints": {<authority>: <signed note>}}`.
    pub(crate) fn list(&self) -> Value {
        let places = self.places();
        let accepted = places.iter().filter_map(|(name, place)| Some((name, place.accepted.as_ref()?)));
        let accepted: serde_json::Map<String, Value> =
            accepted.map(|(name, note)| (name.clone(), note.as_str().into())).collect();
        json!({ "checkpoints": accepted })
    }

    /// Takes the list of another gateway. What it says of authorities that are not followed here is passed over. Answers how many are on
    /// their way to a follower; none if it is no such list.
    pub(crate) fn offer(&self, from: &str, list: &[u8]) -> Option<usize> {
        let limits =
            Limits { max_bytes: MAX_LIST_BYTES, max_string_bytes: MAX_LIST_BYTES, ..Limits::default() };
        let list = json::read(list, &limits).ok()?;
        let list = list.as_object()?.get("checkpoints")?.as_object()?;
        let mut taken = 0;
        let mut places = self.places();
        for (name, note) in list.iter() {
            let Some(place) = places.get_mut(name) else { continue };
            let note = note.as_str()?;
            if place.accepted.as_deref() != Some(note) && place.offered.len() < MAX_OFFERED {
                place.offered.push(Offered { from: from.to_owned(), note: note.to_owned() });
                place.bell.notify_one();
            }
            taken += 1;
        }
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_followed_and_differs_waits_to_be_compared() {
        let exchange = Exchange::new(["a.test".to_owned(), "b.test".to_owned()]);
        exchange.accepted("a.test", Some("one"), false);
        assert_eq!(exchange.list(), json!({"checkpoints": {"a.test": "one"}}));
        let list = json!({"checkpoints": {"a.test": "one", "b.test": "two", "c.test": "three"}}).to_string();
        assert_eq!(exchange.offer("other", list.as_bytes()), Some(2));
        assert!(exchange.take("a.test").is_empty());
        let offered = exchange.take("b.test");
        assert_eq!((offered.len(), offered[0].from.as_str(), offered[0].note.as_str()), (1, "other", "two"));
        assert!(exchange.take("b.test").is_empty());
        for wrong in ["", "{}", r#"{"checkpoints":[]}"#, r#"{"checkpoints":{"a.test":1}}"#] {
            assert_eq!(exchange.offer("other", wrong.as_bytes()), None, "{wrong}");
        }
        for _ in 0..1000 {
            exchange.offer("other", list.as_bytes());
        }
        assert_eq!(exchange.take("b.test").len(), MAX_OFFERED);
    }
}
