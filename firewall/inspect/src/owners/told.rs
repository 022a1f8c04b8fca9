//! What was told of the artifacts of tasks in text, so that text which is put behind it later is judged together with it, also on
//! another stream.

use super::{Pieces, Scope};
use crate::Delivered;
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A text; none once it is more than can be judged together.
pub(crate) type Text = Option<Arc<Pieces>>;

/// What was told of one artifact, or in one message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Telling {
    /// All of it.
    pub text: Text,
    /// What those have whom the last of it did not reach; none where nothing of it is on its way, or was lost there.
    pub without: Option<Without>,
}

/// What stands where a notification did not arrive.
#[derive(Clone, Debug)]
pub(crate) struct Without {
    /// Only the text before it; none where several may be missing, each by itself.
    pub text: Text,
    /// Notifications that are on their way.
    pub open: usize,
}

impl Telling {
    /// This, which nobody is without.
    pub(crate) const fn sure(text: Arc<Pieces>) -> Self {
        Self { text: Some(text), without: None }
    }

    /// This from now on, where `self` stays if the notification that says so does not arrive.
    pub(crate) fn unsure(&self, text: Arc<Pieces>) -> Self {
        let without = match &self.without {
            None => Without { text: self.text.clone(), open: 1 },
            Some(without) => Without { text: None, open: without.open.saturating_add(1) },
        };
        Self { text: Some(text), without: Some(without) }
    }

    /// One more notification that says what was said before is on its way.
    pub(crate) fn on_its_way(&self) -> Self {
        let mut same = self.clone();
        if let Some(without) = &mut same.without {
            without.open = without.open.saturating_add(1);
        }
        same
    }

    /// Whether it is the one that was seen, with all that may be missing.
    pub(crate) fn is(&self, seen: &Self) -> bool {
        let same = |now: &Text, then: &Text| match (now, then) {
            (Some(now), Some(then)) => Arc::ptr_eq(now, then),
            (None, None) => true,
            _ => false,
        };
        same(&self.text, &seen.text)
            && match (&self.without, &seen.without) {
                (Some(now), Some(then)) => same(&now.text, &then.text) && now.open == then.open,
                (None, None) => true,
                _ => false,
            }
    }

    /// What became of a notification that told this.
    pub(crate) fn settle(&mut self, told: &Arc<Pieces>, outcome: Delivered) {
        let (Some(text), Some(without)) = (&self.text, &mut self.without) else { return };
        let same = text.says(told);
        match outcome {
            Delivered::Yes if same => self.without = None,
            // it is never known, so that it stays as on its way
            Delivered::Unknown => {}
            Delivered::Yes => without.open = without.open.saturating_sub(1),
            Delivered::No => {
                without.open = without.open.saturating_sub(1);
                if same && without.open == 0 && without.text.is_some() {
                    *self = Self { text: without.text.take(), without: None };
                }
            }
        }
    }

    /// Bytes that count against a bound; what stands where the last of it did not arrive is less, and not counted again.
    fn len(&self) -> usize {
        self.text.as_ref().map_or(0, |text| text.len())
    }
}

/// What one task, or one stream, may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextBounds {
    /// Bytes of texts and ids.
    pub bytes: usize,
    /// Artifacts.
    pub artifacts: usize,
}

/// Texts by the id of their artifact.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    of: HashMap<Box<str>, Telling>,
    bytes: usize,
    /// Others were told that are not known any more.
    lost: bool,
}

/// There is no place for another artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

impl Texts {
    pub(crate) fn get(&self, id: &str) -> Option<&Telling> {
        self.of.get(id)
    }

    pub(crate) fn len(&self) -> usize {
        self.of.len()
    }

    /// What is told of an artifact from now on. Past the bound of bytes it is no text any more.
    ///
    /// # Errors
    /// [`TooMany`]: one artifact more than there may be.
    pub(crate) fn keep(&mut self, id: &str, telling: Telling, bounds: TextBounds) -> Result<(), TooMany> {
        let cost = |telling: &Telling| id.len().saturating_add(telling.len());
        let before = self.of.get(id).map(cost);
        if before.is_none() && self.of.len() >= bounds.artifacts {
            self.lost = true;
            return Err(TooMany);
        }
        let rest = self.bytes.saturating_sub(before.unwrap_or_default());
        let fits = rest.saturating_add(cost(&telling)) <= bounds.bytes;
        let telling = if fits { telling } else { Telling::default() };
        self.bytes = rest.saturating_add(cost(&telling));
        self.of.insert(Box::from(id), telling);
        Ok(())
    }

