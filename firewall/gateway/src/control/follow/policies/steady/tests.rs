//! Whatever moves while a directory is read, no set is ever half of one revision and half of another.

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

const TRIES: usize = 5;

fn limits() -> PolicyLimits {
    PolicyLimits::default()
}

/// A revision whose every file says which it is.
fn revision(directory: &Path, word: &str) {
    std::fs::create_dir_all(directory).unwrap();
    for n in 0..20 {
        std::fs::write(directory.join(format!("{n:02}.cedar")), format!("// {word}\n")).unwrap();
    }
    std::fs::write(directory.join("entities.json"), word).unwrap();
}

/// A link that leads to another target at once: made under another name, then renamed.
fn turn(link: &Path, target: &str) {
    let beside = link.with_file_name("turning");
    let _ = std::fs::remove_file(&beside);
    symlink(target, &beside).unwrap();
    std::fs::rename(&beside, link).unwrap();
}

fn whole(source: &PolicySource) -> String {
    let word = String::from_utf8(source.entities.clone()).unwrap();
    assert_eq!(source.files.len(), 20);
    for (name, text) in &source.files {
        assert_eq!(text, &format!("// {word}\n"), "`{name}` is of another revision than entities.json");
    }
    word
}

fn turned_while_read(link: PathBuf, targets: [&'static str; 2], read_at: &Path) {
    let end = Arc::new(AtomicBool::new(false));
    let turning = {
        let end = Arc::clone(&end);
        std::thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                for target in targets {
                    turn(&link, target);
                    std::thread::sleep(Duration::from_micros(200));
                }
            }
        })
    };
    let mut seen = std::collections::HashMap::<String, usize>::new();
    let mut missed = 0;
    let began = std::time::Instant::now();
    while seen.len() < 2 || seen.values().sum::<usize>() < 200 {
        match read(read_at, &limits(), 100) {
            Ok(steady) => *seen.entry(whole(&steady.source)).or_default() += 1,
            Err(_) => missed += 1,
        }
        assert!(began.elapsed() < Duration::from_secs(120), "{seen:?}, {missed} missed");
    }
    end.store(true, Ordering::Relaxed);
    turning.join().unwrap();
}

#[test]
fn a_link_that_git_sync_turns_never_gives_half_of_two_revisions() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    revision(&root.join("a"), "a");
    revision(&root.join("b"), "b");
    turn(&root.join("current"), "a");
    turned_while_read(root.join("current"), ["b", "a"], &root.join("current"));
}

#[test]
fn files_linked_through_a_directory_that_kubernetes_turns_never_give_half_of_two_revisions() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    revision(&root.join("..a"), "a");
    revision(&root.join("..b"), "b");
    turn(&root.join("..data"), "..a");
    for name in PolicySource::names(&root.join("..a"), &limits()).unwrap() {
        symlink(format!("..data/{name}"), root.join(name)).unwrap();
    }
    turned_while_read(root.join("..data"), ["..b", "..a"], root);
}

#[test]
fn links_into_several_directories_are_refused() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    revision(&root.join("policies"), "a");
    std::fs::write(root.join("elsewhere.cedar"), "").unwrap();
    symlink("../elsewhere.cedar", root.join("policies/linked.cedar")).unwrap();
    let fault = read(&root.join("policies"), &limits(), TRIES).map(|_| ()).unwrap_err().to_string();
    assert!(fault.contains("links must lead into one"), "{fault}");
}

#[test]
fn a_git_checkout_is_read_as_it_stands() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    revision(root, "a");
    std::fs::create_dir_all(root.join(".git/objects")).unwrap();
    std::fs::create_dir_all(root.join("tests")).unwrap();
    for other in [
        "README.md",
        ".gitignore",
        "00.cedar~",
        ".00.cedar.swp",
        ".#00.cedar",
        "#00.cedar#",
        "tests/x.cedar",
        "x.cedar.bak",
    ] {
        std::fs::write(root.join(other), "no policy").unwrap();
    }
    whole(&read(root, &limits(), TRIES).unwrap().source);
}

#[test]
fn what_is_no_regular_file_is_refused_and_not_waited_for() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    revision(root, "a");
    std::fs::create_dir(root.join("nested.cedar")).unwrap();
    let fault = |root: &Path| read(root, &limits(), TRIES).map(|_| ()).unwrap_err().to_string();
    assert!(fault(root).contains("not a regular file"), "{}", fault(root));
    std::fs::remove_dir(root.join("nested.cedar")).unwrap();
    let pipe = root.join("pipe.cedar");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(fault(root).contains("not a regular file"), "{}", fault(root));
}

#[test]
fn attack_a_file_that_is_swapped_for_a_pipe_once_it_was_listed_holds_nobody_up() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    revision(root, "a");
    let stamp = Stamp::take(root, &limits()).unwrap();
    let swapped = root.join("07.cedar");
    std::fs::remove_file(&swapped).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&swapped).status().unwrap().success());
    assert!(matches!(stamp.read(&limits()), Err(Missed::Moved)));
}

#[test]
fn each_lack_is_named() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path().join("policies");
    let fault = |limits: &PolicyLimits| read(&root, limits, TRIES).map(|_| ()).unwrap_err().to_string();
    assert!(fault(&limits()).contains("No such file"), "no directory");
    revision(&root, "a");
    std::fs::remove_file(root.join("entities.json")).unwrap();
    assert!(fault(&limits()).contains("entities.json"), "{}", fault(&limits()));
    std::fs::write(root.join("entities.json"), "a").unwrap();
    let small = PolicyLimits { max_file_bytes: 3, ..limits() };
    assert_eq!(fault(&small), "bytes of `00.cedar`: more than 3");
    let few = PolicyLimits { max_files: 19, ..limits() };
    assert_eq!(fault(&few), "policy files: more than 19");
    std::fs::write(root.join("00.cedar"), [0xff]).unwrap();
    assert!(fault(&limits()).contains("not UTF-8"), "{}", fault(&limits()));
    std::fs::write(root.join("limit.json"), "{}").unwrap();
    assert_eq!(fault(&limits()), "`limit.json` is not read (did you mean `limits.json`?)");
}

#[test]
fn a_file_rewritten_in_place_is_told_by_its_stamp_even_with_its_old_time() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    revision(root, "a");
    let before = Stamp::take(root, &limits()).unwrap();
    assert_eq!(Stamp::take(root, &limits()).unwrap(), before, "reading changes nothing");
    let file = File::options().write(true).open(root.join("07.cedar")).unwrap();
    let time = file.metadata().unwrap().modified().unwrap();
    // the clock of a file system may tick as slowly as the kernel's
    std::thread::sleep(Duration::from_millis(20));
    std::os::unix::fs::FileExt::write_all_at(&file, b"// b\n", 0).unwrap();
    file.set_modified(time).unwrap();
    assert_ne!(Stamp::take(root, &limits()).unwrap(), before);
}
