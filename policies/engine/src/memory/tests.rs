//! Tests of `memory`.

use super::{Key, Memory};
use crate::credentials::Window;
use crate::{Obligations, Texts, Verdict};

fn key(packed: u128) -> Key {
    Key { packed, sender_holds: 0, receiver_holds: 0 }
}

#[test]
fn a_verdict_is_found_under_its_own_key_only_and_the_table_stays_bounded() {
    let memory = Memory::new(60);
    assert_eq!(memory.slots.len(), 64);
    let verdict = |n: u128| Verdict::Permitted {
        policies: Texts::from_iter([n.to_string()]),
        obligations: Obligations::default(),
    };
    for n in 0..10_000_u128 {
        memory.put(key(n << 40), &verdict(n), Window::ALWAYS);
        assert_eq!(memory.get(key(n << 40), 0), Some(verdict(n)));
        assert_eq!(memory.get(key((n << 40) + 1), 0), None);
        assert_eq!(memory.get(Key { sender_holds: 1, ..key(n << 40) }, 0), None);
        assert_eq!(memory.get(Key { receiver_holds: 1, ..key(n << 40) }, 0), None);
    }
    let held = (0..10_000_u128).filter(|n| memory.get(key(n << 40), 0).is_some()).count();
    assert!((32..=64).contains(&held), "{held}");
}

#[test]
fn no_slots_remember_nothing() {
    let memory = Memory::new(0);
    memory.put(key(1), &Verdict::Untypable { path: String::new(), rule: "decimal" }, Window::ALWAYS);
    assert_eq!(memory.get(key(1), 0), None);
}

#[test]
fn a_verdict_is_remembered_for_its_time_alone() {
    let memory = Memory::new(4);
    memory.put(
        key(1),
        &Verdict::Untypable { path: String::new(), rule: "decimal" },
        Window { from: 10, until: 20 },
    );
    let remembered = |now| memory.get(key(1), now).is_some();
    assert_eq!([9, 10, 19, 20].map(remembered), [false, true, true, false]);
}
