//! What the readers of one artifact may hold of it: each what it was told by itself, and that behind what was told elsewhere since.

use super::{Kept, Pieces};
use crate::Delivered;
use std::{
    cmp::Reverse,
    sync::{Arc, Weak},
};

/// One who reads in one place: a stream, or a target of notifications.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader(Arc<()>);

/// Of a text that its place told from the middle.
const MIDDLE: usize = 1;

/// For each other place that a reader went on in.
const GONE_ON: usize = 2;

/// Where something is told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum By<'r> {
    /// In an answer, which whoever asked has beside anything else.
    Answer,
    /// On a stream.
    Stream(&'r Reader),
    /// In a notification, which may not arrive.
    Post(&'r Reader),
}

/// Where a version comes from. Of two that are one text the first counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    /// The place told it, with what it began behind.
    Own,
    /// The same of a place that begins in the middle, by who read nothing before.
    Alone,
    /// The entry of what was told elsewhere, which it goes on from.
    Elsewhere(u64),
    /// What passed everywhere: the next time it is another one.
    Order,
}

/// How much of it is given up.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Less {
    /// What readers have who went on in another place.
    Mixed,
    /// What places told that began in the middle.
    Middle,
    /// What others go on from.
    Begun,
}

/// One text that a reader may hold.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub text: Arc<Pieces>,
    /// When it was last told from its beginning; 0 until that is known.
    begun: u64,
    origin: Origin,
    /// 0 for what one place told from its beginning, 1 from its middle, and 2 more for each other place that its reader went on in. Of more than are
    /// remembered those of the most places are given up.
    places: usize,
    /// It began as the beginning of another one, or that of it, so that it is given up where that is over, and where bytes are short.
    near: bool,
    /// What who reads everywhere has, in the order in which it passed; never given up.
    order: bool,
}

impl Version {
    /// Whether its reader went on in two places or more, and left out what others told meanwhile.
    const fn is_mixed(&self) -> bool {
        self.places > GONE_ON && !self.order
    }

    /// Becomes one of these, or one with what is the same text among them.
    fn join(self, all: &mut Vec<Version>) {
        match all.iter_mut().find(|known| known.text == self.text) {
            Some(known) => {
                known.origin = known.origin.min(self.origin);
                known.places = known.places.min(self.places);
                known.near &= self.near;
                known.order |= self.order;
            }
            None => all.push(self),
        }
    }
}

/// How much is remembered of what readers may hold of one artifact.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Most {
    /// Texts that were told in one place, and what may be put behind one of them in another. Nothing is put behind more.
    pub versions: usize,
    /// Texts of readers who went on in more places than that, and beside them texts that one place told from their middle. Past it those of the most
    /// places are given up, and the oldest.
    pub mixed: usize,
    /// Bytes of what passed in all places, once that is not what one of them told.
    pub order: usize,
}

/// What one reader may hold, what it was told by itself first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    versions: Vec<Version>,
    /// What was told elsewhere after this is news.
    seen: u64,
}

/// Why it is not known what text is put behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beyond {
    /// Some of it is not known any more.
    Forgotten,
    /// There are more versions than are remembered.
    Versions,
}

impl Held {
    /// A text that is told whole.
    pub(crate) fn whole(text: impl Into<Arc<Pieces>>) -> Self {
        let version = Version {
            text: text.into(),
            begun: 0,
            origin: Origin::Own,
            places: 0,
            near: false,
            order: false,
        };
        Self { versions: vec![version], seen: 0 }
    }

