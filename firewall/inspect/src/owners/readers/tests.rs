//! What readers may hold of an artifact that was told in several places, and how much of it is remembered.

use super::*;
use crate::Delivered;
use crate::owners::Kept;

const MOST: Most = Most { versions: 3, mixed: 3, order: 1_024 };

/// An artifact, and the time.
struct House {
    standing: Standing,
    clock: u64,
    most: Most,
}

impl Default for House {
    fn default() -> Self {
        Self { standing: Standing::default(), clock: 0, most: MOST }
    }
}

impl House {
    fn tells(&mut self, by: By<'_>, held: &mut Held) {
        self.clock += 1;
        self.standing.tell(self.clock, by, held, self.most);
        held.told(self.clock);
    }

    fn begins(&mut self, by: By<'_>, text: &str) -> Held {
        let mut held = Held::whole(Pieces::of([text]));
        self.tells(by, &mut held);
        held
    }

    fn appends(&mut self, by: By<'_>, held: &mut Held, text: &str) -> Result<Vec<String>, Beyond> {
        let behind = |before: &Pieces, _: &Joints| {
            let mut whole = before.clone();
            whole.push(text);
            Ok(Arc::new(whole))
        };
        *held = held.beside(&self.standing, &Pieces::of([text]), self.most)?.put(behind)?;
        self.tells(by, held);
        Ok(words(held.texts()))
    }

    /// What a reader may hold of whom nothing is known.
    fn anybodys(&self) -> Vec<String> {
        let mut all = words(self.standing.versions(&Pieces::default()).iter().map(|version| &version.text));
        all.retain(|text| !text.is_empty());
        all.sort();
        all
    }
}

fn words<'p>(texts: impl Iterator<Item = &'p Arc<Pieces>>) -> Vec<String> {
    texts.map(|text| text.joined("")).collect()
}

#[test]
fn readers_who_are_told_the_same_pieces_hold_one_text_whoever_is_ahead() {
    let (mut house, one, two) = (House::default(), Reader::default(), Reader::default());
    let mut ahead = house.begins(By::Stream(&one), "a");
    let mut late = house.begins(By::Stream(&two), "a");
    for (n, text) in ["b", "c", "d"].into_iter().enumerate() {
        assert_eq!(house.appends(By::Stream(&one), &mut ahead, text).unwrap(), [&"abcd"[..n + 2]]);
    }
    assert_eq!(house.anybodys(), ["a", "abcd"]);
    for (n, text) in ["b", "c", "d"].into_iter().enumerate() {
        assert_eq!(house.appends(By::Stream(&two), &mut late, text).unwrap(), [&"abcd"[..n + 2]]);
    }
    assert_eq!(house.anybodys(), ["abcd"]);
}

#[test]
fn what_is_told_whole_elsewhere_is_another_text_for_who_reads_there_too() {
    let (mut house, one, two) = (House::default(), Reader::default(), Reader::default());
    let mut held = house.begins(By::Stream(&one), "DEL");
    house.begins(By::Answer, "xx");
    assert_eq!(house.appends(By::Stream(&one), &mut held, "a").unwrap(), ["DELa", "xxa"]);
    assert_eq!(house.anybodys(), ["DELa", "xx", "xxa"]);
    let new = Held::default().beside(&house.standing, &Pieces::default(), MOST).unwrap();
    assert_eq!(words(new.texts()), ["DELa", "xxa", "xx", ""]);
    // told whole, it begins anew for those who read on
    let mut held = house.begins(By::Stream(&one), "hello");
    assert_eq!(house.appends(By::Stream(&one), &mut held, " you").unwrap(), ["hello you"]);
    assert_eq!(house.anybodys(), ["hello you", "xx"]);
    // an answer that goes on from the one before is in its place, another is not
    house.begins(By::Answer, "xxyy");
    house.begins(By::Answer, "x");
    assert_eq!(house.anybodys(), ["hello you", "x", "xxyy"]);
    // what stood on a stream that is over stays
    drop((one, two));
    house.begins(By::Answer, "xyz");
    assert_eq!(house.anybodys(), ["hello you", "xxyy", "xyz"]);
}

#[test]
fn an_answer_that_is_behind_or_ahead_of_a_stream_is_given_up_once_the_next_goes_on_from_it() {
    let (mut house, one) = (
        House { most: Most { versions: 16, mixed: 16, order: 1_024 }, ..House::default() },
        Reader::default(),
    );
    let mut held = house.begins(By::Stream(&one), "a");
    let whole = "abcdefghijklmnopqrstuvwxyz";
    for n in 0..24 {
        house.begins(By::Answer, &whole[..n + 1 - n % 2]);
        let texts = house.appends(By::Stream(&one), &mut held, &whole[n + 1..n + 2]).unwrap();
        assert_eq!(texts[0], whole[..n + 2]);
        assert!(texts.len() <= 4, "{texts:?}");
    }
    house.begins(By::Answer, &whole[..25]);
    let texts = house.appends(By::Stream(&one), &mut held, "z").unwrap();
    assert_eq!(texts.first().unwrap(), whole);
}

