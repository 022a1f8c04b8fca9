//! What is written is read again, cut lines and damage included.

use super::*;

fn owned(id: &str, owner: &str) -> Owned {
    Owned {
        agent: "w".to_owned(),
        tenant: None,
        kind: Kind::Task,
        id: id.to_owned(),
        owner: owner.to_owned(),
        context: "urn:contexts:travel:v2.1".to_owned(),
        digest: format!("sha-256:{}", "0".repeat(64)),
        delivery: None,
    }
}

fn routes() -> Routes {
    [("rpc", "w"), ("grpc", "w"), ("other", "o")].map(|(a, b)| (a.to_owned(), b.to_owned())).into()
}

fn file(lines: &[Line]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in lines {
        append(&mut bytes, line).unwrap();
    }
    bytes
}

fn ids(bytes: &[u8]) -> (Vec<String>, bool) {
    let (things, whole) = read(bytes, &routes()).unwrap();
    (things.into_iter().map(|owned| format!("{}:{}", owned.id, owned.owner)).collect(), whole)
}

#[test]
fn what_was_forgotten_stays_forgotten_and_the_last_owner_counts() {
    let bytes = file(&[
        Line::Learnt(owned("t-1", "a")),
        Line::Learnt(owned("t-2", "a")),
        Line::Forgotten(owned("t-1", "a")),
        Line::Learnt(owned("t-1", "b")),
        Line::Forgotten(owned("t-3", "a")),
    ]);
    assert_eq!(ids(&bytes), (vec!["t-2:a".to_owned(), "t-1:b".to_owned()], true));
}

#[test]
fn a_line_that_a_crash_cut_is_left_out_and_damage_is_told() {
    let good = file(&[Line::Learnt(owned("t-1", "a"))]);
    let mut cut = good.clone();
    cut.extend_from_slice(br#"{"learnt":{"agent":"w","#);
    assert_eq!(ids(&cut), (vec!["t-1:a".to_owned()], true));
    let mut damaged = good.clone();
    damaged.extend_from_slice(b"\0\0\0\n");
    damaged.extend_from_slice(&good);
    assert_eq!(ids(&damaged), (vec!["t-1:a".to_owned()], false));
    let mut endless = good;
    endless.extend(std::iter::repeat_n(b'x', MAX_LINE as usize + 1));
    assert!(!ids(&endless).1);
}

#[test]
fn attack_damage_of_one_line_makes_nobody_elses_what_comes_after_it() {
    let mut bytes = file(&[Line::Learnt(owned("t-1", "a"))]);
    bytes.extend_from_slice(b"\0\0\0\n");
    bytes.extend(std::iter::repeat_n(b'x', 100_000));
    bytes.push(b'\n');
    bytes.extend(file(&[Line::Learnt(owned("t-2", "b")), Line::Forgotten(owned("t-1", "a"))]));
    assert_eq!(ids(&bytes), (vec!["t-2:b".to_owned()], false));
    // nor does a record that can be read and not be taken
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("owners.jsonl");
    let foreign = Owned { context: "urn:other:travel:v2.1".to_owned(), ..owned("t-1", "a") };
    std::fs::write(&path, file(&[Line::Learnt(foreign), Line::Learnt(owned("t-2", "b"))])).unwrap();
    let owners = Owners::new(10, 100);
    restore(&owners, &path, &Prefix::default(), &routes()).unwrap();
    assert_eq!(owners.export(), [owned("t-2", "b")]);
    assert!(dir.path().join("owners.damaged").exists());
}

#[test]
fn the_file_written_anew_holds_what_is_remembered_and_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("owners.jsonl");
    let owners = Owners::new(10, 100);
    owners.import([owned("t-1", "a"), owned("t-2", "b")], &Prefix::default()).unwrap();
    drop(rewrite(owners.export().into_iter().map(Line::Learnt), &path).unwrap());
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let again = Owners::new(10, 100);
    restore(&again, &path, &Prefix::default(), &routes()).unwrap();
    assert_eq!(again.export(), owners.export());
    std::fs::write(&path, b"not a line\n").unwrap();
    restore(&Owners::new(10, 100), &path, &Prefix::default(), &routes()).unwrap();
    assert!(dir.path().join("owners.damaged").exists());
}

#[test]
fn records_of_the_first_version_are_read_by_the_routes_that_they_name() {
    let before = |word: &str, route: &str, id: &str, owner: &str| {
        let record = serde_json::json!({word: {"route": route, "kind": "task", "id": id, "owner": owner,
            "context": "urn:contexts:travel:v2.1", "digest": format!("sha-256:{}", "0".repeat(64))}});
        format!("{record}\n")
    };
    let text = [
        before("learnt", "rpc", "t-1", "a"),
        before("learnt", "gone", "t-2", "a"),
        before("learnt", "rpc", "t-3", "a"),
        before("forgotten", "rpc", "t-3", "a"),
        // the same id on two routes of one agent: whose it is cannot be said
        before("learnt", "rpc", "t-4", "a"),
        before("learnt", "grpc", "t-4", "b"),
        before("learnt", "grpc", "t-5", "a"),
        before("learnt", "rpc", "t-5", "a"),
        before("learnt", "other", "t-1", "b"),
    ]
    .concat();
    let (things, whole) = read(text.as_bytes(), &routes()).unwrap();
    assert!(whole);
    let read: Vec<_> =
        things.iter().map(|it| (it.id.as_str(), it.owner.as_str(), it.agent.as_str())).collect();
    assert_eq!(read, [("t-1", "a", "w"), ("t-5", "a", "w"), ("t-5", "a", "w"), ("t-1", "b", "o")]);
    // a file of both forms, as after a start that could not write it anew
    let mixed = [text.into_bytes(), file(&[Line::Learnt(owned("t-6", "b"))])].concat();
    assert_eq!(ids(&mixed).0.last().map(String::as_str), Some("t-6:b"));
}