    /// What the reader was told by itself.
    pub(crate) fn own(&self) -> Option<&Arc<Pieces>> {
        self.versions.first().map(|version| &version.text)
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &Arc<Pieces>> {
        self.versions.iter().map(|version| &version.text)
    }

    /// Whether there is any text.
    pub(crate) fn is_empty(&self) -> bool {
        self.texts().all(|text| text.is_empty())
    }

    /// Bytes that count against a bound.
    pub(super) fn len(&self) -> usize {
        self.texts().map(|text| text.len()).sum()
    }

    /// Of more than `most` that are mixed, gives up those of the most places, the oldest of them first; never the first of all.
    pub(super) fn thin(&mut self, most: usize) {
        let mixed = self.versions.iter().enumerate().skip(1).filter(|(_, version)| version.is_mixed());
        let mut mixed: Vec<_> = mixed.map(|(at, version)| (version.places, Reverse(at))).collect();
        mixed.sort_unstable();
        let gone: Vec<usize> = mixed.into_iter().skip(most).map(|(_, Reverse(at))| at).collect();
        let mut at = 0..;
        self.versions.retain(|_| at.next().is_none_or(|at: usize| !gone.contains(&at)));
    }

    /// Gives up what began as a beginning of something else.
    pub(super) fn spare(&mut self) {
        let mut first = true;
        self.versions.retain(|version| std::mem::take(&mut first) || !version.near);
    }

    /// Everything that `added` may be put behind: what is held, and what was told elsewhere since, at most `most` versions. Who holds nothing may
    /// have read anything that anybody was told.
    ///
    /// # Errors
    /// [`Beyond`].
    pub(crate) fn beside(&self, standing: &Standing, added: &Pieces, most: Most) -> Result<Self, Beyond> {
        if standing.lost > self.seen {
            return Err(if standing.forgotten { Beyond::Forgotten } else { Beyond::Versions });
        }
        let mut versions = if self.versions.is_empty() {
            if standing.forgotten {
                return Err(Beyond::Forgotten);
            }
            standing.versions(added)
        } else {
            let over = |version: &Version| match version.origin {
                Origin::Own | Origin::Alone => false,
                Origin::Elsewhere(from) => standing.is_over(from, version.places),
                Origin::Order => true,
            };
            let goes_on = |version: &Version| match over(version) {
                true if version.near => None,
                // whoever stayed there left out more than one place
                true => {
                    Some(Version { places: version.places.max(GONE_ON + 1), order: false, ..version.clone() })
                }
                false => Some(Version { order: false, ..version.clone() }),
            };
            let mut versions: Vec<_> = self.versions.iter().filter_map(goes_on).collect();
            versions.extend(standing.entries.iter().filter(|entry| self.is_news(entry, added)).map(
                |entry| {
                    let near = self.texts().any(|text| text.is_near(&entry.text));
                    Version { near, origin: Origin::Elsewhere(entry.id), ..entry.went_on() }
                },
            ));
            versions
        };
        if let Some(order) = &standing.order {
            let own = |version: &&Version| version.origin == Origin::Own && !version.text.is_empty();
            let said = |own: &Version| order.text.begins_with_both(&own.text, added);
            // the same piece was told elsewhere before
            let is_told = match self.versions.is_empty() {
                true => order.text.before_last(added).is_some(),
                false => versions.iter().filter(own).any(said),
            };
            match versions.iter_mut().find(|version| version.text == order.text) {
                _ if is_told => {}
                Some(same) => same.order = true,
                None => versions.push(order.clone()),
            }
        }
        let mut all: Vec<Version> = Vec::with_capacity(versions.len());
        versions.into_iter().for_each(|version| version.join(&mut all));
        let counts = |version: &&Version| !version.is_mixed() && version.origin != Origin::Alone;
        if all.iter().filter(counts).count() > most.versions.max(1) {
            return Err(Beyond::Versions);
        }
        let mut held = Self { versions: all, seen: self.seen };
        held.thin(most.mixed);
        Ok(held)
    }

    /// Whether something that was told elsewhere makes another text for one who reads there too. The same pieces in two places are one text,
    /// whichever is ahead, unless one of them was told whole since.
    fn is_news(&self, entry: &Entry, added: &Pieces) -> bool {
        let same = |text: &Arc<Pieces>| **text == *entry.text;
        let beside =
            |text: &Arc<Pieces>| text.begins_with(&entry.text) || entry.text.begins_with_both(text, added);
        // what came of one that was behind or ahead is between its reader and those who read nothing else
        entry.at > self.seen
            && (!entry.near || self.own().is_some_and(|own| entry.text.begins_with(own)))
            && !self.texts().any(same)
            && (entry.begun > self.seen || !self.texts().any(beside))
    }

    /// Each of them with what is put behind it.
    ///
    /// # Errors
    /// What `behind` says of one.
    pub(crate) fn put<E>(mut self, behind: impl Fn(&Pieces) -> Result<Arc<Pieces>, E>) -> Result<Self, E> {
        let mut all: Vec<Version> = Vec::with_capacity(self.versions.len());
        for version in self.versions {
            let text = behind(&version.text)?;
            Version { text, ..version }.join(&mut all);
        }
        self.versions = all;
        Ok(self)
    }

    /// It was told, as the last of all there is.
    pub(crate) fn told(&mut self, at: u64) {
        self.seen = at;
        for version in self.versions.iter_mut().filter(|version| version.begun == 0) {
            version.begun = at;
        }
    }
}

/// What anybody may hold of one artifact.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing {
    entries: Vec<Entry>,
    /// What who reads everywhere has, in the order in which it passed.
    order: Option<Version>,
    /// Entries that there were.
    ids: u64,
    /// When it was last told.
    at: u64,
    /// What was told up to here is not all known any more.
    lost: u64,
    /// Something was told that is not known any more.
    forgotten: bool,
    /// Up to here entries may be missing that somebody has.
    missing: u64,
    /// And up to here those of readers who went on in several places.
    thinned: u64,
}

