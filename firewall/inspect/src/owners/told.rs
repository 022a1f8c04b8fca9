//! What was told of the artifacts of tasks in text, so that text which is put behind it later is judged together with it, also on
//! another stream.

use super::{By, Held, Less, Most, Pieces, Reader, Scope, Standing};
use crate::{Delivered, InspectLimits};
use std::{
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

/// What one reader was told of one artifact, or in one message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Telling {
    /// All of it; none once it is more than can be judged together.
    pub text: Option<Held>,
    /// What the reader has whom the last of it did not reach; none where nothing of it is on its way, or was lost there.
    pub without: Option<Without>,
}

/// What stands where a notification did not arrive.
#[derive(Clone, Debug)]
pub(crate) struct Without {
    /// Only the text before it; none where several may be missing, each by itself.
    pub text: Option<Held>,
    /// Notifications that are on their way.
    pub open: usize,
}

impl Telling {
    /// This, which the reader is not without.
    pub(crate) const fn sure(text: Held) -> Self {
        Self { text: Some(text), without: None }
    }

    /// What the reader was told by itself.
    pub(crate) fn own(&self) -> Option<&Arc<Pieces>> {
        self.text.as_ref()?.own()
    }

    /// This from now on, where `self` stays if the notification that says so does not arrive.
    pub(crate) fn unsure(&self, text: Held) -> Self {
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

    /// What became of a notification that told this.
    pub(crate) fn settle(&mut self, told: &Pieces, outcome: Delivered) {
        let same = self.own().is_some_and(|own| own.says(told));
        let (Some(_), Some(without)) = (&self.text, &mut self.without) else { return };
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

    /// It was told, as the last of all there is.
    pub(crate) fn told(&mut self, at: u64) {
        self.text.iter_mut().for_each(|text| text.told(at));
    }
}

/// What is kept within a bound of bytes.
pub(crate) trait Kept {
    /// Bytes that count.
    fn len(&self) -> usize;
    /// Gives up some of it.
    fn less(&mut self, less: Less);
    /// Gives up all of it.
    fn lose(&mut self);
}

impl Kept for Telling {
    /// What stands where the last of it did not arrive is less, and not counted again.
    fn len(&self) -> usize {
        self.text.as_ref().map_or(0, Held::len)
    }

    fn less(&mut self, less: Less) {
        self.text.iter_mut().for_each(|text| match less {
            Less::Mixed => text.thin(0),
            Less::Middle => {}
            Less::Begun => text.spare(),
        });
    }

    fn lose(&mut self) {
        *self = Self::default();
    }
}

/// How often as much is kept of a task or a stream as is judged together at once: what readers of two places have who are behind each other is longer
/// than either has.
const KEPT: usize = 2;

/// What one task, or one stream, may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextBounds {
    /// Bytes of texts and ids.
    pub bytes: usize,
    /// Artifacts.
    pub artifacts: usize,
    /// Versions of one.
    pub versions: Most,
}

impl TextBounds {
    pub(crate) const fn of(limits: &InspectLimits) -> Self {
        let versions =
            Most { versions: limits.told_versions, mixed: limits.told_mixed, order: limits.told_order };
        let bytes = limits.appended_text.saturating_mul(KEPT);
        Self { bytes, artifacts: limits.text_artifacts, versions }
    }
}

/// Texts by the id of their artifact.
#[derive(Debug)]
pub(crate) struct Texts<T> {
    of: HashMap<Box<str>, T>,
    bytes: usize,
    /// Others were told that are not known any more.
    lost: bool,
}

impl<T> Default for Texts<T> {
    fn default() -> Self {
        Self { of: HashMap::new(), bytes: 0, lost: false }
    }
}

/// There is no place for another artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

impl<T: Kept> Texts<T> {
    pub(crate) fn get(&self, id: &str) -> Option<&T> {
        self.of.get(id)
    }

    pub(crate) fn len(&self) -> usize {
        self.of.len()
    }

    /// What is told of an artifact from now on. Past the bound of bytes what others go on from is given up, and then this.
    ///
    /// # Errors
    /// [`TooMany`]: one artifact more than there may be.
    pub(crate) fn keep(&mut self, id: &str, mut kept: T, bounds: TextBounds) -> Result<(), TooMany> {
        let cost = |id: &str, kept: &T| id.len().saturating_add(kept.len());
        let before = self.of.remove(id);
        if before.is_none() && self.of.len() >= bounds.artifacts {
            self.lost = true;
            return Err(TooMany);
        }
        let mut rest = self.bytes.saturating_sub(before.map_or(0, |before| cost(id, &before)));
        for less in [Less::Mixed, Less::Middle, Less::Begun] {
            if rest.saturating_add(cost(id, &kept)) > bounds.bytes {
                self.of.values_mut().for_each(|kept| kept.less(less));
                rest = self.of.iter().map(|(id, kept)| cost(id, kept)).sum();
                kept.less(less);
            }
        }
        if rest.saturating_add(cost(id, &kept)) > bounds.bytes {
            kept.lose();
        }
        self.bytes = rest.saturating_add(cost(id, &kept));
        self.of.insert(Box::from(id), kept);
        Ok(())
    }

