use super::*;

fn thing(n: u64) -> Digest {
    Digest::of(&n.to_be_bytes())
}

fn take(memory: &ReplayMemory, once: Digest, signer: &str, now: u64) -> Result<(), NotTaken> {
    memory.take(once, &signer.into(), now, now + KEPT)
}

#[test]
fn a_message_that_ends_later_does_not_keep_others() {
    let memory = ReplayMemory::new();
    memory.take(thing(1), &"a".into(), 1_000, 9_000).unwrap();
    memory.take(thing(2), &"a".into(), 1_000, 1_001).unwrap();
    assert_eq!(memory.take(thing(1), &"a".into(), 1_002, 9_000), Err(NotTaken::Replayed));
    memory.take(thing(2), &"a".into(), 1_002, 1_003).unwrap();
}

#[test]
fn what_was_taken_is_replayed_for_as_long_as_it_is_fresh() {
    let memory = ReplayMemory::new();
    take(&memory, thing(1), "a", 1_000).unwrap();
    assert_eq!(take(&memory, thing(1), "a", 1_000), Err(NotTaken::Replayed));
    assert_eq!(take(&memory, thing(1), "b", 1_000 + KEPT), Err(NotTaken::Replayed));
    take(&memory, thing(2), "a", 1_000 + KEPT + 1).unwrap();
    assert_eq!(memory.taken.lock().unwrap().order.len(), 1);
}

#[test]
fn one_signer_cannot_fill_the_memory_and_a_full_one_takes_nothing() {
    let memory = ReplayMemory::new();
    for n in 0..MAX_REMEMBERED_OF_ONE as u64 {
        take(&memory, thing(n), "a", 1_000).unwrap();
    }
    assert_eq!(take(&memory, thing(9_999), "a", 1_000), Err(NotTaken::Full));
    take(&memory, thing(9_999), "b", 1_000).unwrap();
    for n in 0..(MAX_REMEMBERED - MAX_REMEMBERED_OF_ONE - 1) as u64 {
        take(&memory, thing(10_000 + n), &format!("c{}", n / 500), 1_000).unwrap();
    }
    assert_eq!(take(&memory, thing(99), "fresh", 1_000), Err(NotTaken::Replayed));
    assert_eq!(take(&memory, Digest::of(b"x"), "fresh", 1_000), Err(NotTaken::Full));
    take(&memory, Digest::of(b"x"), "fresh", 1_000 + KEPT + 1).unwrap();
}
