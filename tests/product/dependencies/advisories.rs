//! `deploy/advisories` over a made-up database: what concerns a locked version is printed, what is patched, unaffected or withdrawn is not.

use std::path::Path;
use std::process::{Command, Output};

fn write(dir: &Path, krate: &str, file: &str, text: &str) {
    let dir = dir.join("crates").join(krate);
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join(file), text).unwrap();
}

fn advisory(id: &str, krate: &str, more: &str, versions: &str) -> String {
    format!(
        "```toml\n[advisory]\nid = \"{id}\"\npackage = \"{krate}\"\n{more}\n[versions]\n{versions}\n```\n\n# A made-up title\n\ntext\n"
    )
}

fn check(database: &Path, lock: &Path) -> (Option<i32>, String) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/advisories");
    let Output { status, stdout, stderr } =
        Command::new("python3").arg(script).args([database, lock]).output().expect("python3");
    let text = [stdout, stderr].concat();
    (status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn an_advisory_is_printed_where_its_ranges_leave_a_locked_version_out() {
    let dir = tempfile::tempdir().unwrap();
    let lock = dir.path().join("Cargo.lock");
    let crates =
        [("weak", "1.2.3"), ("weak", "0.9.0"), ("old", "0.3.1"), ("fxhash", "0.2.1"), ("beta", "2.0.0-rc.2")];
    let mut text = "version = 4\n[[package]]\nname = \"ours\"\nversion = \"0.1.0\"\n".to_owned();
    for (name, version) in crates {
        text += &format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"registry\"\n");
    }
    std::fs::write(&lock, text).unwrap();
    let db = dir.path().join("db");
    write(
        &db,
        "weak",
        "RUSTSEC-2999-0001.md",
        &advisory("RUSTSEC-2999-0001", "weak", "", "patched = [\">=1.3.0\"]\nunaffected = [\"<1.0.0\"]"),
    );
    for (n, patched) in [">=1.2.3", "^1.2", "~1.2.1", "=1.2.3", ">1.0, <2", "1.*", "1.2"].iter().enumerate() {
        let (id, versions) = (format!("RUSTSEC-2999-010{n}"), format!("patched = [\"{patched}\", \"^0.9\"]"));
        write(&db, "weak", &format!("{id}.md"), &advisory(&id, "weak", "", &versions));
    }
    let toml = "[advisory]\nid = \"RUSTSEC-2999-0002\"\npackage = \"old\"\ninformational = \"unmaintained\"\n[versions]\npatched = []\n";
    write(&db, "old", "RUSTSEC-2999-0002.toml", toml);
    write(
        &db,
        "old",
        "RUSTSEC-2999-0003.md",
        &advisory("RUSTSEC-2999-0003", "old", "withdrawn = \"2999-01-01\"", "patched = []"),
    );
    // zero majors differ in their minor
    write(
        &db,
        "old",
        "RUSTSEC-2999-0004.md",
        &advisory("RUSTSEC-2999-0004", "old", "", "patched = [\"^0.2.9\"]"),
    );
    write(
        &db,
        "beta",
        "RUSTSEC-2999-0005.md",
        &advisory("RUSTSEC-2999-0005", "beta", "", "patched = [\">=2.0.0\"]"),
    );
    write(&db, "ours", "RUSTSEC-2999-0006.md", &advisory("RUSTSEC-2999-0006", "ours", "", "patched = []"));
    write(&db, "elsewhere", "RUSTSEC-2999-0007.md", "no front matter, and nobody locks it");
    let fxhash = advisory("RUSTSEC-2025-0057", "fxhash", "informational = \"unmaintained\"", "patched = []");
    write(&db, "fxhash", "RUSTSEC-2025-0057.md", &fxhash);
    let (status, shown) = check(&db, &lock);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(
        lines,
        [
            "RUSTSEC-2999-0005: beta 2.0.0-rc.2: vulnerability",
            "RUSTSEC-2025-0057: fxhash 0.2.1: unmaintained (accepted: fxhash is unmaintained; only sled uses it, on numbers of its own)",
            "RUSTSEC-2999-0002: old 0.3.1: unmaintained",
            "RUSTSEC-2999-0004: old 0.3.1: vulnerability",
            "RUSTSEC-2999-0001: weak 1.2.3: vulnerability",
            "15 advisories, 4 crates, 4 to look at",
        ]
    );
    assert_eq!(status, Some(1));

    // accepted ones alone are no reason to stop
    let alone = dir.path().join("alone");
    write(&alone, "fxhash", "RUSTSEC-2025-0057.md", &fxhash);
    assert_eq!(check(&alone, &lock).0, Some(0));
    // what cannot be read is no good news
    write(&alone, "weak", "RUSTSEC-2999-0008.md", "# no front matter");
    let (status, shown) = check(&alone, &lock);
    assert!(status == Some(2) && shown.contains("does not begin with a block of TOML"), "{shown}");
    let (status, shown) = check(&dir.path().join("nothing"), &lock);
    assert!(status == Some(2) && shown.contains("there are no advisories"), "{shown}");
}