#[derive(Clone, Debug)]
struct Entry {
    id: u64,
    text: Arc<Pieces>,
    begun: u64,
    at: u64,
    places: usize,
    near: bool,
    /// An answer told it, and no later one that goes on from it.
    answered: bool,
    /// Readers who are gone have it.
    left: bool,
    by: Vec<Holder>,
}

#[derive(Clone, Debug)]
struct Holder {
    reader: Weak<()>,
    /// Notifications on their way that say it.
    open: usize,
    /// The reader has it, or may have it for good.
    stays: bool,
}

impl Holder {
    fn is(&self, reader: &Reader) -> bool {
        std::ptr::eq(self.reader.as_ptr(), Arc::as_ptr(&reader.0))
    }
}

impl Entry {
    fn version(&self) -> Version {
        let text = Arc::clone(&self.text);
        let (begun, places, near) = (self.begun, self.places, self.near);
        Version { text, begun, origin: Origin::Own, places, near, order: false }
    }

    /// For a reader who goes on in another place.
    fn went_on(&self) -> Version {
        let version = self.version();
        Version { places: version.places.saturating_add(GONE_ON), ..version }
    }

    fn holder(&mut self, reader: &Reader) -> Option<&mut Holder> {
        if !self.by.iter().any(|holder| holder.is(reader)) {
            self.by.push(Holder { reader: Arc::downgrade(&reader.0), open: 0, stays: false });
        }
        self.by.iter_mut().find(|holder| holder.is(reader))
    }

    /// Whether anybody has it. Of readers who are gone it is enough that there are some.
    fn is_held(&mut self) -> bool {
        let gone = |holder: &Holder| holder.reader.strong_count() == 0;
        self.left |= self.by.iter().any(gone);
        self.by.retain(|holder| !gone(holder) && (holder.open > 0 || holder.stays));
        self.left || self.answered || !self.by.is_empty()
    }
}

impl Standing {
    /// Of an artifact of which something was told that is not known any more.
    pub(super) fn forgotten() -> Self {
        Self { forgotten: true, ..Self::default() }
    }

    /// What somebody of whom nothing is known may hold who is told this now: what anybody was told, or nothing. Where it was told last, it is the
    /// same piece, which comes late, or comes twice.
    fn versions(&self, added: &Pieces) -> Vec<Version> {
        let (mut all, mut twice) = (Vec::new(), Vec::new());
        for entry in &self.entries {
            let version = Version { near: self.can_be_spared(entry), ..entry.went_on() };
            match entry.text.before_last(added) {
                None => all.push(version),
                Some(before) => {
                    all.push(Version { text: Arc::new(before), ..version.clone() });
                    twice.push(Version { places: version.places.max(GONE_ON + 1), near: true, ..version });
                }
            }
        }
        let nothing = Held::whole(Pieces::default()).versions;
        if all.is_empty() {
            return nothing;
        }
        all.sort_by_key(|version| version.near);
        all.append(&mut twice);
        let alone = |nothing| Version { origin: Origin::Alone, places: MIDDLE, near: true, ..nothing };
        all.extend(nothing.into_iter().map(alone));
        all
    }

