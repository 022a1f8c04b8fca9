//! The index: whatever happens to it, the next start has one that says what the log says, and says why.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

fn listed(n: u64) -> Vec<ListedContext> {
    (0..n)
        .map(|i| ListedContext {
            urn: ContextUrn::parse(&format!("urn:contexts:line{i}:v1.0"), &Prefix::default()).unwrap(),
            digest: Digest::of(&i.to_be_bytes()),
            index: i,
            status: Status::from_bits((i % 4) as u8),
        })
        .collect()
}

fn at(size: u64) -> Position {
    Position { size, root: TreeHash([size as u8; 32]) }
}

fn open_at(dir: &Path, size: u64) -> (Index, Option<Reason>) {
    Index::open(dir, &Prefix::default(), at(size), &listed(size)).unwrap()
}

/// An index of 50 contexts, closed.
fn filled(dir: &Path) {
    let (index, reason) = open_at(dir, 50);
    assert_eq!(reason, Some(Reason::Missing));
    index.flush().unwrap();
}

fn says_what_the_log_says(index: &Index, size: u64) {
    assert_eq!(index.all().unwrap(), listed(size));
    for one in listed(size) {
        let record = Record { digest: one.digest, index: one.index, status: one.status };
        assert_eq!(index.get(&one.urn).unwrap(), Some(record));
        assert!(index.is_published(&one.digest).unwrap());
    }
}

#[test]
fn a_good_index_is_opened_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    filled(&dir.path().join("index"));
    let (index, reason) = open_at(&dir.path().join("index"), 50);
    assert_eq!(reason, None);
    says_what_the_log_says(&index, 50);
    assert!(!index.is_published(&Digest::of(b"another")).unwrap());
}

#[test]
fn an_index_behind_the_log_is_rebuilt() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path().join("index").as_path());
    let (index, reason) = open_at(&dir.path().join("index"), 60);
    assert_eq!(reason, Some(Reason::Behind));
    says_what_the_log_says(&index, 60);
}

#[test]
fn an_index_that_says_something_else_is_rebuilt() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("index");
    filled(&path);
    let (index, _) = open_at(&path, 50);
    let mut lie = listed(1);
    lie[0].digest = Digest::of(b"poison");
    index.update(at(50), &lie).unwrap();
    index.flush().unwrap();
    drop(index);
    let (index, reason) = open_at(&path, 50);
    assert!(matches!(reason, Some(Reason::Damaged(_))), "{reason:?}");
    says_what_the_log_says(&index, 50);
    drop(index);
    let (_, reason) =
        Index::open(&path, &Prefix::default(), Position { size: 50, root: TreeHash([9; 32]) }, &listed(50))
            .unwrap();
    assert_eq!(reason, Some(Reason::Damaged("it belongs to another log".to_owned())));
}

#[test]
fn a_file_where_the_directory_should_be_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("index");
    fs::write(&path, b"not a directory").unwrap();
    let (index, reason) = open_at(&path, 5);
    assert!(matches!(reason, Some(Reason::Damaged(_))), "{reason:?}");
    says_what_the_log_says(&index, 5);
}

/// Every file of sled deleted, emptied, cut in half, overwritten, and with a byte changed here and there.
#[test]
fn an_index_damaged_in_any_file_is_rebuilt_or_unharmed_but_never_wrong() {
    let whole = tempfile::tempdir().unwrap();
    filled(&whole.path().join("index"));
    let mut all = Vec::new();
    files(&whole.path().join("index"), &mut all);
    assert!(!all.is_empty());
    let mut rebuilt = 0;
    for path in &all {
        let bytes = fs::read(path).unwrap();
        let name = path.strip_prefix(whole.path()).unwrap();
        let mut damages: Vec<Option<Vec<u8>>> = vec![
            None,
            Some(Vec::new()),
            Some(bytes[..bytes.len() / 2].to_vec()),
            Some(vec![0xa5; bytes.len().min(4096)]),
        ];
        for at in [0, 1, 16, 100, 700, 3000] {
            if at < bytes.len() {
                let mut changed = bytes.clone();
                changed[at] ^= 0x5a;
                damages.push(Some(changed));
            }
        }
        for damage in damages {
            let dir = tempfile::tempdir().unwrap();
            copy(whole.path(), dir.path());
            match damage {
                None => fs::remove_file(dir.path().join(name)).unwrap(),
                Some(bytes) => fs::write(dir.path().join(name), bytes).unwrap(),
            }
            let (index, reason) = open_at(&dir.path().join("index"), 50);
            rebuilt += u64::from(reason.is_some());
            says_what_the_log_says(&index, 50);
        }
    }
    assert!(rebuilt > 0);
}

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for name in crate::disk::list(dir).unwrap() {
        let path = dir.join(name);
        if path.is_dir() { files(&path, out) } else { out.push(path) }
    }
}

fn copy(from: &Path, to: &Path) {
    let mut all = Vec::new();
    files(from, &mut all);
    for path in all {
        let target = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(path, target).unwrap();
    }
}

#[test]
fn majors_that_name_lines_are_found_among_lines_that_only_look_like_it() {
    let dir = tempfile::tempdir().unwrap();
    let published = [
        "shop:v1.0",
        "shop:v9.0",
        "shop.v2:v1.0",
        "shop.v2:v1.1",
        "shop.v2.inner:v1.0",
        "shop.v3.inner:v1.0",
        "shop.v4x:v1.0",
        "shop.v20:v1.0",
        "shop.value:v1.0",
        "shop.visa.v5:v1.0",
        "shop.w6:v1.0",
        "shopping.v7:v1.0",
    ];
    let listed: Vec<ListedContext> = (0..)
        .zip(published)
        .map(|(index, name)| ListedContext {
            urn: ContextUrn::parse(&format!("urn:contexts:{name}"), &Prefix::default()).unwrap(),
            digest: Digest::of(name.as_bytes()),
            index,
            status: Status::Valid,
        })
        .collect();
    let (index, _) = Index::open(&dir.path().join("index"), &Prefix::default(), at(12), &listed).unwrap();
    let majors = |name: &str| {
        let urn = ContextUrn::parse(&format!("urn:contexts:{name}"), &Prefix::default()).unwrap();
        index.majors_followed_by_lines(&urn).unwrap().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(majors("shop:v1.0"), [2, 20]);
    assert_eq!(majors("shop.visa:v1.0"), [5]);
    assert_eq!(majors("shopping:v1.0"), [7]);
    assert_eq!(majors("shop.v2:v1.0"), [0; 0]);
}
