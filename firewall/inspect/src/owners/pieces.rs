//! Text that came in pieces, and every way in which readers put them together.

use std::collections::HashMap;

/// What stands between two pieces: a byte that no text has, so that a boundary costs one, as a blank or a line feed would.
const CUT: u8 = 0xff;

/// Bytes that are compared at once.
const BLOCK: usize = 256;

/// The pieces of a text in their order. Those that are empty are none: nothing stands between a text and nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pieces(Vec<u8>);

/// How a reader put a text together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Joints {
    /// Bytes that were told whole, in however many pieces.
    whole: usize,
    /// Where he went on in another place, in bytes and ascending; each at a boundary, or where the text ends.
    places: Vec<usize>,
}

impl Joints {
    /// Of a text that is told whole.
    pub(crate) fn of_whole(text: &Pieces) -> Self {
        Self { whole: text.len(), places: Vec::new() }
    }

    /// Of who has so much of it, and goes on in another place.
    pub(crate) fn and(mut self, bytes: usize) -> Self {
        self.places.retain(|joint| *joint < bytes);
        self.places.extend((bytes > 0).then_some(bytes));
        Self { whole: self.whole.min(bytes), ..self }
    }

    /// Of two ways in which a text was put together the one of fewer places, and of less that was told whole.
    pub(crate) fn fewer(self, other: Self) -> Self {
        let key = |one: &Self| (one.places.len(), one.whole);
        if key(&other) < key(&self) { other } else { self }
    }
}

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

    /// How much of one artifact a reader was told, where some pieces of it were told to him twice: at each joint he went on in another place, and what is told
    /// from there on counts unless he had read that piece elsewhere, each as often as he had, in whatever order, since between two places some is left
    /// out. In what was told whole each piece counts once: agents of A2A 0.3 keep one for each stream that is open. The first piece of all is where a text
    /// begins, and never told again. None where nothing was told twice.
    pub(crate) fn once(&self, joints: &Joints) -> Option<Self> {
        /// How often a piece counts, and in the part at hand, and how often it was told again there.
        #[derive(Default)]
        struct Count {
            all: usize,
            part: usize,
            here: usize,
            again: usize,
        }
        let (mut once, mut at, mut part): (Vec<&[u8]>, usize, usize) = (Vec::new(), 0, 0);
        let mut counts: HashMap<&[u8], Count> = HashMap::new();
        let mut places = joints.places.iter().peekable();
        let (mut elsewhere, mut twice) = (false, false);
        for piece in self.0.split(|byte| *byte == CUT) {
            let whole = at < joints.whole && !elsewhere;
            let mut anew = whole;
            // a boundary stands at each joint
            while places.next_if(|joint| **joint < at).is_some() {
                (anew, elsewhere) = (true, true);
            }
            part += usize::from(anew);
            let count = counts.entry(piece).or_default();
            if count.part != part {
                *count = Count { all: count.all, part, ..Count::default() };
            }
            if (whole || elsewhere) && count.here + count.again < count.all {
                (count.again, twice) = (count.again + 1, true);
            } else {
                // the first of all is not counted
                count.all += usize::from(at > 0);
                count.here += usize::from(at > 0);
                once.push(piece);
            }
            at = at.saturating_add(piece.len()).saturating_add(1);
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

    /// Whether it begins with the words of two others, one behind the other, in whatever pieces, and one of its own ends where the second does: so far it
    /// was told.
    pub(crate) fn begins_with_both(&self, first: &Self, then: &Self) -> bool {
        let mut own = self.0.iter().copied().peekable();
        let mut says = |byte: u8| {
            while own.next_if_eq(&CUT).is_some() {}
            own.next() == Some(byte)
        };
        first.words().chain(then.words()).all(&mut says) && own.next().is_none_or(|byte| byte == CUT)
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
        let put = |places: &[&[&str]]| {
            let (mut all, mut joints) = (Pieces::default(), Joints::default());
            for place in places {
                joints = if all.is_empty() { joints } else { joints.and(all.len()) };
                place.iter().for_each(|piece| all.push(piece));
            }
            (all, joints)
        };
        let once = |places: &[&[&str]]| {
            let (all, joints) = put(places);
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
        let joints = Joints::default().and(all.len());
        assert_eq!(all.once(&joints), None, "nothing is told behind it yet");
        all.push("b");
        assert_eq!(all.once(&joints).map(|once| once.joined(" ")).as_deref(), Some("a b"));
        // what is told whole keeps each piece of it once, and what its own place puts behind it counts
        let told = Pieces::of(["a", "a", "b", "b", "c"]);
        let joints = Joints::of_whole(&told);
        assert_eq!(told.once(&joints).map(|once| once.joined(" ")).as_deref(), Some("a a b c"));
        let mut behind = told.clone();
        behind.push("c");
        assert_eq!(behind.once(&joints).map(|once| once.joined(" ")).as_deref(), Some("a a b c c"));
        assert_eq!(
            behind.once(&joints.and(told.len())).map(|once| once.joined(" ")).as_deref(),
            Some("a a b c")
        );
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
                && !long.begins_with_both(&Pieces::default(), &Pieces::of(["a"]))
                && !one.begins_with_both(&two, &Pieces::of(["d"]))
        );
        assert!(long.is_near(&two) && one.is_near(&long) && !one.is_near(&Pieces::of(["b"])));
    }
}
