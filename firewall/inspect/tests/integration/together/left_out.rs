//! Readers who leave out what other places told: what they put together, and how long that is known.

use super::{
    generation,
    posts::{House, begun, behind, denied, house, house_of},
};
use crate::common::inspector;
use semgate_inspect::{Code, Delivered, Refusal};
use serde_json::Value;
use std::collections::HashMap;

type Stream<'h> = Box<dyn FnMut(Value) -> Result<(), Refusal> + 'h>;

/// Tells pieces in places: `p` and `q` are push targets, `g` an answer that tells the whole, any other a stream that begins with its first piece.
struct Places<'h> {
    house: &'h House,
    streams: HashMap<char, Stream<'h>>,
    begun: bool,
}

impl<'h> Places<'h> {
    fn of(house: &'h House) -> Self {
        Self { house, streams: HashMap::new(), begun: false }
    }

    fn tells(&mut self, place: char, text: &str) -> Result<(), Refusal> {
        let update = if std::mem::replace(&mut self.begun, true) { behind(text) } else { begun(text) };
        match place {
            'g' => {
                self.house.read(text);
                Ok(())
            }
            'p' => self.house.posted("one", &update, Delivered::Yes),
            'q' => self.house.posted("two", &update, Delivered::Yes),
            _ => {
                let house = self.house;
                let stream = self.streams.entry(place).or_insert_with(|| Box::new(house.subscribed()));
                stream(update)
            }
        }
    }

    fn breaks(&mut self, place: char) {
        self.streams.remove(&place);
    }
}

#[test]
fn attack_a_word_is_told_in_turn_to_who_leaves_out_what_other_places_told_between() {
    for told in [
        "m:DEL s:E m:TE",
        "m:DEL s:E t:TE",
        "m:DEL p:E t:TE",
        "p:DEL s:E m:TE",
        "p:DEL q:E m:TE",
        "m:DEL t:zz s:E m:TE",
        "m:DEL t:zz s:E s:TE",
        "m:DEL t:zz s:E t:yy p:TE",
        "m:DEL t:zz s:E t:yy q:TE",
        "m:DEL s:zz t:E p:yy q:TE",
        "m:DELxx g:DEL s:E t:TE",
        "m:DELxx g:DEL m:E t:TE",
        "m:DELxx g:DEL m:E t:zz s:TE",
        "m:E m:DEL t:zz s:E s:TE",
        "m:E m:DEL s:E t:zz s:TE",
        "m:E m:DEL g:EDEL t:zz s:E s:TE",
        // what one place told from its beginning in many pieces, and what others told from the middle
        "m:h0 m:h1 m:DEL g:one g:two t:aa u:bb v:cc t:dd u:ee v:ff s:ETE",
        "t:z0 u:DEL s:z1 g:z2 u:E t:z3 s:z4 v:z5 m:TE",
        "m:z0 u:DEL g:z2 u:E s:T m:z3 u:z4 p:E",
        "m:z0 s:z1 u:DEL g:z2 t:z3 u:E v:z4 w:z5 m:z6 x:TE",
        // who began in the middle behind several texts has each of them, and not the first alone
        "m:DE s:z1 t:L m:E t:TE",
        "m:DE p:z1 q:L m:E q:TE",
        "m:z0 s:z1 t:z2 u:DEL m:z4 t:ETE",
        "m:z0 s:DE m:L s:E t:z4 m:TE",
        // what stands within a longer piece was not told by itself
        "m:D s:ELET m:E",
        "m:x s:ETE_DEL m:ETE",
    ] {
        let house = house();
        let mut places = Places::of(&house);
        let mut told: Vec<_> = told.split(' ').map(|one| one.split_once(':').unwrap()).collect();
        let (place, last) = told.pop().unwrap();
        for (place, piece) in &told {
            places.tells(place.chars().next().unwrap(), piece).unwrap();
        }
        let refused = places.tells(place.chars().next().unwrap(), last);
        assert!(refused.is_err(), "{told:?}");
        denied(refused);
    }
}

#[test]
fn bug_what_one_place_told_was_given_up_after_its_third_piece() {
    let house = house();
    let mut places = Places::of(&house);
    for piece in ["h0 ", "h1 ", "DEL"] {
        places.tells('m', piece).unwrap();
    }
    for n in 0..40 {
        house.read(&format!("answer {n}"));
        places.tells(['t', 'u', 'v'][n % 3], &format!("z{n} ")).unwrap();
    }
    denied(places.tells('s', "ETE"));
}