    /// Settles what is known of an artifact.
    pub(crate) fn settle(&mut self, id: &str, bounds: TextBounds, settle: impl FnOnce(&mut T))
    where
        T: Clone,
    {
        if let Some(mut kept) = self.of.get(id).cloned() {
            settle(&mut kept);
            let _ = self.keep(id, kept, bounds); // it has its place
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
    Told(Standing),
}

/// Another stream of the task was faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moved;

/// What a task costs beside its texts, about.
const TASK: usize = 256;

#[derive(Default)]
struct Store {
    tasks: HashMap<Arc<str>, (u64, Texts<Standing>)>,
    /// By the last use.
    order: BTreeMap<u64, Arc<str>>,
    used: u64,
    bytes: usize,
}

/// Tasks share turns by what their names come to: 64, so that those whose texts are told at once seldom wait for each other.
const TURNS: usize = 64;

/// The only one who tells text of a task, and of those that share its turn.
pub(crate) struct Turn<'t> {
    _alone: RwLockWriteGuard<'t, ()>,
}

/// Of all tasks together, for all cores. What was not told of for longest is forgotten first; the memory of owners keeps that there
/// was something.
pub(super) struct Told {
    each: TextBounds,
    all: usize,
    store: Mutex<Store>,
    turns: [RwLock<()>; TURNS],
    hasher: RandomState,
}

impl Told {
    pub(super) fn new(each: TextBounds, all: usize) -> Self {
        let turns = std::array::from_fn(|_| RwLock::default());
        Self { each, all, store: Mutex::default(), turns, hasher: RandomState::new() }
    }

    /// Waits until nobody tells anything of the task, and keeps others from it.
    pub(super) fn turn(&self, scope: &Scope<'_>, task: &str) -> Turn<'_> {
        Turn { _alone: self.turn_of(scope, task).write().unwrap_or_else(PoisonError::into_inner) }
    }

    /// Waits until nobody has a turn of its own.
    pub(super) fn among_others(&self, scope: &Scope<'_>, task: &str) -> RwLockReadGuard<'_, ()> {
        self.turn_of(scope, task).read().unwrap_or_else(PoisonError::into_inner)
    }

    fn turn_of(&self, scope: &Scope<'_>, task: &str) -> &RwLock<()> {
        let [first, rest @ ..] = &self.turns;
        let at = usize::try_from(self.hasher.hash_one(key(scope, task)) % TURNS as u64);
        at.ok().and_then(|at| rest.get(at)).unwrap_or(first)
    }

    /// `before`: whether text of the task was told at any time.
    pub(super) fn known(&self, scope: &Scope<'_>, task: &str, id: &str, before: bool) -> Known {
        self.locked().known(&key(scope, task), id, before)
    }

    /// Somebody has this of an artifact from now on, if what it was judged with is still all that `known` says; what is told whole was judged with
    /// nothing. Returns when that was; none where nothing is known to put it behind.
    ///
    /// # Errors
    /// [`Moved`].
    pub(super) fn tell(
        &self,
        (scope, task, id): (&Scope<'_>, &str, &str),
        before: bool,
        known: Option<&Known>,
        (by, held): (By<'_>, &Held),
    ) -> Result<Option<u64>, Moved> {
        let mut store = self.locked();
        let key = key(scope, task);
        let mut standing = match (store.known(&key, id, before), known) {
            (Known::Lost, Some(Known::Lost)) => return Ok(None),
            (Known::New, None | Some(Known::New)) => Standing::default(),
            (Known::Lost, None) => Standing::forgotten(),
            (Known::Told(now), None) => now,
            (Known::Told(now), Some(Known::Told(then))) if !now.moved(then, held) => now,
            _ => return Err(Moved),
        };
        store.used += 1;
        let at = store.used;
        standing.tell(at, by, held, self.each.versions);
        store.keep(key, id, before, standing, self.each);
        while store.bytes > self.all && store.order.len() > 1 {
            store.forget_oldest();
        }
        Ok(Some(at))
    }

    /// What became of a notification that told a reader these texts of an artifact.
    pub(super) fn settle(
        &self,
        (scope, task, id): (&Scope<'_>, &str, &str),
        reader: &Reader,
        told: &[Arc<Pieces>],
        outcome: Delivered,
    ) {
        let mut store = self.locked();
        let store = &mut *store;
        if let Some((_, texts)) = store.tasks.get_mut(&*key(scope, task)) {
            let held = texts.bytes;
            texts.settle(id, self.each, |standing| standing.settle(reader, told, outcome));
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
                Some(standing) => Known::Told(standing.clone()),
                None if texts.lost => Known::Lost,
                None => Known::New,
            },
            None if before => Known::Lost,
            None => Known::New,
        }
    }

    fn keep(&mut self, key: String, id: &str, before: bool, standing: Standing, bounds: TextBounds) {
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
        let _ = texts.keep(id, standing, bounds); // one too many is lost
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
