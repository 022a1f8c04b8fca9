//! Text that came in pieces, and every way in which readers put them together.

use std::collections::HashMap;

/// What stands between two pieces: a byte that no text has, so that a boundary costs one, as a blank or a line feed would.
const CUT: u8 = 0xff;

/// Bytes that are compared at once.
const BLOCK: usize = 256;

/// The pieces of a text in their order. Those that are empty are none: nothing stands between a text and nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pieces(Vec<u8>);

impl Pieces {
    /// These pieces.
    pub(crate) fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut pieces = Self::default();
        texts.into_iter().for_each(|text| pieces.push(text));
        pieces
    }

    /// One more.
    pub(crate) fn push(&mut self, text: &str) {
        if !text.is_empty() {
            if !self.is_empty() {
                self.0.push(CUT);
            }
            self.0.extend_from_slice(text.as_bytes());
        }
    }

    /// Bytes, with one for each boundary.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is no boundary in it, so that all readers have the same.
    pub(crate) fn is_one(&self) -> bool {
        !self.0.contains(&CUT)
    }

    /// The text as a reader has it who puts this between all pieces.
    pub(crate) fn joined(&self, between: &str) -> String {
        let mut whole = Vec::with_capacity(self.0.len());
        for (n, piece) in self.0.split(|byte| *byte == CUT).enumerate() {
            if n > 0 {
                whole.extend_from_slice(between.as_bytes());
            }
            whole.extend_from_slice(piece);
        }
        // pieces are whole texts, so nothing is lost
        String::from_utf8_lossy(&whole).into_owned()
    }

    /// Whether it is the same words, in whatever pieces.
    pub(crate) fn says(&self, other: &Self) -> bool {
        self.words().eq(other.words())
    }

    /// Whether it begins with the words of another, in whatever pieces.
    pub(crate) fn begins_with(&self, other: &Self) -> bool {
        // what is the same to the byte is passed over in blocks: texts of one artifact are long, and mostly alike
        let same = self.0.chunks(BLOCK).zip(other.0.chunks(BLOCK)).take_while(|(own, said)| own == said);
        let at = same.map(|(_, said)| said.len()).sum();
        let mut own = self.words_from(at);
        other.words_from(at).all(|byte| own.next() == Some(byte))
    }

    /// How much of one artifact a reader of several places was told, where some pieces of it were told to him twice: he went on in another place at each of
    /// these joints, in bytes and ascending, and what is told there counts unless he had read that piece elsewhere, each as often as he had, in whatever
    /// order, since between two places some is left out. The first piece of all is where a text begins, and never told again. None where nothing was told twice.
    pub(crate) fn once(&self, joints: &[usize]) -> Option<Self> {
        let (mut once, mut from, mut twice): (Vec<&[u8]>, usize, bool) = (Vec::new(), 0, false);
        for to in joints.iter().copied().chain([self.0.len()]) {
            // at a joint stands a boundary; nothing may be told behind it yet
            let Some(told) = self.0.get(from..to) else { continue };
            let mut before: HashMap<&[u8], usize> = HashMap::new();
            once.iter().skip(1).for_each(|piece| *before.entry(*piece).or_default() += 1);
            for piece in told.split(|byte| *byte == CUT) {
                match before.get_mut(piece).filter(|left| **left > 0) {
                    Some(left) => (*left, twice) = (*left - 1, true),
                    None => once.push(piece),
                }
            }
            from = to.saturating_add(1);
        }
        twice.then(|| Self(once.join(&CUT)))
    }

    /// Its last pieces, no more than `most` bytes of them, and the last one always.
    pub(crate) fn last(&self, most: usize) -> Self {
        let over = self.0.len().saturating_sub(most);
        let (begin, rest) = self.0.split_at(over.saturating_sub(1));
        if over == 0 {
            return self.clone();
        }
        let cut = |text: &[u8]| text.iter().position(|byte| *byte == CUT);
        let last = self.0.iter().rposition(|byte| *byte == CUT).map_or(0, |at| at + 1);
        let from = cut(rest).map_or(last, |at| (begin.len() + at + 1).min(last));
        Self(self.0.get(from..).unwrap_or_default().to_vec())
    }

    /// What stands before these pieces, if they are its last.
    pub(crate) fn before_last(&self, told: &Self) -> Option<Self> {
        let rest = self.0.strip_suffix(told.0.as_slice()).filter(|_| !told.is_empty())?;
        if rest.is_empty() { Some(Self::default()) } else { Some(Self(rest.strip_suffix(&[CUT])?.to_vec())) }
    }

    /// Whether it begins with the words of two others, one behind the other.
    pub(crate) fn begins_with_both(&self, first: &Self, then: &Self) -> bool {
        let mut own = self.words();
        first.words().chain(then.words()).all(|byte| own.next() == Some(byte))
    }

    /// Whether one of the two begins with the words of the other.
    pub(crate) fn is_near(&self, other: &Self) -> bool {
        self.begins_with(other) || other.begins_with(self)
    }

    fn words(&self) -> impl Iterator<Item = u8> {
        self.words_from(0)
    }

    fn words_from(&self, at: usize) -> impl Iterator<Item = u8> {
        self.0.get(at..).unwrap_or_default().iter().copied().filter(|byte| *byte != CUT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reader_of_two_places_was_told_twice_counts_once() {
        let once = |places: &[&[&str]]| {
            let (mut all, mut joints) = (Pieces::default(), Vec::new());
            for place in places {
                joints.extend((!all.is_empty()).then_some(all.len()));
                place.iter().for_each(|piece| all.push(piece));
            }
            all.once(&joints).map(|once| once.joined(" "))
        };
        // a place that is behind, and one that goes on from it
        assert_eq!(once(&[&["a", "b", "c"], &["b", "c", "d"]]).as_deref(), Some("a b c d"));
        assert_eq!(once(&[&["a", "b", "c", "d"], &["b", "c"]]).as_deref(), Some("a b c d"));
        assert_eq!(
            once(&[&["a", "b", "c"], &["b", "c", "d"], &["c", "d", "e"]]).as_deref(),
            Some("a b c d e")
        );
        // some was left out between
        assert_eq!(once(&[&["a", "b", "d"], &["b", "c", "d", "e"]]).as_deref(), Some("a b d c e"));
        // each as often as it was told
        assert_eq!(once(&[&["a", "b", "b"], &["b", "b", "b"]]).as_deref(), Some("a b b b"));
        assert_eq!(once(&[&["a", "b"], &["b"], &["b", "b"]]).as_deref(), Some("a b b"));
        // nothing was told twice: other words, and the first of all
        assert_eq!(once(&[&["a", "b", "c"], &["d"]]), None);
        assert_eq!(once(&[&["a"], &["a", "b"]]), None);
        assert_eq!(once(&[&["a", "b", "b"]]), None);
        // in other pieces it is not what was told
        assert_eq!(once(&[&["a", "bc"], &["b", "c"]]), None);
        let mut all = Pieces::of(["a", "b"]);
        assert_eq!(all.once(&[all.len()]), None, "nothing is told behind it yet");
        all.push("b");
        assert_eq!(all.once(&[3, 3]).map(|once| once.joined(" ")).as_deref(), Some("a b"));
    }

    #[test]
    fn pieces_are_put_together_in_every_way() {
        let pieces = Pieces::of(["dröp", "", "table", "\n"]);
        assert_eq!(pieces.joined(""), "dröptable\n");
        assert_eq!(pieces.joined(" "), "dröp table \n");
        assert_eq!(pieces.joined("\n"), "dröp\ntable\n\n");
        assert_eq!(pieces.len(), 5 + 5 + 1 + 2);
        assert_eq!((Pieces::default().joined(" "), Pieces::of([""]).is_empty()), (String::new(), true));
    }

    #[test]
    fn the_last_pieces_are_whole_ones() {
        let pieces = Pieces::of(["one", "two", "three"]);
        let last = |most| pieces.last(most).joined(" ");
        assert_eq!(
            [last(99), last(13), last(12), last(9), last(8)],
            ["one two three", "one two three", "two three", "two three", "three"]
        );
        assert_eq!([last(5), last(2), last(0)], ["three", "three", "three"]);
        assert!(Pieces::default().last(0).is_empty());
    }

    #[test]
    fn the_same_words_in_other_pieces_are_the_same_words() {
        let (two, one) = (Pieces::of(["ab", "c"]), Pieces::of(["abc"]));
        assert!(two.says(&one) && one.begins_with(&two) && two.begins_with(&Pieces::of(["a", "b"])));
        assert!(!two.says(&Pieces::of(["ab"])) && !Pieces::of(["ab"]).begins_with(&two));
        assert!(!two.begins_with(&Pieces::of(["b"])) && two.begins_with(&Pieces::default()));
        let long = Pieces::of(["abc", "d"]);
        assert!(
            long.begins_with_both(&one, &Pieces::default())
                && long.begins_with_both(&two, &Pieces::of(["d"]))
        );
        assert!(
            !long.begins_with_both(&one, &Pieces::of(["e"]))
                && !one.begins_with_both(&two, &Pieces::of(["d"]))
        );
        assert!(long.is_near(&two) && one.is_near(&long) && !one.is_near(&Pieces::of(["b"])));
    }
}