/// What passed in all places together grew with each of them, until no text could hold it.
#[test]
fn bug_a_long_text_was_refused_beside_places_that_begin_in_the_middle() {
    let house = house();
    let mut places = Places::of(&house);
    let word = |n: usize| format!("{n} {}", "word ".repeat(400));
    for n in 0..40 {
        places.tells('m', &word(n)).unwrap();
        for (place, late) in [('p', 2), ('s', 3), ('t', 5)] {
            if n > late {
                places.tells(place, &word(n - late + 2)).unwrap();
            }
        }
    }
}

/// What its reader has who read another place before is longer than a text may be, and the artifact is not.
#[test]
fn bug_a_long_text_was_refused_beside_a_place_that_is_far_behind() {
    let house = house();
    let mut places = Places::of(&house);
    for n in 0..200 {
        places.tells('m', &long(n)).unwrap();
        for (place, late) in [('s', 60), ('p', 90)] {
            if n > 100 {
                places.tells(place, &long(n - late)).unwrap();
            }
        }
    }
    // in turns of several pieces, so that readers who change leave some out
    let (house, mut told) = (self::house(), (0, 40));
    let mut places = Places::of(&house);
    for turn in 0.. {
        (told.0..told.0 + 7 + turn % 5)
            .filter(|n| *n < 200)
            .for_each(|n| places.tells('m', &long(n)).unwrap());
        told.0 += 7 + turn % 5;
        if told.0 > 100 {
            let to = told.1 + 5 + turn % 7;
            (told.1..to).filter(|n| *n < 200).for_each(|n| places.tells('s', &long(n)).unwrap());
            told.1 = to;
        }
        if told.1 >= 200 {
            break;
        }
    }
    // the artifact itself is as long as it may be
    for n in 200..220 {
        places.tells('m', &long(n)).unwrap();
    }
    too_long(places.tells('m', &"x".repeat(1_500)));
}

#[test]
fn attack_a_place_that_begins_as_if_it_were_behind_puts_more_into_an_artifact_than_it_may_have() {
    for begins in [&[199][..], &[198], &[40, 41, 42], &[198, 199, 198], &[]] {
        let house = house();
        let mut places = Places::of(&house);
        (0..200).for_each(|n| places.tells('m', &long(n)).unwrap());
        for n in begins {
            places.tells('s', &long(*n)).unwrap();
        }
        let mut others = (500..560).map(|n| places.tells('s', &long(n)));
        too_long(others.find(Result::is_err).unwrap());
    }
}

fn long(n: usize) -> String {
    format!("{n} {}", "word ".repeat(89))
}

#[track_caller]
fn too_long(outcome: Result<(), Refusal>) {
    let refusal = outcome.unwrap_err();
    assert_eq!(refusal.cause().unwrap_or(refusal.code()), Code::ContentInvalid, "{}", refusal.detail());
    assert!(refusal.detail().contains("`maxLength`"), "{}", refusal.detail());
}

#[test]
fn a_stream_that_breaks_and_begins_again_in_the_middle_is_never_refused() {
    let house = house();
    let mut places = Places::of(&house);
    for n in 0..200 {
        places.tells('m', &format!("word{n} ")).unwrap();
        if n % 2 == 1 {
            places.breaks('m');
        }
        if n > 20 {
            places.tells('p', &format!("word{} ", n - 3)).unwrap();
            places.tells('q', &format!("word{} ", n - 7)).unwrap();
        }
    }
}

#[test]
fn attack_streams_break_until_what_their_readers_were_left_with_might_be_given_up() {
    for breaks in [0, 5, 20, 70] {
        let house = house();
        let mut places = Places::of(&house);
        places.tells('m', "DEL").unwrap();
        for n in 0..breaks {
            places.tells('s', &format!("word{n} ")).unwrap();
            places.breaks('s');
        }
        // who read the first place, and now reads another
        denied(places.tells('t', "ETE"));
        denied(places.tells('p', "ETE"));
        denied(places.tells('m', "ETE"));
        // who reads everywhere, and who read the last one
        places.tells('u', "drop ").unwrap();
        places.breaks('u');
        denied(places.tells('v', "table"));
        places.tells('v', "tab").unwrap();
    }
}

#[test]
fn attack_a_stream_that_begins_in_the_middle_is_read_alone() {
    let alone = r#"@id("alone") forbid(principal, action, resource is a2a::text) when { resource.text == "DELETE" };"#;
    let house = house_of(inspector(generation(alone)));
    let mut places = Places::of(&house);
    for (place, piece) in [('m', "hello "), ('s', "DEL"), ('m', "you "), ('s', "E")] {
        places.tells(place, piece).unwrap();
    }
    denied(places.tells('s', "TE"));
}
