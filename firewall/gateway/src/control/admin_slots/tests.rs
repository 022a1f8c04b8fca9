//! Streams and ordinary connections take no slot from each other.

use super::*;

#[tokio::test]
async fn a_stream_gives_the_slot_of_its_connection_back() {
    let slots = AdminSlots::new();
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        let slot = slots.connection().await.unwrap();
        streams.push(slot.clone().into_stream().unwrap());
        assert!(slot.is_stream());
    }
    assert_eq!(slots.connections.available_permits(), CONNECTIONS);
    let slot = slots.connection().await.unwrap();
    assert!(slot.clone().into_stream().is_none(), "no stream beyond the bound");
    assert!(!slot.is_stream());
    assert_eq!(slots.connections.available_permits(), CONNECTIONS - 1);
    streams.pop();
    assert!(slot.into_stream().is_some());
}

#[tokio::test]
async fn a_connection_holds_its_slot_until_its_last_owner_leaves() {
    let slots = AdminSlots::new();
    let slot = slots.connection().await.unwrap();
    let layer = slot.clone();
    drop(slot);
    assert_eq!(slots.connections.available_permits(), CONNECTIONS - 1);
    drop(layer);
    assert_eq!(slots.connections.available_permits(), CONNECTIONS);
}
