//! What is written is read again, damage included.

use super::*;

#[test]
fn a_server_whose_tools_changed_is_known_after_a_restart_and_damage_makes_every_server_one() {
    let dir = tempfile::tempdir().unwrap();
    let routes: Routes =
        [("r", "spiffe://t/tools")].map(|(name, of)| (name.to_owned(), of.to_owned())).into();
    let path = dir.path().join("tools.jsonl");
    assert!(restore(&path, &routes).unwrap().is_empty(), "nothing was written yet");
    drop(rewrite(["spiffe://t/a", "spiffe://t/b"].iter(), &path).unwrap());
    let known: Vec<_> = restore(&path, &routes).unwrap().into_iter().collect();
    assert_eq!(known, ["spiffe://t/a", "spiffe://t/b"]);
    std::fs::write(&path, "\"spiffe://t/a\"\n{}\n\"spiffe://t/b\"\n").unwrap();
    let known: Vec<_> = restore(&path, &routes).unwrap().into_iter().collect();
    assert_eq!(known, ["spiffe://t/a", "spiffe://t/b", "spiffe://t/tools"]);
    assert!(path.with_extension("damaged").exists());
}

#[test]
fn attack_a_memory_of_changed_tools_that_was_emptied_or_cut() {
    let routes: Routes =
        [("r", "spiffe://t/tools")].map(|(name, of)| (name.to_owned(), of.to_owned())).into();
    for (text, expected) in [
        ("", &["spiffe://t/tools"][..]),
        ("\"spiffe://t/a\"\n\"spiffe://t/to", &["spiffe://t/a", "spiffe://t/tools"]),
        ("\"spiffe://t/a\"", &["spiffe://t/tools"]),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tools.jsonl");
        std::fs::write(&path, text).unwrap();
        let known: Vec<_> = restore(&path, &routes).unwrap().into_iter().collect();
        assert_eq!(known, expected, "{text:?}");
        assert_eq!(std::fs::read_to_string(path.with_extension("damaged")).unwrap(), text);
    }
}
