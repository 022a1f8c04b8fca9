use super::*;

fn full() -> RunFault {
    RunFault::io("writing", Path::new("x"))(io::ErrorKind::StorageFull.into())
}

#[test]
fn work_without_room_takes_it_step_by_step_and_publications_wait_until_it_is_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("reserve");
    let length = || std::fs::metadata(&path).unwrap().len();
    let reserve = Reserve::open(&[dir.path(), &dir.path().join("audit.jsonl")], 3 * STEP);
    assert!(reserve.is_complete());
    assert_eq!((length(), reserve.files.len()), (3 * STEP, 1), "one file on one volume");
    let mut tries = 0;
    let done = reserve.lend(|| {
        tries += 1;
        if tries < 3 { Err(full()) } else { Ok(tries) }
    });
    assert_eq!((done.unwrap(), length()), (3, STEP));
    assert!(!reserve.is_complete());
    let other = || RunFault::Stopped("another reason".to_owned());
    assert!(reserve.lend(|| Err::<(), _>(other())).is_err());
    assert_eq!(length(), STEP, "only missing room takes it");
    assert!(reserve.lend(|| Err::<(), _>(full())).is_err(), "nothing is left at the end");
    assert_eq!(length(), 0);
    reserve.restore().unwrap();
    assert!(reserve.is_complete() && length() == 3 * STEP);
    // another configuration needs less
    assert!(Reserve::open(&[dir.path()], STEP).is_complete());
    assert_eq!(length(), STEP);
}
