use super::*;

fn tile(n: u64) -> Key {
    Key::Tile(TilePath::Entries { n, width: 256 })
}

#[test]
fn the_bound_in_bytes_holds_and_large_answers_are_not_kept() {
    let cache = Cache::new(16 * (1000 + OVERHEAD));
    let document = |n: u8| Document::new(vec![n; 1000]);
    (0..20).for_each(|n| cache.keep(tile(n), &document(n as u8), None));
    (0..20).for_each(|n| cache.keep(tile(n), &document(n as u8), None));
    let here: Vec<u64> = (0..20).filter(|n| cache.get(&tile(*n)).is_some()).collect();
    assert!((8..=16).contains(&here.len()), "{here:?}");
    assert!(cache.answers.weight() <= cache.max as u64);
    assert!(here.iter().all(|n| cache.get(&tile(*n)).unwrap().bytes[0] == *n as u8));
    cache.keep(tile(99), &Document::new(vec![0; 4000]), None);
    assert!(cache.get(&tile(99)).is_none());
}

#[test]
fn a_document_whose_file_was_touched_or_removed_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("document");
    let key = Key::Digest(Digest::of(b"document"));
    let cache = Cache::new(1 << 20);
    let keep = || {
        fs::write(&path, b"document").unwrap();
        cache.keep(key.clone(), &Document::new(b"document".to_vec()), Stamp::of(&path));
        assert!(cache.get(&key).is_some());
    };
    keep();
    fs::write(&path, b"Document").unwrap();
    assert!(cache.get(&key).is_none());
    keep();
    fs::remove_file(&path).unwrap();
    assert!(cache.get(&key).is_none());
    assert_eq!(cache.answers.weight(), 0);
}
