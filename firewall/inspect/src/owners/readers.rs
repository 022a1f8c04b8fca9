//! What the readers of one artifact may hold of it: each what it was told by itself, and that behind what was told elsewhere since.

mod standing;

use super::{Joints, Pieces};
use standing::Entry;
pub(crate) use standing::Standing;
use std::{cmp::Reverse, sync::Arc};

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
    /// Where in it, in bytes, its reader went on in another place, and the end of what was told whole.
    joints: Joints,
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
                known.joints = std::mem::take(&mut known.joints).fewer(self.joints);
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
        let text = text.into();
        let version = Version {
            joints: Joints::of_whole(&text),
            text,
            begun: 0,
            origin: Origin::Own,
            places: 0,
            near: false,
            order: false,
        };
        Self { versions: vec![version], seen: 0 }
    }

    /// A text that is told in pieces.
    pub(crate) fn in_pieces(text: Pieces) -> Self {
        let mut held = Self::whole(text);
        held.versions.iter_mut().for_each(|version| version.joints = Joints::default());
        held
    }

    /// What the reader was told by itself.
    pub(crate) fn own(&self) -> Option<&Arc<Pieces>> {
        self.versions.first().map(|version| &version.text)
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &Arc<Pieces>> {
        self.versions.iter().map(|version| &version.text)
    }

    /// Each, and where in it its reader went on in another place ([`Pieces::once`]).
    pub(crate) fn joined(&self) -> impl Iterator<Item = (&Pieces, &Joints)> {
        self.versions.iter().map(|version| (&*version.text, &version.joints))
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
        // what came of one that was behind or ahead is between its reader and those who may hold what it goes on from
        entry.at > self.seen
            && (!entry.near || self.texts().any(|text| entry.text.begins_with(text)))
            && !self.texts().any(same)
            && (entry.begun > self.seen || !self.texts().any(beside))
    }

    /// Each of them with what is put behind it; `behind` is given the text and where in it its reader went on in another place.
    ///
    /// # Errors
    /// What `behind` says of one.
    pub(crate) fn put<E>(
        mut self,
        behind: impl Fn(&Pieces, &Joints) -> Result<Arc<Pieces>, E>,
    ) -> Result<Self, E> {
        let mut all: Vec<Version> = Vec::with_capacity(self.versions.len());
        for version in self.versions {
            let text = behind(&version.text, &version.joints)?;
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

#[cfg(test)]
mod tests;
