use super::*;

#[test]
fn of_two_that_swap_from_the_same_checkpoint_one_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mark = dir.path().join("mark");
    let open = || PinnedCheckpoint::open(Box::new(CheckpointFile(dir.path().join("last"))), &mark).unwrap();
    let (mut one, mut two) = (open(), open());
    one.advance("a").unwrap();
    let fault = two.advance("b").unwrap_err().to_string();
    assert!(fault.contains("another authority"), "{fault}");
    one.advance("c").unwrap();
    assert_eq!(std::fs::read_to_string(dir.path().join("last")).unwrap(), "c");
    let mut late = open();
    one.advance("d").unwrap();
    assert!(late.advance("e").is_err());
    assert_eq!(open().note.as_deref(), Some("d"));
}

#[test]
fn what_is_no_checkpoint_of_the_log_key_is_damage_and_not_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("last");
    let key = semgate_statement::LogKey::from_seed("semgate.test/log", &[7; 32]).unwrap();
    let mark = dir.path().join("mark");
    let open = || PinnedCheckpoint::open(Box::new(CheckpointFile(path.clone())), &mark).unwrap();
    assert!(open().checkpoint(key.verifier()).unwrap().is_none());
    std::fs::write(&path, "scribble").unwrap();
    assert!(open().checkpoint(key.verifier()).unwrap_err().to_string().contains("is damaged"));
}

#[test]
fn a_volume_that_is_not_mounted_is_not_taken_for_one_that_never_was() {
    let dir = tempfile::tempdir().unwrap();
    let (volume, mark) = (dir.path().join("volume"), dir.path().join("mark"));
    std::fs::create_dir(&volume).unwrap();
    let open = || PinnedCheckpoint::open(Box::new(CheckpointFile(volume.join("last"))), &mark);
    let mut pinned = open().unwrap();
    pinned.mark(&mark).unwrap();
    assert!(!mark.exists(), "nothing is kept yet");
    pinned.advance("a").unwrap();
    pinned.mark(&mark).unwrap();
    open().unwrap();
    let away = dir.path().join("away");
    std::fs::rename(&volume, &away).unwrap();
    for mounted in [false, true] {
        if mounted {
            std::fs::create_dir(&volume).unwrap();
            let fault = pinned.advance("b").unwrap_err().to_string();
            assert!(fault.contains("is missing") && fault.contains("mount its volume"), "{fault}");
        }
        let fault = open().unwrap_err().to_string();
        assert!(fault.contains("is missing") && fault.contains("mount its volume"), "{fault}");
    }
    assert!(!volume.join("last").exists(), "nothing was put in its place");
    std::fs::remove_dir_all(&volume).unwrap();
    std::fs::rename(&away, &volume).unwrap();
    open().unwrap().advance("b").unwrap();
}
