//! What was told of the artifacts of tasks in text, so that text which is put behind it later is judged together with it, also on
//! another stream.

use super::{Pieces, Scope};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A text; none once it is more than can be judged together.
pub(crate) type Text = Option<Arc<Pieces>>;

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
    of: HashMap<Box<str>, Text>,
    bytes: usize,
    /// Others were told that are not known any more.
    lost: bool,
}

/// There is no place for another artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

impl Texts {
    pub(crate) fn get(&self, id: &str) -> Option<&Text> {
        self.of.get(id)
    }

    pub(crate) fn len(&self) -> usize {
        self.of.len()
    }

    /// The text of an artifact from now on. Past the bound of bytes it is no text any more.
    ///
    /// # Errors
    /// [`TooMany`]: one artifact more than there may be.
    pub(crate) fn keep(&mut self, id: &str, text: Text, bounds: TextBounds) -> Result<(), TooMany> {
        let cost = |text: &Text| id.len().saturating_add(text.as_ref().map_or(0, |text| text.len()));
        let before = self.of.get(id).map(cost);
        if before.is_none() && self.of.len() >= bounds.artifacts {
            self.lost = true;
            return Err(TooMany);
        }
        let rest = self.bytes.saturating_sub(before.unwrap_or_default());
        let text =
            text.filter(|text| rest.saturating_add(id.len()).saturating_add(text.len()) <= bounds.bytes);
        self.bytes = rest.saturating_add(cost(&text));
        self.of.insert(Box::from(id), text);
        Ok(())
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
    Told(Text),
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
        text: Text,
    ) -> Result<(), Moved> {
        let mut store = self.locked();
        let key = key(scope, task);
        let same = match (store.known(&key, id, before), known) {
            (Known::New, Known::New) | (Known::Lost, Known::Lost) => true,
            (Known::Told(Some(now)), Known::Told(Some(then))) => Arc::ptr_eq(&now, then),
            (Known::Told(None), Known::Told(None)) => true,
            _ => false,
        };
        if !same {
            return Err(Moved);
        }
        store.keep(key, id, before, text, self.each);
        while store.bytes > self.all && store.order.len() > 1 {
            store.forget_oldest();
        }
        Ok(())
    }

    fn locked(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    fn known(&self, key: &str, id: &str, before: bool) -> Known {
        match self.tasks.get(key) {
            Some((_, texts)) => match texts.get(id) {
                Some(text) => Known::Told(text.clone()),
                None if texts.lost => Known::Lost,
                None => Known::New,
            },
            None if before => Known::Lost,
            None => Known::New,
        }
    }

    fn keep(&mut self, key: String, id: &str, before: bool, text: Text, bounds: TextBounds) {
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
        let _ = texts.keep(id, text, bounds); // one too many is lost
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
mod tests {
    use super::*;

    const EACH: TextBounds = TextBounds { bytes: 20, artifacts: 2 };

    fn text_of(text: &str) -> Text {
        Some(Arc::new(Pieces::of([text])))
    }

    fn tell(told: &Told, task: &str, id: &str, text: &str) {
        let scope = Scope::new("w", None);
        let known = told.known(&scope, task, id, true);
        told.tell((&scope, task, id), true, &known, text_of(text)).unwrap();
    }

    #[test]
    fn what_was_forgotten_is_lost_and_not_new() {
        let told = Told::new(EACH, 2 * TASK + 30);
        let scope = Scope::new("w", None);
        let known = |task: &str, id: &str, before| told.known(&scope, task, id, before);
        assert!(matches!(known("t-1", "a", false), Known::New));
        tell(&told, "t-1", "a", "one");
        tell(&told, "t-2", "a", "two");
        assert!(matches!(known("t-1", "a", true), Known::Told(Some(text)) if text.joined("") == "one"));
        tell(&told, "t-3", "a", "three");
        assert!(matches!(known("t-1", "a", true), Known::Lost), "the oldest");
        tell(&told, "t-1", "b", "again");
        assert!(
            matches!(known("t-1", "a", true), Known::Lost),
            "also when something of the task is known again"
        );
        let tenant = Scope::new("w", Some("t-1"));
        assert!(matches!(told.known(&tenant, "a", "b", false), Known::New));
    }

    #[test]
    fn artifacts_and_their_ids_are_bounded() {
        let mut texts = Texts::default();
        texts.keep("a", text_of("0123456789"), EACH).unwrap();
        texts.keep("an-id-of-ten", text_of(""), EACH).unwrap();
        assert!(texts.get("an-id-of-ten").unwrap().is_none(), "its id alone is too much");
        assert_eq!(texts.keep("c", None, EACH), Err(TooMany));
        texts.keep("a", text_of("0"), EACH).unwrap();
        assert_eq!((texts.len(), texts.bytes), (2, 14));
    }

    #[test]
    fn attack_two_streams_of_a_task_at_once() {
        let told = Told::new(EACH, 1_000);
        let scope = Scope::new("w", None);
        let at = (&scope, "t-1", "a");
        tell(&told, "t-1", "a", "x");
        let seen = told.known(&scope, "t-1", "a", true);
        told.tell(at, true, &seen, text_of("xy")).unwrap();
        assert_eq!(told.tell(at, true, &seen, text_of("xz")), Err(Moved), "judged behind less than was told");
    }
}
