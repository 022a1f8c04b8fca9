//! What anybody may hold of one artifact, and what of it is given up for want of room.

use super::{By, GONE_ON, Held, Less, MIDDLE, Most, Origin, Reader, Version};
use crate::Delivered;
use crate::owners::{Joints, Kept, Pieces};
use std::{
    cmp::Reverse,
    sync::{Arc, Weak},
};

/// What anybody may hold of one artifact.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing {
    pub(super) entries: Vec<Entry>,
    /// What who reads everywhere has, in the order in which it passed.
    pub(super) order: Option<Version>,
    /// Entries that there were.
    pub(super) ids: u64,
    /// When it was last told.
    pub(super) at: u64,
    /// What was told up to here is not all known any more.
    pub(super) lost: u64,
    /// Something was told that is not known any more.
    pub(super) forgotten: bool,
    /// Up to here entries may be missing that somebody has.
    pub(super) missing: u64,
    /// And up to here those of readers who went on in several places.
    pub(super) thinned: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) id: u64,
    pub(super) text: Arc<Pieces>,
    pub(super) begun: u64,
    pub(super) at: u64,
    pub(super) places: usize,
    pub(super) joints: Joints,
    pub(super) near: bool,
    /// An answer told it, and no later one that goes on from it.
    pub(super) answered: bool,
    /// Readers who are gone have it.
    pub(super) left: bool,
    pub(super) by: Vec<Holder>,
}

#[derive(Clone, Debug)]
pub(super) struct Holder {
    pub(super) reader: Weak<()>,
    /// Notifications on their way that say it.
    pub(super) open: usize,
    /// The reader has it, or may have it for good.
    pub(super) stays: bool,
}

impl Holder {
    fn is(&self, reader: &Reader) -> bool {
        std::ptr::eq(self.reader.as_ptr(), Arc::as_ptr(&reader.0))
    }
}

impl Entry {
    fn version(&self) -> Version {
        let text = Arc::clone(&self.text);
        let (begun, places, joints, near) = (self.begun, self.places, self.joints.clone(), self.near);
        Version { text, begun, origin: Origin::Own, places, joints, near, order: false }
    }

    /// For a reader who goes on in another place.
    pub(super) fn went_on(&self) -> Version {
        self.went_on_behind(Arc::clone(&self.text))
    }

    /// The same, of who has this beginning of it.
    fn went_on_behind(&self, text: Arc<Pieces>) -> Version {
        let version = self.version();
        let (places, joints) = (version.places.saturating_add(GONE_ON), version.joints.and(text.len()));
        Version { text, places, joints, ..version }
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
    pub(in crate::owners) fn forgotten() -> Self {
        Self { forgotten: true, ..Self::default() }
    }

    /// What somebody of whom nothing is known may hold who is told this now: what anybody was told, or nothing. Where it was told last, it is the
    /// same piece, which comes late, or comes twice.
    pub(super) fn versions(&self, added: &Pieces) -> Vec<Version> {
        let (mut all, mut twice) = (Vec::new(), Vec::new());
        for entry in &self.entries {
            let near = self.can_be_spared(entry);
            let version = Version { near, ..entry.went_on() };
            match entry.text.before_last(added) {
                None => all.push(version),
                Some(before) => {
                    all.push(Version { near, ..entry.went_on_behind(Arc::new(before)) });
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
    pub(super) fn is_over(&self, id: u64, places: usize) -> bool {
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
    pub(in crate::owners) fn moved(&self, then: &Self, told: &Held) -> bool {
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
    pub(in crate::owners) fn tell(&mut self, at: u64, by: By<'_>, held: &Held, most: Most) {
        // what is told whole begins anew for who reads everywhere; of what was told elsewhere before nothing changes
        let whole = || held.versions.first().filter(|version| version.begun == 0);
        if let Some(told) = held.versions.iter().find(|version| version.order).or_else(whole) {
            let begun = if told.begun == 0 { at } else { told.begun };
            let text =
                if told.places == 0 { Arc::clone(&told.text) } else { Arc::new(told.text.last(most.order)) };
            let origin = Origin::Order;
            let joints = Joints::default();
            self.order =
                Some(Version { text, begun, origin, places: GONE_ON, joints, near: true, order: true });
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
            entry.joints = std::mem::take(&mut entry.joints).fewer(version.joints.clone());
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
            joints: version.joints.clone(),
            near: version.near,
            answered: false,
            left: false,
            by: Vec::new(),
        }
    }

    /// What became of a notification that told a reader these texts. One that arrived is in the place of those before it.
    pub(in crate::owners) fn settle(&mut self, reader: &Reader, told: &[Arc<Pieces>], outcome: Delivered) {
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
            Less::Middle => {
                self.forgotten |= self.entries.iter().any(|entry| entry.places == MIDDLE);
                return self.keep(0, |entry| entry.places == MIDDLE);
            }
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