    /// Whether nobody has what an entry said any more.
    fn is_over(&self, id: u64, places: usize) -> bool {
        let missing = if places > GONE_ON { self.missing.max(self.thinned) } else { self.missing };
        id > missing && self.entries.iter().all(|entry| entry.id != id)
    }

    /// Whether another one goes on from it.
    fn can_be_spared(&self, entry: &Entry) -> bool {
        let goes_on = |other: &Entry| {
            let more = !entry.text.begins_with(&other.text) || other.at > entry.at;
            other.id != entry.id && more && other.text.begins_with(&entry.text)
        };
        entry.near || self.entries.iter().any(goes_on)
    }

    /// Whether more was told since `then` than what is told now was judged with.
    pub(super) fn moved(&self, then: &Self, told: &Held) -> bool {
        let since = |entry: &Entry| entry.at > then.at;
        let same = |entry: &Entry| told.texts().any(|text| **text == *entry.text);
        let beside =
            |entry: &Entry| entry.begun <= then.at && told.texts().any(|text| text.is_near(&entry.text));
        let text = |standing: &Self| standing.order.as_ref().map(|order| Arc::clone(&order.text));
        let in_order = told.versions.iter().any(|version| version.order)
            && text(self).is_none_or(|now| told.texts().all(|told| **told != *now));
        let alone = |entry: &Entry| entry.places <= MIDDLE;
        self.lost > then.at
            || (in_order && text(self) != text(then))
            || self.entries.iter().any(|entry| since(entry) && alone(entry) && !same(entry) && !beside(entry))
    }

    /// A reader has this from now on, or may have it. Of more versions than there may be those are given up first that others go on from; nothing is put
    /// behind what was told until then, but by who was told more since.
    pub(super) fn tell(&mut self, at: u64, by: By<'_>, held: &Held, most: Most) {
        // what is told whole begins anew for who reads everywhere; of what was told elsewhere before nothing changes
        let whole = || held.versions.first().filter(|version| version.begun == 0);
        if let Some(told) = held.versions.iter().find(|version| version.order).or_else(whole) {
            let begun = if told.begun == 0 { at } else { told.begun };
            let text =
                if told.places == 0 { Arc::clone(&told.text) } else { Arc::new(told.text.last(most.order)) };
            let origin = Origin::Order;
            self.order = Some(Version { text, begun, origin, places: GONE_ON, near: true, order: true });
        }
        for entry in &mut self.entries {
            match by {
                // who asks again has what came of it
                By::Answer if held.texts().any(|text| text.begins_with(&entry.text)) => {
                    entry.answered = false
                }
                By::Answer | By::Post(_) => {}
                By::Stream(reader) => entry.by.retain(|holder| !holder.is(reader)),
            }
        }
        for version in held.versions.iter().filter(|version| !version.text.is_empty()) {
            let known = self.entries.iter().position(|entry| entry.text == version.text);
            let mut entry = match known {
                Some(known) => self.entries.swap_remove(known),
                None => self.new_entry(version),
            };
            entry.at = at;
            entry.begun = entry.begun.max(if version.begun == 0 { at } else { version.begun });
            entry.places = entry.places.min(version.places);
            entry.near &= version.near;
            match by {
                By::Answer => entry.answered = true,
                By::Stream(reader) => entry.holder(reader).into_iter().for_each(|holder| holder.stays = true),
                By::Post(reader) => entry.holder(reader).into_iter().for_each(|holder| holder.open += 1),
            }
            self.entries.push(entry);
        }
        self.entries.retain_mut(Entry::is_held);
        self.at = at;
        self.thin(most.mixed);
        self.keep(most.mixed, |entry| entry.places == MIDDLE);
        let alone = |entry: &&Entry| entry.places == 0;
        let over = self.entries.iter().filter(alone).count().saturating_sub(most.versions.max(1));
        if over == 0 {
            return;
        }
        // looked at once for all: each is compared with each
        let until = |entry: &Entry| if self.can_be_spared(entry) { (false, entry.at) } else { (true, at) };
        let alone = self.entries.iter().filter(alone);
        let mut gone: Vec<_> = alone.map(|entry| (until(entry), entry.at, entry.id)).collect();
        gone.sort_unstable_by_key(|((only, _), told, id)| (*only, *told, *id));
        gone.truncate(over);
        for ((_, until), _, id) in &gone {
            self.lost = self.lost.max(*until);
            self.missing = self.missing.max(*id);
        }
        self.entries.retain(|entry| gone.iter().all(|(.., id)| *id != entry.id));
    }

