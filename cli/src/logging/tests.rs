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
    let mut counted = Counted { to: Full, failed: Arc::clone(&failed) };
    counted.write_all(b"a line\n").unwrap();
    counted.write_all(b"another\n").unwrap();
    assert_eq!(failed.load(Ordering::Relaxed), 2);
    let mut taken = Counted { to: Vec::new(), failed: Arc::clone(&failed) };
    taken.write_all(b"a line\n").unwrap();
    assert_eq!((taken.to.as_slice(), failed.load(Ordering::Relaxed)), (&b"a line\n"[..], 2));
}
