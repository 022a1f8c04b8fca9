//! What was told, what may be missing of it, and how much of it is remembered.

use super::*;
use crate::owners::Joints;

const MOST: Most = Most { versions: 3, mixed: 3, order: 1_024 };
const EACH: TextBounds = TextBounds { bytes: 20, artifacts: 2, versions: MOST };

fn pieces(texts: &[&str]) -> Arc<Pieces> {
    Arc::new(Pieces::of(texts.iter().copied()))
}

fn whole(text: &str) -> Held {
    Held::whole(Pieces::of([text]))
}

fn text_of(text: &str) -> Telling {
    Telling::sure(whole(text))
}

fn tell(told: &Told, task: &str, id: &str, text: &str) {
    let scope = Scope::new("w", None);
    told.tell((&scope, task, id), true, None, (By::Answer, &whole(text))).unwrap().unwrap();
}

#[test]
fn what_was_forgotten_is_lost_and_not_new() {
    let told = Told::new(EACH, 2 * TASK + 30);
    let scope = Scope::new("w", None);
    let known = |task: &str, id: &str, before| told.known(&scope, task, id, before);
    assert!(matches!(known("t-1", "a", false), Known::New));
    tell(&told, "t-1", "a", "one");
    tell(&told, "t-2", "a", "two");
    assert!(matches!(known("t-1", "a", true), Known::Told(standing) if standing.len() == 3));
    tell(&told, "t-3", "a", "three");
    assert!(matches!(known("t-1", "a", true), Known::Lost), "the oldest");
    tell(&told, "t-1", "b", "again");
    assert!(matches!(known("t-1", "a", true), Known::Lost), "also when something of the task is known again");
    let tenant = Scope::new("w", Some("t-1"));
    assert!(matches!(told.known(&tenant, "a", "b", false), Known::New));
}

#[test]
fn artifacts_and_their_ids_are_bounded() {
    let mut texts = Texts::default();
    texts.keep("a", text_of("0123456789"), EACH).unwrap();
    texts.keep("an-id-of-ten", text_of(""), EACH).unwrap();
    assert!(texts.get("an-id-of-ten").unwrap().text.is_none(), "its id alone is too much");
    assert_eq!(texts.keep("c", Telling::default(), EACH), Err(TooMany));
    texts.keep("a", text_of("0"), EACH).unwrap();
    assert_eq!((texts.len(), texts.bytes), (2, 14));
}

#[test]
fn attack_two_streams_of_a_task_at_once() {
    let told = Told::new(EACH, 1_000);
    let (scope, one, two) = (Scope::new("w", None), Reader::default(), Reader::default());
    let at = (&scope, "t-1", "a");
    told.tell(at, false, None, (By::Answer, &whole("x"))).unwrap();
    let seen = told.known(&scope, "t-1", "a", true);
    let put = |text: &str| {
        let Known::Told(standing) = &seen else { panic!("nothing was told") };
        let added = Pieces::of([text]);
        let held = Held::default().beside(standing, &added, MOST).unwrap();
        let behind = |before: &Pieces, _: &Joints| {
            let mut whole = before.clone();
            whole.push(text);
            Ok::<_, ()>(Arc::new(whole))
        };
        held.put(behind).unwrap()
    };
    told.tell(at, true, Some(&seen), (By::Stream(&one), &put("y"))).unwrap();
    // the same piece on both is one text
    told.tell(at, true, Some(&seen), (By::Stream(&two), &put("y"))).unwrap();
    let late = told.tell(at, true, Some(&seen), (By::Stream(&two), &put("z")));
    assert_eq!(late, Err(Moved), "judged behind less than was told");
}

#[test]
fn what_a_notification_said_stays_unsettled_until_all_that_say_it_are_answered() {
    let begun = text_of("DEL");
    let held = |pieces: &Arc<Pieces>| Held::whole(Arc::clone(pieces));
    let more = pieces(&["DEL", "xx"]);
    let mut one = begun.unsure(held(&more)).on_its_way();
    one.settle(&more, Delivered::No);
    assert!(one.without.is_some(), "the other is on its way");
    one.settle(&more, Delivered::No);
    assert!(one.without.is_none() && one.own().unwrap().says(&pieces(&["DEL"])));
    let mut one = begun.unsure(held(&more));
    one.settle(&pieces(&["DEL"]), Delivered::Yes);
    assert!(one.without.is_some(), "another one arrived");
    one.settle(&more, Delivered::Unknown);
    assert!(one.without.is_some());
    one.settle(&more, Delivered::Yes);
    assert!(one.without.is_none() && one.own().unwrap().says(&more));
    // two that may be missing, each by itself
    let mut two = begun.unsure(held(&more)).unsure(held(&pieces(&["DEL", "xx", "yy"])));
    assert!(two.without.as_ref().unwrap().text.is_none());
    two.settle(&pieces(&["DEL", "xx", "yy"]), Delivered::No);
    two.settle(&more, Delivered::No);
    assert!(two.without.is_some(), "what stands without them is not known");
}

#[test]
fn nobody_tells_anything_of_a_task_whose_turn_somebody_has() {
    let told = Told::new(EACH, 1_000);
    let scope = Scope::new("w", None);
    let turn = told.turn(&scope, "t-1");
    std::thread::scope(|threads| {
        let other = threads.spawn(|| drop(told.among_others(&scope, "t-1")));
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!other.is_finished());
        drop(turn);
        other.join().unwrap();
    });
}
