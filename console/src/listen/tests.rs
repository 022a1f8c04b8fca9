//! Tests of `listen`.

use super::*;
use crate::router::router;
use crate::tests::Bed;

#[tokio::test]
async fn attack_strangers_that_fill_their_slots_take_none_of_a_person() {
    let bed = Bed::new();
    let shared = Shared::new(Arc::clone(&bed.app), router(&bed.app));
    let taken: Vec<_> = std::iter::from_fn(|| shared.slot(false)).collect();
    assert_eq!(taken.len(), CONNECTIONS);
    assert!(shared.slot(false).is_none() && shared.slot(true).is_some());
    drop(taken);
    assert!(shared.slot(false).is_some(), "a slot that was given back serves again");
}
