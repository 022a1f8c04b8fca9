use super::*;

fn posted(memory: &mut Memory, ticket: u64, text: &str) {
    let pending = Pending::after(memory.remove("a"), ticket);
    memory.push(Entry { id: "a".into(), text: Some(Pieces::of([text])), pending: Some(pending) }, 10_000);
}

fn is_settled(memory: &Memory) -> Option<bool> {
    memory.entry("a").map(|entry| entry.pending.is_none())
}

#[test]
fn attack_a_later_whole_that_is_answered_first_hides_an_earlier_one_on_its_way() {
    let mut memory = Memory::default();
    posted(&mut memory, 1, "DEL");
    posted(&mut memory, 2, "hello ");
    memory.settle(2, Delivered::Yes);
    assert_eq!(is_settled(&memory), Some(false), "the first is on its way");
    memory.settle(1, Delivered::Yes);
    assert_eq!(is_settled(&memory), None, "the target may have taken either last");
    posted(&mut memory, 3, "anew");
    memory.settle(3, Delivered::Yes);
    assert_eq!(is_settled(&memory), Some(true));
}

#[test]
fn attack_a_lost_notification_is_hidden_by_a_later_whole() {
    let mut memory = Memory::default();
    posted(&mut memory, 1, "DEL");
    memory.settle(1, Delivered::Unknown);
    posted(&mut memory, 2, "hello ");
    memory.settle(2, Delivered::Yes);
    assert_eq!(is_settled(&memory), Some(false), "the first may still arrive");
}

#[test]
fn a_notification_that_did_not_arrive_leaves_the_text_before_it() {
    let mut memory = Memory::default();
    posted(&mut memory, 1, "one");
    memory.settle(1, Delivered::Yes);
    posted(&mut memory, 2, "two");
    memory.settle(2, Delivered::No);
    let text = memory.entry("a").and_then(|entry| entry.text.clone());
    assert!(text.is_some_and(|text| text.says(&Pieces::of(["one"]))));
}
