//! Tests of `logging`.

use super::*;

#[test]
fn a_line_that_is_not_taken_is_counted() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let failed = Arc::new(AtomicU64::new(0));
    let mut counted = Counted { to: Full, format: LogFormat::Text, failed: Arc::clone(&failed) };
    counted.write_all(b"a line\n").unwrap();
    counted.write_all(b"another\n").unwrap();
    assert_eq!(failed.load(Ordering::Relaxed), 2);
    let mut taken = Counted { to: Vec::new(), format: LogFormat::Text, failed: Arc::clone(&failed) };
    taken.write_all(b"a line\n").unwrap();
    assert_eq!((taken.to.as_slice(), failed.load(Ordering::Relaxed)), (&b"a line\n"[..], 2));
}

#[test]
fn attack_a_json_line_moves_no_cursor_and_hides_nothing() {
    let mut counted = Counted { to: Vec::new(), format: LogFormat::Json, failed: Arc::default() };
    counted.write_all("{\"why\":\"a\u{9b}2J\u{202e}b\"}\n".as_bytes()).unwrap();
    assert_eq!(String::from_utf8(counted.to).unwrap(), "{\"why\":\"a\\u009b2J\\u202eb\"}\n");
}