#[test]
fn of_more_versions_than_are_remembered_what_others_go_on_from_is_given_up_and_nothing_is_put_behind_it() {
    let mut house = House::default();
    let one = Reader::default();
    let mut held = house.begins(By::Stream(&one), "abc");
    // streams that broke off, each earlier than the next
    for text in ["a", "ab", "abcd", "abcde"] {
        house.begins(By::Stream(&Reader::default()), text);
    }
    assert_eq!(house.anybodys(), ["ab", "abcd", "abcde"]);
    let behind =
        |held: &Held, house: &House| held.beside(&house.standing, &Pieces::default(), MOST).map(drop);
    assert_eq!(behind(&Held::default(), &house), Err(Beyond::Versions), "some were left behind in `a`");
    assert_eq!(behind(&held, &house), Err(Beyond::Versions), "`a` was told whole since");
    held = house.begins(By::Stream(&one), "abc");
    assert_eq!(behind(&held, &house), Ok(()), "who was told more since is not behind it");
    for text in ["x", "y", "z"] {
        house.begins(By::Answer, text);
    }
    assert_eq!(behind(&held, &house), Err(Beyond::Versions));
    assert_eq!(behind(&Held::default(), &house), Err(Beyond::Versions));
    // whoever is told the whole goes on
    held = house.begins(By::Stream(&one), "abc");
    assert_eq!(behind(&held, &house), Ok(()));
    house.begins(By::Answer, "y");
    assert_eq!(behind(&held, &house), Ok(()), "told again, it is no version more");
}

#[test]
fn what_a_notification_says_stands_beside_what_was_there_until_it_arrives() {
    let (mut house, place) = (House::default(), Reader::default());
    let by = By::Post(&place);
    let settle = |house: &mut House, held: &Held, outcome| {
        let told: Vec<_> = held.texts().cloned().collect();
        house.standing.settle(&place, &told, outcome);
        house.anybodys()
    };
    let begun = house.begins(by, "DEL");
    assert_eq!(settle(&mut house, &begun, Delivered::Yes), ["DEL"]);
    let lost = house.begins(by, "xx");
    assert_eq!(house.anybodys(), ["DEL", "xx"]);
    assert_eq!(settle(&mut house, &lost, Delivered::No), ["DEL"]);
    let unknown = house.begins(by, "yy");
    assert_eq!(settle(&mut house, &unknown, Delivered::Unknown), ["DEL", "yy"]);
    // the same twice, of which one is lost
    let twice = house.begins(by, "zz");
    house.begins(by, "zz");
    assert_eq!(settle(&mut house, &twice, Delivered::No), ["DEL", "yy", "zz"]);
    assert_eq!(settle(&mut house, &twice, Delivered::Yes), ["zz"]);
}

#[test]
fn readers_who_are_gone_cost_nothing() {
    let mut house = House::default();
    for _ in 0..100 {
        house.begins(By::Stream(&Reader::default()), "a");
    }
    assert_eq!((house.standing.entries.len(), house.standing.entries[0].by.len()), (1, 1));
    assert!(house.standing.entries[0].left);
    house.standing.lose();
    let held = Held::default().beside(&house.standing, &Pieces::default(), MOST);
    assert_eq!(held.map(drop), Err(Beyond::Forgotten));
}

#[test]
fn bug_what_came_of_one_that_was_given_up_was_held_to_be_over() {
    let (mut house, one) = (House::default(), Reader::default());
    let mut held = house.begins(By::Stream(&one), "abc");
    house.begins(By::Stream(&Reader::default()), "a");
    assert_eq!(house.appends(By::Stream(&one), &mut held, "d").unwrap(), ["abcd", "ad"]);
    // `a` is given up for want of room, though somebody was left behind there
    for text in ["uvw", "xyz"] {
        house.begins(By::Stream(&Reader::default()), text);
    }
    assert_eq!(house.anybodys(), ["abcd", "ad", "uvw", "xyz"]);
    let held = held.beside(&house.standing, &Pieces::default(), Most { versions: 4, ..MOST }).unwrap();
    assert_eq!(words(held.texts()), ["abcd", "ad", "uvw", "xyz"]);
}

