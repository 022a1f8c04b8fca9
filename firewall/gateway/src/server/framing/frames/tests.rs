use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

fn frame(kind: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, 0];
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

fn connection() -> Frames<()> {
    Frames::new((), Requests::Come, &[b'.'; PREFACE])
}

#[test]
fn a_client_that_measures_its_path_and_updates_windows_stays_within_its_share() {
    let mut frames = connection();
    for _ in 0..100_000 {
        frames.count(&frame(HEADERS, 1, b"request"));
        frames.count(&frame(DATA, 1, b"body"));
        for kind in [6, 8, 8] {
            frames.count(&frame(kind, 0, b"8 bytes."));
        }
    }
    assert!(!frames.over);
}

#[test]
fn a_client_that_reads_a_long_stream_updates_windows_within_its_share() {
    let mut frames = connection();
    frames.count(&frame(HEADERS, 1, b"request"));
    for _ in 0..100_000 {
        frames.counted(&frame(DATA, 1, b"event"));
        frames.count(&[frame(8, 0, b"more"), frame(8, 1, b"more")].concat());
    }
    assert!(!frames.over);
}

#[test]
fn a_client_that_reads_four_kibibytes_at_a_time_updates_both_windows_within_its_share() {
    let mut frames = connection();
    frames.count(&frame(HEADERS, 1, b"request"));
    let piece = frame(DATA, 1, &[b'.'; 16 * 1024]);
    for _ in 0..10_000 {
        frames.counted(&piece);
        (0..8).for_each(|_| frames.count(&frame(8, 1, b"more")));
    }
    assert!(!frames.over);
}

#[test]
fn attack_frames_of_unknown_types_empty_data_and_pings_end_the_connection_past_their_share() {
    for (kind, payload) in
        [(77, &b""[..]), (DATA, b""), (6, b"8 bytes."), (4, b""), (2, b"five."), (8, b"more")]
    {
        let mut frames = connection();
        for _ in 0..BURST {
            frames.count(&frame(kind, 0, payload));
        }
        assert!(!frames.over, "type {kind}");
        frames.count(&frame(kind, 0, payload));
        assert!(frames.over, "type {kind}");
    }
}

#[test]
fn attack_an_agent_answers_with_interim_heads_without_end() {
    let mut frames = Frames::new((), Requests::Go, b"");
    frames.counted(&[b'.'; PREFACE]);
    frames.counted(&frame(HEADERS, 1, b"request"));
    for _ in 0..BURST {
        frames.count(&frame(HEADERS, 1, b"103"));
    }
    assert!(!frames.over);
    frames.count(&[frame(HEADERS, 1, b"103"), frame(HEADERS, 1, b"103")].concat());
    assert!(frames.over);
}

#[tokio::test]
async fn the_connection_ends_with_goaway_and_the_last_stream_that_came() {
    let (here, mut there) = tokio::io::duplex(1 << 20);
    let mut frames = Frames::new(here, Requests::Come, b"");
    let mut flood = vec![b'.'; PREFACE];
    flood.extend(frame(HEADERS, 7, b"request"));
    (0..=BURST).for_each(|_| flood.extend(frame(77, 0, b"")));
    there.write_all(&flood).await.unwrap();
    let fault = frames.read_to_end(&mut Vec::new()).await.unwrap_err();
    assert_eq!(fault.kind(), io::ErrorKind::ConnectionAborted);
    let mut goaway = [0; HEAD + 8];
    there.read_exact(&mut goaway).await.unwrap();
    assert_eq!(goaway, [&GOAWAY[..], &[0, 0, 0, 7], &[0, 0, 0, 0xb]].concat()[..]);
}

proptest! {
    #[test]
    fn frames_are_the_same_however_their_bytes_are_cut(
        sent in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..40)), 0..40),
        cuts in prop::collection::vec(1_usize..30, 1..40),
    ) {
        let mut bytes = vec![b'.'; PREFACE];
        sent.iter().for_each(|(kind, payload)| bytes.extend(frame(*kind, 1, payload)));
        let (mut scan, mut seen, mut at) = (Scan::after(PREFACE), Vec::new(), 0);
        for cut in cuts.iter().cycle() {
            if at >= bytes.len() {
                break;
            }
            let end = bytes.len().min(at + cut);
            scan.take(&bytes[at..end], |kind, length| seen.push((kind, length)));
            at = end;
        }
        let wanted: Vec<_> = sent.iter().map(|(kind, payload)| (*kind, payload.len())).collect();
        prop_assert_eq!(seen, wanted);
        prop_assert!(scan.is_between());
    }
}
