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
