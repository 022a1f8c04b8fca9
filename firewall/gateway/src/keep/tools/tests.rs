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
