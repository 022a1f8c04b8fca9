use super::*;

#[test]
fn the_last_status_of_each_index_after_a_size_is_told_and_nothing_that_is_forgotten() {
    let mut changes = Changes::default();
    for (size, index, status) in
        [(5, 1, Status::Suspended), (6, 2, Status::Invalid), (7, 1, Status::Valid), (7, 3, Status::Invalid)]
    {
        changes.note(size, index, status);
    }
    let changed = |size| changes.after(size).unwrap().into_iter().collect::<Vec<_>>();
    assert_eq!(changed(0), [(1, Status::Valid), (2, Status::Invalid), (3, Status::Invalid)]);
    assert_eq!(changed(6), [(1, Status::Valid), (3, Status::Invalid)]);
    assert_eq!(changed(7), []);
    let copy = changes.clone();
    for n in 0..MAX_CHANGES as u64 {
        changes.note(10 + n, n, Status::Invalid);
    }
    assert_eq!(changes.after(9), None, "some of what came after is forgotten");
    let since = changes.since;
    assert_eq!(changes.after(since - 1), None);
    assert_eq!(changes.after(since).unwrap().len() as u64, MAX_CHANGES as u64 + 9 - since);
    assert_eq!(copy.after(0).unwrap().len(), 3, "a clone stays what it was");
}
