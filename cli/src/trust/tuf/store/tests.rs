//! Tests of `store`.

use super::*;
use semgate_statement::tuf;

fn targets(text: &str) -> MetadataDraft {
    let files = vec![("trust-list.json".to_owned(), text.as_bytes().to_vec())];
    let targets = Some(Metadata::draft(tuf::targets(&files, 1, 2_000_000_000).unwrap()));
    MetadataDraft { root: None, targets, files }
}

#[test]
fn attack_a_version_is_published_once_and_targets_without_a_timestamp_are_no_repository() {
    let dir = tempfile::tempdir().unwrap();
    let of = |said| Metadata::draft(said);
    let snapshot = of(tuf::snapshot(1, 1, 2_000_000_000).unwrap());
    let timestamp = of(tuf::timestamp(1, 1, 2_000_000_000).unwrap());
    let open = || Repository::open(dir.path());
    open().unwrap().publish(&targets("one"), &snapshot, &timestamp).unwrap();
    // cut short and repeated: the same bytes are there
    open().unwrap().publish(&targets("one"), &snapshot, &timestamp).unwrap();
    let before = std::fs::read(dir.path().join("metadata/1.targets.json")).unwrap();
    let refused = open().unwrap().publish(&targets("another"), &snapshot, &timestamp).unwrap_err();
    assert!(refused.to_string().contains("1.targets.json` exists with other content"), "{refused}");
    assert_eq!(std::fs::read(dir.path().join("metadata/1.targets.json")).unwrap(), before);
    assert_eq!(std::fs::read_dir(dir.path().join("targets")).unwrap().count(), 1, "nothing was written");
    std::fs::remove_file(dir.path().join("metadata/timestamp.json")).unwrap();
    let refused = open().err().unwrap();
    assert!(refused.to_string().contains("targets but no `timestamp.json`"), "{refused}");
}
