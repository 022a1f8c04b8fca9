use super::*;
use proptest::prelude::*;

const BOUNDS: FrameBounds = FrameBounds { compressed: 1024, plain: 4096, time: Duration::from_millis(200) };

fn run<T>(what: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(what)
}

async fn read_all(bytes: &[u8]) -> Vec<Result<Bytes, CarrierFault>> {
    let mut reader = FrameReader::bytes(std::io::Cursor::new(bytes.to_vec()));
    let mut all = Vec::new();
    loop {
        let next = reader.next(&BOUNDS).await.map(|frame| frame.bytes);
        all.push(next.clone());
        if next.is_err() {
            return all;
        }
    }
}

#[test]
fn frames_with_lengths_arrive_as_they_were_sent() {
    run(async {
        let (near, far) = tokio::io::duplex(64);
        let writer = FrameWriter::bytes(near);
        let mut reader = FrameReader::bytes(far);
        let frames = [vec![1; 200], vec![], vec![2; 4096]];
        let sending = async {
            for frame in &frames {
                writer.send(frame, Duration::from_secs(1)).await.unwrap();
            }
            writer.close(0, "", Duration::from_secs(1)).await;
        };
        let reading = async {
            for frame in &frames {
                let arrived = reader.next(&BOUNDS).await.unwrap();
                assert_eq!((&arrived.bytes[..], arrived.compressed), (&frame[..], false));
            }
            assert_eq!(reader.next(&BOUNDS).await, Err(CarrierFault::Ended));
        };
        tokio::join!(sending, reading);
    });
}

#[test]
fn a_length_that_is_not_the_shortest_or_too_large_is_refused() {
    let last = |bytes: &[u8]| run(read_all(bytes)).pop().unwrap().unwrap_err();
    assert_eq!(last(&[0x81, 0x00, 7]), CarrierFault::Length, "a padded length");
    assert_eq!(last(&[0xff; 8]), CarrierFault::Length, "a length of six groups");
    assert_eq!(last(&[0x81, 0x20]), CarrierFault::TooLarge, "4097 bytes");
    assert_eq!(last(&[0xff, 0xff, 0xff, 0xff, 0x0f]), CarrierFault::TooLarge, "4 GiB allocate nothing");
    assert_eq!(last(&[5, 1, 2]), CarrierFault::Ended, "a cut frame never passes");
}

#[test]
fn a_frame_that_stops_halfway_is_too_slow() {
    run(async {
        let (mut near, far) = tokio::io::duplex(64);
        near.write_all(&[9, 1, 2]).await.unwrap();
        assert_eq!(FrameReader::bytes(far).next(&BOUNDS).await, Err(CarrierFault::TooSlow));
    });
}

/// Everything that the other side reads until the end.
async fn arrived(mut far: impl AsyncRead + Unpin) -> Vec<u8> {
    let mut all = Vec::new();
    far.read_to_end(&mut all).await.unwrap();
    all
}

#[test]
fn a_half_written_frame_is_followed_by_nothing() {
    run(async {
        let (near, far) = tokio::net::UnixStream::pair().unwrap();
        let writer = Carrier::bytes(near).writer;
        let copy = writer.clone();
        let frame = vec![1; 4 << 20];
        assert_eq!(writer.send(&frame, Duration::from_millis(50)).await, Err(CarrierFault::TooSlow));
        let reading = tokio::spawn(arrived(far));
        for later in [&writer, &copy] {
            assert_eq!(later.send(b"evil", Duration::from_secs(1)).await, Err(CarrierFault::Ended));
        }
        let all = reading.await.unwrap();
        assert!(all.len() < frame.len(), "the frame was cut");
        assert!(!all.ends_with(b"evil"), "nothing follows the half");
        assert_eq!(read_all(&all).await, [Err(CarrierFault::TooLarge)], "no frame comes out of it");
    });
}

#[test]
fn a_frame_whose_sending_is_dropped_is_followed_by_nothing() {
    run(async {
        let (near, far) = tokio::net::UnixStream::pair().unwrap();
        let writer = Carrier::bytes(near).writer;
        let frame = vec![1; 4 << 20];
        let sending = writer.send(&frame, Duration::from_secs(60));
        assert!(timeout(Duration::from_millis(50), sending).await.is_err());
        let reading = tokio::spawn(arrived(far));
        assert_eq!(writer.send(b"evil", Duration::from_secs(1)).await, Err(CarrierFault::Ended));
        assert!(!reading.await.unwrap().ends_with(b"evil"));
    });
}

#[test]
fn a_frame_that_waited_for_another_in_vain_cuts_nothing() {
    run(async {
        let (near, far) = tokio::io::duplex(64);
        let writer = FrameWriter::bytes(near);
        let mut reader = FrameReader::bytes(far);
        let long = vec![1; 4000];
        let second = async {
            tokio::task::yield_now().await;
            assert_eq!(writer.send(b"late", Duration::from_millis(50)).await, Err(CarrierFault::TooSlow));
            assert_eq!(reader.next(&BOUNDS).await.unwrap().bytes[..], long[..]);
        };
        let (first, ()) = tokio::join!(writer.send(&long, Duration::from_secs(5)), second);
        assert_eq!(first, Ok(()));
        assert_eq!(writer.send(b"next", Duration::from_secs(1)).await, Ok(()));
        assert_eq!(reader.next(&BOUNDS).await.unwrap().bytes[..], b"next"[..]);
    });
}

proptest! {
    #[test]
    fn lengths_survive_writing_and_reading(length_of in 0_usize..=0x7_ffff_ffff) {
        let mut bytes = BytesMut::new();
        write_length(length_of, &mut bytes);
        let read = length(&bytes).unwrap().unwrap();
        prop_assert_eq!(read, (bytes.len(), length_of));
    }

    #[test]
    fn fuzz_frames_with_lengths(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
        let frames = run(read_all(&bytes));
        let passed: usize = frames.iter().flatten().map(Bytes::len).sum();
        prop_assert!(passed <= bytes.len());
    }
}