    /// What became of a notification that told this of an artifact.
    pub(crate) fn settle(&mut self, id: &str, told: &Arc<Pieces>, outcome: Delivered, bounds: TextBounds) {
        if let Some(mut telling) = self.of.get(id).cloned() {
            telling.settle(told, outcome);
            let _ = self.keep(id, telling, bounds); // it has its place
        }
    }
}

/// What is known of the text of one artifact.
#[derive(Clone, Debug)]
pub(crate) enum Known {
    /// None was told.
    New,
    /// Some was told, and is not known any more.
    Lost,
    /// It was told, up to here.
    Told(Telling),
}

/// Another stream of the task was faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moved;

/// What a task costs beside its texts, about.
const TASK: usize = 256;

#[derive(Default)]
struct Store {
    tasks: HashMap<Arc<str>, (u64, Texts)>,
    /// By the last use.
    order: BTreeMap<u64, Arc<str>>,
    used: u64,
    bytes: usize,
}

/// Of all tasks together, for all cores. What was not told of for longest is forgotten first; the memory of owners keeps that there
/// was something.
pub(super) struct Told {
    each: TextBounds,
    all: usize,
    store: Mutex<Store>,
}

impl Told {
    pub(super) fn new(each: TextBounds, all: usize) -> Self {
        Self { each, all, store: Mutex::default() }
    }

    /// `before`: whether text of the task was told at any time.
    pub(super) fn known(&self, scope: &Scope<'_>, task: &str, id: &str, before: bool) -> Known {
        self.locked().known(&key(scope, task), id, before)
    }

    /// The text of an artifact is this from now on, if it is still what `known` says.
    ///
    /// # Errors
    /// [`Moved`].
    pub(super) fn tell(
        &self,
        (scope, task, id): (&Scope<'_>, &str, &str),
        before: bool,
        known: &Known,
        telling: Telling,
    ) -> Result<(), Moved> {
        let mut store = self.locked();
        let key = key(scope, task);
        let same = match (store.known(&key, id, before), known) {
            (Known::New, Known::New) | (Known::Lost, Known::Lost) => true,
            (Known::Told(now), Known::Told(then)) => now.is(then),
            _ => false,
        };
        if !same {
            return Err(Moved);
        }
        store.keep(key, id, before, telling, self.each);
        while store.bytes > self.all && store.order.len() > 1 {
            store.forget_oldest();
        }
        Ok(())
    }

    /// What became of a notification that told this of an artifact.
    pub(super) fn settle(
        &self,
        (scope, task, id): (&Scope<'_>, &str, &str),
        told: &Arc<Pieces>,
        outcome: Delivered,
    ) {
        let mut store = self.locked();
        let store = &mut *store;
        if let Some((_, texts)) = store.tasks.get_mut(&*key(scope, task)) {
            let held = texts.bytes;
            texts.settle(id, told, outcome, self.each);
            store.bytes = store.bytes.saturating_sub(held).saturating_add(texts.bytes);
        }
    }

    fn locked(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    fn known(&self, key: &str, id: &str, before: bool) -> Known {
        match self.tasks.get(key) {
            Some((_, texts)) => match texts.get(id) {
                Some(telling) => Known::Told(telling.clone()),
                None if texts.lost => Known::Lost,
                None => Known::New,
            },
            None if before => Known::Lost,
            None => Known::New,
        }
    }

    fn keep(&mut self, key: String, id: &str, before: bool, telling: Telling, bounds: TextBounds) {
        self.used += 1;
        let used = self.used;
        let key: Arc<str> = Arc::from(key);
        let (last, texts) = self.tasks.entry(Arc::clone(&key)).or_insert_with(|| {
            self.bytes += TASK;
            (used, Texts { lost: before, ..Texts::default() })
        });
        self.order.remove(last);
        *last = used;
        self.order.insert(used, key);
        let held = texts.bytes;
        let _ = texts.keep(id, telling, bounds); // one too many is lost
        self.bytes = self.bytes.saturating_sub(held).saturating_add(texts.bytes);
    }

    fn forget_oldest(&mut self) {
        let Some((_, key)) = self.order.pop_first() else { return };
        if let Some((_, texts)) = self.tasks.remove(&key) {
            self.bytes = self.bytes.saturating_sub(texts.bytes).saturating_sub(TASK);
        }
    }
}

fn key(scope: &Scope<'_>, task: &str) -> String {
    format!("{}\n{task}", scope.key())
}

#[cfg(test)]
mod tests;