    /// Of more than `most` whose readers went on in another place, gives up those of the most, the oldest of them first.
    fn thin(&mut self, most: usize) {
        self.keep(most, |entry| entry.places > MIDDLE);
    }

    /// Of more than `most` of these entries, gives up those of the most places, the oldest of them first.
    fn keep(&mut self, most: usize, of: impl Fn(&Entry) -> bool) {
        let these = self.entries.iter().filter(|entry| of(entry));
        let mut these: Vec<_> = these.map(|entry| (entry.places, Reverse(entry.at), entry.id)).collect();
        these.sort_unstable();
        let gone: Vec<u64> = these.into_iter().skip(most).map(|(.., id)| id).collect();
        self.thinned = gone.iter().copied().fold(self.thinned, u64::max);
        self.entries.retain(|entry| !gone.contains(&entry.id));
    }

    fn new_entry(&mut self, version: &Version) -> Entry {
        self.ids += 1;
        Entry {
            id: self.ids,
            text: Arc::clone(&version.text),
            begun: 0,
            at: 0,
            places: version.places,
            near: version.near,
            answered: false,
            left: false,
            by: Vec::new(),
        }
    }

    /// What became of a notification that told a reader these texts. One that arrived is in the place of those before it.
    pub(super) fn settle(&mut self, reader: &Reader, told: &[Arc<Pieces>], outcome: Delivered) {
        let says = |entry: &Entry| told.contains(&entry.text);
        let last = self.entries.iter().filter(|entry| says(entry)).map(|entry| entry.at).max();
        for entry in &mut self.entries {
            let (said, before) = (says(entry), last.is_some_and(|last| entry.at < last));
            let Some(holder) = entry.by.iter_mut().find(|holder| holder.is(reader)) else { continue };
            holder.open = holder.open.saturating_sub(usize::from(said));
            match outcome {
                Delivered::Yes | Delivered::Unknown if said => holder.stays = true,
                Delivered::Yes if before => holder.stays = false,
                _ => {}
            }
        }
        self.entries.retain_mut(Entry::is_held);
    }
}

impl Kept for Standing {
    fn len(&self) -> usize {
        let order = self.order.iter().map(|order| &order.text);
        // one that is an entry too costs nothing more
        let order = order.filter(|text| !self.entries.iter().any(|entry| Arc::ptr_eq(&entry.text, text)));
        self.entries.iter().map(|entry| &entry.text).chain(order).map(|text| text.len()).sum()
    }

    /// Who has read nothing of it in one place cannot be told from who has read what is given up.
    fn less(&mut self, less: Less) {
        match less {
            Less::Mixed => return self.thin(0),
            Less::Middle => return self.keep(0, |entry| entry.places == MIDDLE),
            Less::Begun => {}
        }
        let spare: Vec<u64> =
            self.entries.iter().filter(|entry| self.can_be_spared(entry)).map(|entry| entry.id).collect();
        self.forgotten |= !spare.is_empty();
        self.entries.retain(|entry| !spare.contains(&entry.id));
    }

    fn lose(&mut self) {
        self.entries.clear();
        self.order = None;
        self.lost = self.at;
        self.forgotten = true;
    }
}

#[cfg(test)]
mod tests;
