//! One artifact that is told in several places: streams, notifications and answers, each read by who reads others too, or not.

use super::{
    parts,
    posts::{House, begun, behind, denied, house, house_with, piece},
};
use crate::common::{NOW, base, say};
use bytes::Bytes;
use semgate_inspect::{Code, Delivered, InspectLimits, Peer, Refusal};
use serde_json::{Value, json};

impl House {
    /// The artifact whole, in the answer to a read of the task.
    pub fn read(&self, text: &str) {
        self.reads(&[text]).unwrap();
    }

    /// The same in these pieces.
    fn reads(&self, pieces: &[&str]) -> Result<(), Refusal> {
        let request = base("a2a get task");
        let id = serde_json::from_slice::<Value>(&request).unwrap()["id"].clone();
        let asked = say(&self.inspector, &self.route, "retailer-7", request, NOW).unwrap();
        let artifact = json!({"artifactId": "a-9", "parts": parts(pieces)});
        let task = json!({"id": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_WORKING"}, "artifacts": [artifact]});
        let body = Bytes::from(json!({"jsonrpc": "2.0", "id": id, "result": task}).to_string());
        let replier = Peer::configured(&self.route.receiver);
        self.inspector.inspect_reply(&asked.spend().1, &replier, 200, body, NOW).map(drop)
    }

    /// A notification that arrives.
    fn notifies(&self, token: &str, update: &Value) -> Result<(), Refusal> {
        self.posted(token, update, Delivered::Yes)
    }
}

#[test]
fn attack_an_artifact_is_told_whole_elsewhere_between_two_pieces_on_a_stream() {
    for elsewhere in ["a place", "a place that may not have it", "an answer", "another stream"] {
        let house = house();
        let (mut first, mut other) = (house.subscribed(), house.subscribed());
        first(begun("DEL")).unwrap();
        match elsewhere {
            "a place" => house.notifies("one", &begun("xx")).unwrap(),
            "a place that may not have it" => {
                house.posted("one", &begun("xx"), Delivered::Unknown).unwrap();
            }
            "an answer" => house.read("xx"),
            _ => other(begun("xx")).unwrap(),
        }
        // who read the first stream, and now reads another
        denied(house.subscribed()(behind("ETE")));
        denied(house.notifies("two", &behind("ETE")));
        denied(first(behind("ETE")));
        // who read both
        denied(house.subscribed()(behind(" DELETE")));
        first(behind("ightful")).unwrap();
        house.subscribed()(behind("now")).unwrap();
    }
}

#[test]
fn attack_a_piece_is_told_elsewhere_alone_between_two_pieces_of_a_word() {
    let house = house();
    let mut first = house.subscribed();
    first(begun("DEL")).unwrap();
    house.subscribed()(behind("xx")).unwrap();
    denied(house.subscribed()(behind("ETE")));
    let house = self::house();
    house.read("DEL");
    house.notifies("one", &behind("xx")).unwrap();
    denied(house.subscribed()(behind("ETE")));
    denied(house.notifies("two", &behind("ETE")));
    house.notifies("one", &behind("ETE")).unwrap();
}

#[test]
fn attack_a_stream_goes_on_behind_what_was_read_meanwhile() {
    // what was read is the place of what the stream told
    let house = house();
    let mut stream = house.subscribed();
    stream(begun("hello")).unwrap();
    house.read("DEL");
    denied(stream(behind("ETE")));
    stream(behind("ET")).unwrap();
    denied(stream(behind("E")));
    // also an earlier text of the same
    let house = self::house();
    let mut stream = house.subscribed();
    stream(begun("DEL")).unwrap();
    stream(behind("xx")).unwrap();
    house.read("DEL");
    denied(stream(behind("ETE")));
    // and one that has more than the stream will tell
    let house = self::house();
    let mut stream = house.subscribed();
    stream(begun("E")).unwrap();
    house.read("ETE, then DELE");
    denied(stream(behind("TE")));
}

#[test]
fn attack_the_same_words_are_told_elsewhere_in_pieces_that_are_put_together_otherwise() {
    let house = house();
    let mut stream = house.subscribed();
    stream(begun("dr")).unwrap();
    stream(behind("op")).unwrap();
    house.read("drop");
    denied(stream(behind("table")));
}

#[test]
fn attack_one_place_of_notifications_is_told_the_whole_and_the_other_goes_on() {
    let house = house();
    house.notifies("one", &begun("DEL")).unwrap();
    house.notifies("two", &begun("xx")).unwrap();
    denied(house.notifies("one", &behind("ETE")));
    denied(house.subscribed()(behind("ETE")));
    // what a place was told before is over once it has the whole anew
    let house = self::house();
    house.notifies("one", &begun("DEL")).unwrap();
    house.notifies("one", &begun("xx")).unwrap();
    house.subscribed()(behind("ETE")).unwrap();
}

#[test]
fn attack_so_many_other_texts_are_told_that_the_first_is_not_known_any_more() {
    let house = house_with(InspectLimits { told_versions: 4, ..InspectLimits::default() });
    let mut first = house.subscribed();
    first(begun("DEL")).unwrap();
    for n in 0..10 {
        house.read(&format!("{n} is another"));
    }
    for outcome in [house.subscribed()(behind("ETE")), first(behind("now"))] {
        let refusal = outcome.unwrap_err();
        assert_eq!(refusal.cause(), Some(Code::ContentUninspectable));
        assert!(
            refusal.detail().contains("more versions than can be judged together"),
            "{}",
            refusal.detail()
        );
    }
    // told whole it goes on, and no telling of a whole is ever refused
    first(begun("hello")).unwrap();
    first(behind(" you")).unwrap();
    let mut new = house.subscribed();
    new(begun("hello")).unwrap();
    new(behind(" all")).unwrap();
}

#[track_caller]
fn too_many(outcome: Result<(), Refusal>) {
    let refusal = outcome.unwrap_err();
    let code = refusal.cause().unwrap_or(refusal.code());
    let told = format!("{} {}", refusal.reason(), refusal.detail());
    assert!(code == Code::ContentUninspectable && told.contains("more versions than can be"), "{told}");
}

/// Who was left behind first was not judged with any more.
#[test]
fn attack_so_many_readers_are_left_behind_in_one_text_that_the_first_is_given_up() {
    let house = house_with(InspectLimits { told_versions: 4, ..InspectLimits::default() });
    let mut live = house.subscribed();
    live(begun("other")).unwrap();
    let mut whole = "DEL".to_owned();
    for n in 0..10 {
        house.subscribed()(begun(&whole)).unwrap();
        whole.push_str(&format!("{n} "));
    }
    too_many(house.subscribed()(behind("ETE")));
    too_many(house.notifies("one", &behind("ETE")));
    too_many(live(behind("ETE")));
    // told whole it goes on
    live(begun(&whole)).unwrap();
    live(behind("ETE")).unwrap();
    let mut new = house.subscribed();
    new(begun(&whole)).unwrap();
    new(behind("and more")).unwrap();
}

/// One place told what was behind or ahead of it together with its piece, and a third one told the rest.
#[test]
fn attack_what_one_stream_made_of_an_answer_goes_on_on_another() {
    for (first, read) in [("DELxx", "DEL"), ("x", "xDEL")] {
        let house = house();
        let (mut one, mut other) = (house.subscribed(), house.subscribed());
        other(begun("zz")).unwrap();
        house.notifies("one", &begun("yy")).unwrap();
        one(begun(first)).unwrap();
        house.read(read);
        one(behind("E")).unwrap();
        denied(other(behind("TE")));
        denied(house.notifies("one", &behind("TE")));
        other(behind("now")).unwrap();
    }
    // also where both tell the same pieces
    let house = house();
    let (mut late, mut ahead) = (house.subscribed(), house.subscribed());
    ahead(begun("DELxx")).unwrap();
    late(begun("DELxx")).unwrap();
    for word in ["E", "yy"] {
        ahead(behind(word)).unwrap();
    }
    house.read("DEL");
    late(behind("E")).unwrap();
    denied(ahead(behind("TE")));
}

#[test]
fn streams_that_are_read_beside_each_other_and_polled_are_never_refused() {
    for (lags, every) in [([0, 0, 0], 3), ([0, 1, 2], 1), ([0, 1, 1], 4), ([0, 2, 3], 7), ([0, 1, 3], 1_000)]
    {
        let house = house();
        let mut streams = [house.subscribed(), house.subscribed(), house.subscribed()];
        let words: Vec<String> = (0..60).map(|n| format!("word{n} ")).collect();
        for round in 0_usize..60 {
            for (stream, lag) in streams.iter_mut().zip(lags) {
                if let Some(at) = round.checked_sub(lag).and_then(|at| words.get(at).map(|word| (at, word))) {
                    stream(piece(at.1, at.0 > 0)).unwrap();
                }
            }
            if round % every == 1 {
                // ahead of all, or behind some
                house.read(&words[..round + round % 2].concat());
            }
            if round % 5 == 4 {
                house.notifies("one", &begun(&words[..round].concat())).unwrap();
            }
            if round == 10 {
                house.read(&words[..11].concat());
            }
        }
    }
}

#[test]
fn an_agent_that_streams_is_read_and_pushes_growing_tasks_meanwhile() {
    let house = house();
    let (mut early, words) = (house.subscribed(), ["one ", "two ", "three ", "four ", "five "]);
    // one that is told nothing until it subscribes
    let mut late = house.subscribed();
    let mut whole = String::new();
    for round in 0..20 {
        let word = words[round % words.len()];
        if round % 3 == 1 {
            // the answer is ahead of the stream
            house.read(&format!("{whole}{word}"));
        }
        let update = piece(word, round > 0);
        early(update.clone()).unwrap();
        if round % 3 == 0 && round > 0 {
            // and behind it
            house.read(&whole);
        }
        if round > 0 {
            house.notifies("one", &begun(&whole)).unwrap();
        }
        whole.push_str(word);
        house.notifies("one", &begun(&whole)).unwrap();
        house.notifies("two", &update).unwrap();
        if round > 7 {
            late(update).unwrap();
        }
    }
    early(begun(&whole)).unwrap();
    early(behind("and six")).unwrap();
}

#[test]
fn a_caller_whose_streams_break_subscribes_again_and_again() {
    for snapshots in [false, true] {
        let house = house();
        let mut whole = String::new();
        for round in 0..30 {
            let mut stream = house.subscribed();
            if snapshots && round > 0 {
                stream(begun(&whole)).unwrap();
            }
            for (n, word) in ["some ", "more "].into_iter().enumerate() {
                stream(piece(word, round + n > 0)).unwrap();
                whole.push_str(word);
            }
        }
        denied(house.subscribed()(behind("DELETE")));
    }
}

#[test]
fn an_agent_that_tells_whole_texts_and_never_appends_is_not_refused_for_their_number() {
    let house = house();
    let (mut one, mut two) = (house.subscribed(), house.subscribed());
    for n in 0..50 {
        one(begun(&format!("{n} percent"))).unwrap();
        house.read(&format!("{n} per cent"));
        two(begun(&format!("{n}%"))).unwrap();
        house.notifies("one", &begun(&format!("{n} of 50"))).unwrap();
    }
    one(begun("done")).unwrap();
    one(behind(" now")).unwrap();
}

#[test]
fn attack_pieces_of_a_word_come_in_turn_on_streams_that_began_alike() {
    // who reads all of them, in the order in which they pass
    let house = house();
    let (mut one, mut two) = (house.subscribed(), house.subscribed());
    one(begun("DEL")).unwrap();
    two(begun("DEL")).unwrap();
    one(behind("E")).unwrap();
    two(behind("T")).unwrap();
    denied(one(behind("E")));
    one(behind("x")).unwrap();
    let pieces = ["r", "o", "p"];
    for way in 0..27_usize {
        let house = self::house();
        let mut streams = [house.subscribed(), house.subscribed(), house.subscribed()];
        for stream in &mut streams {
            stream(begun("d")).unwrap();
        }
        let mut rest = way;
        for piece in pieces {
            streams[rest % 3](behind(piece)).unwrap();
            rest /= 3;
        }
        for (n, mut stream) in streams.into_iter().enumerate() {
            let refused = stream(behind(" table"));
            assert!(refused.is_err(), "in the {way}th way, on stream {n}");
            denied(refused);
        }
    }
}

#[test]
fn bug_an_artifact_was_refused_beside_two_who_began_to_read_in_the_middle() {
    let word = |n: usize| format!("word{n} ");
    // by streams or by notifications that begin behind the second piece, who are told each piece before the stream is, after it, or in turn
    for (late, order) in (0..3).flat_map(|late| (0..3).map(move |order| (late, order))) {
        let house = house();
        let mut main = house.subscribed();
        main(begun(&word(0))).unwrap();
        main(behind(&word(1))).unwrap();
        let mut streams: Vec<_> = (0..late).map(|_| house.subscribed()).collect();
        for n in 2..60 {
            let piece = behind(&word(n));
            let places = streams.len() + 3;
            for at in 0..places {
                let at = match order {
                    0 => at,
                    1 => places - 1 - at,
                    _ => (at + n) % places,
                };
                let told = match at {
                    0 => main(piece.clone()),
                    1 => house.notifies("one", &piece),
                    2 => house.notifies("two", &piece),
                    stream => streams[stream - 3](piece.clone()),
                };
                told.unwrap_or_else(|refusal| {
                    panic!("piece {n}, place {at} of {late} in order {order}: {}", refusal.detail())
                });
            }
        }
    }
}

#[test]
fn bug_an_artifact_that_was_streamed_in_more_than_64_pieces_could_not_be_read() {
    let house = house();
    let mut stream = house.subscribed();
    stream(begun("a ")).unwrap();
    for _ in 1..200 {
        stream(behind("a ")).unwrap();
    }
    house.reads(&["a "; 200]).unwrap();
    let refused = house.reads(&["a "; 4_097]).unwrap_err();
    assert_eq!(refused.cause(), Some(Code::TooComplex), "{}", refused.detail());
}

#[test]
fn attack_a_place_begins_with_a_piece_that_was_told_before_the_last_one() {
    let house = house();
    let mut first = house.subscribed();
    first(begun("T")).unwrap();
    first(behind("DELE")).unwrap();
    house.subscribed()(behind("zz")).unwrap();
    let mut late = house.subscribed();
    late(behind("T")).unwrap();
    denied(late(behind("E")));
}