#[test]
fn attack_what_passes_in_turn_in_three_places_is_held_against_who_reads_all_of_them_also_where_bytes_are_short()
 {
    for way in 0..81_usize {
        let mut house = House { most: Most { versions: 16, mixed: 16, order: 1_024 }, ..House::default() };
        let readers = [Reader::default(), Reader::default(), Reader::default()];
        let mut places = Vec::new();
        for (reader, text) in readers.iter().zip(["d", "d", "x"]) {
            places.push(house.begins(By::Stream(reader), text));
        }
        let (mut rest, mut passed) = (way, "x".to_owned());
        for piece in ["r", "o", "p", "q"] {
            passed.push_str(piece);
            let at = rest % 3;
            let texts = house.appends(By::Stream(&readers[at]), &mut places[at], piece).unwrap();
            assert!(texts.contains(&passed), "in the {way}th way `{passed}` is none of {texts:?}");
            house.standing.less(Less::Begun);
            places.iter_mut().for_each(Held::spare);
            rest /= 3;
        }
    }
}

/// One place of an artifact that one agent tells in pieces.
struct Place {
    reader: Reader,
    post: bool,
    held: Held,
    next: usize,
}

impl Place {
    fn new(post: bool, next: usize) -> Self {
        Self { reader: Reader::default(), post, held: Held::default(), next }
    }

    fn tells(&mut self, house: &mut House, text: &str) -> Result<Vec<String>, Beyond> {
        let by = if self.post { By::Post(&self.reader) } else { By::Stream(&self.reader) };
        let told = if self.next == 0 {
            self.held = house.begins(by, text);
            vec![text.to_owned()]
        } else {
            house.appends(by, &mut self.held, text)?
        };
        if self.post {
            let texts: Vec<_> = self.held.texts().cloned().collect();
            house.standing.settle(&self.reader, &texts, Delivered::Yes);
        }
        self.next += 1;
        Ok(told)
    }
}

/// How those read who behave.
#[derive(Clone, Copy, Debug)]
struct Habits {
    /// Places that begin in the middle, beside two that begin with the artifact: streams and push targets in turn.
    late: usize,
    /// The first place breaks off each so many pieces, and misses so many before it begins again.
    breaks: Option<(usize, usize)>,
    /// A stream that begins in the middle is told the whole first.
    whole: bool,
    /// The task is read in each so manieth round.
    polls: Option<usize>,
    /// Rounds that a place may be behind.
    lag: usize,
    /// Different pieces; none where each differs from all others.
    words: Option<usize>,
}

const PIECES: usize = 80;

/// The most texts that a piece was judged behind.
fn behaves(habits: Habits, seed: u64) -> usize {
    let mut random = seed;
    let mut any = |most: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 33).unwrap() % most
    };
    let mut house = House { most: Most { versions: 64, mixed: 16, order: 1_024 }, ..House::default() };
    let word = |n: usize| format!("w{} ", habits.words.map_or(n, |words| n % words));
    let late = |house: &mut House, post: bool, round: usize, missed: usize| {
        let mut place = Place::new(post, round + missed);
        if habits.whole && !post {
            let pieces: Vec<String> = (0..round).map(word).collect();
            place.held = Held::whole(Pieces::of(pieces.iter().map(String::as_str)));
            house.tells(By::Stream(&place.reader), &mut place.held);
            place.next = round;
        }
        place
    };
    let mut places = vec![Place::new(false, 0), Place::new(true, 0)];
    let mut most = 0;
    for round in 0..PIECES {
        if round == 3 {
            let new: Vec<_> = (0..habits.late).map(|n| late(&mut house, n % 2 == 0, round, 0)).collect();
            places.extend(new);
        }
        if let Some((_, missed)) = habits.breaks.filter(|(each, _)| round % each == each - 1) {
            places[0] = late(&mut house, false, round, missed);
        }
        // some of them have no turn, and are behind
        for _ in 0..places.len() {
            let (at, behind) = (any(places.len()), any(habits.lag + 1));
            while places[at].next < (round + 1).saturating_sub(behind) {
                let next = places[at].next;
                let told = places[at].tells(&mut house, &word(next));
                let told = told
                    .unwrap_or_else(|why| panic!("{habits:?}, {seed}: piece {next} in place {at}: {why:?}"));
                most = most.max(told.len());
            }
        }
        if habits.polls.is_some_and(|polls| round % polls == 0) {
            house.begins(By::Answer, &(0..=round).map(word).collect::<String>());
        }
    }
    most
}

#[test]
fn readers_who_behave_are_never_refused_however_they_are_behind_each_other() {
    let mut most = 0;
    for late in 0..5 {
        for (breaks, whole) in [
            (None, true),
            (None, false),
            (Some((3, 0)), true),
            (Some((5, 0)), false),
            (Some((5, 2)), false),
            (Some((3, 1)), false),
        ] {
            for polls in [None, Some(1), Some(3)] {
                for (lag, words) in [(0, None), (1, None), (3, None), (2, Some(5)), (4, Some(1))] {
                    if breaks.is_some() && words == Some(1) {
                        // each length of it is another text that somebody was left with
                        continue;
                    }
                    let habits = Habits { late, breaks, whole, polls, lag, words };
                    most = most.max(behaves(habits, 7));
                }
            }
        }
    }
    assert!(most <= 64, "a piece was judged behind {most} texts");
}
