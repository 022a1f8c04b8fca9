//! Attacks on the compression: what one stream may hold.

use super::*;

const LIMITS: FrameLimits = FrameLimits { compressed: 64 << 10, inflated: 1 << 20, window: 8 << 20 };

fn fault(stream: &[u8]) -> MessageFault {
    inflate(stream, &LIMITS).unwrap_err()
}

/// A frame of blocks that each repeat one byte 128 KiB long. `window` is the descriptor of the header.
fn repeated(window: u8, blocks: usize) -> Vec<u8> {
    let mut out = unhex("28b52ffd 00");
    out.push(window);
    for block in 1..=blocks {
        let header = (128_u32 << 10) << 3 | 1 << 1 | u32::from(block == blocks);
        out.extend_from_slice(&header.to_le_bytes()[..3]);
        out.push(0);
    }
    out
}

/// 8 MiB.
const WINDOW_8M: u8 = 0x68;
/// 128 KiB.
const WINDOW_128K: u8 = 0x38;

#[test]
fn a_message_of_every_size_comes_back_as_it_was() {
    for size in [0_usize, 1, 2, 100, 127 << 10, 128 << 10, 129 << 10, 1 << 20] {
        let message: Vec<u8> = (0..size).map(|n| (n % 251 * n / 7 % 256) as u8).collect();
        let stream = deflate(&message);
        let limits = FrameLimits { compressed: usize::MAX, ..LIMITS };
        assert_eq!(inflate(&stream, &limits).unwrap(), message, "{size}");
    }
}

#[test]
fn iac_attack_zstd_bomb() {
    // 512 MiB in 16 KiB, as the stock server inflates it
    let bomb = repeated(WINDOW_8M, 4096);
    assert!(bomb.len() < 17 << 10);
    assert_eq!(fault(&bomb).kind, FaultKind::TooLarge);
    assert_eq!(fault(&repeated(WINDOW_128K, 4096)).what, "inflates to more than the limit");
    // one that stays below the absolute limit, but not below the ratio
    assert_eq!(fault(&repeated(WINDOW_128K, 7)).kind, FaultKind::TooLarge);
    // a size in the header is believed only to refuse
    let mut named = unhex("28b52ffd a0 00002000");
    named.extend_from_slice(&repeated(WINDOW_128K, 16)[6..]);
    assert_eq!(fault(&named).kind, FaultKind::TooLarge);
}

#[test]
fn iac_attack_huge_window() {
    let message = deflate(b"x");
    for (descriptor, what) in [
        (WINDOW_8M, None),
        (WINDOW_8M + 1, Some("needs a larger window for decompression than the limit")),
        (0xa8, Some("needs a larger window for decompression than the limit")),
        (0xff, Some("asks for a window that zstd does not have")),
    ] {
        let mut stream = message.clone();
        stream[5] = descriptor;
        assert_eq!(inflate(&stream, &LIMITS).err().map(|fault| fault.what), what, "{descriptor:x}");
    }
}

#[test]
fn iac_attack_two_frames() {
    let (one, two) = (deflate(b"one"), deflate(b"two"));
    for more in [two, vec![0], unhex("502a4d18 01000000 00"), unhex("28b52ffd")] {
        let both = [one.clone(), more].concat();
        assert_eq!(fault(&both).what, "has bytes after its one zstd frame");
    }
    let skipped = [unhex("502a4d18 01000000 00"), one].concat();
    assert_eq!(fault(&skipped).what, "begins with a skippable frame");
}

#[test]
fn a_stream_of_another_form_is_refused() {
    let good = deflate(b"a message that is long enough to be compressed, compressed, compressed");
    for (stream, what) in [
        (Vec::new(), "is no zstd frame"),
        (b"{}".to_vec(), "is no zstd frame"),
        // the frame of zstd 0.7
        (unhex("27b52ffd 00 58 010000"), "is no zstd frame"),
        (unhex("28b52ffd 01 58 07 010000"), "needs a dictionary that the route does not list"),
        (unhex("28b52ffd 08 58 010000"), "is no zstd frame"),
        (good[..good.len() - 5].to_vec(), "is damaged: its zstd frame cannot be decoded"),
        // a block of the reserved type
        (unhex("28b52ffd 00 58 070000"), "is damaged: its zstd frame cannot be decoded"),
        // one byte, where the header names two
        (unhex("28b52ffd 20 02 090000 61"), "has another size than its zstd frame names"),
        // one byte, where the header names none
        (unhex("28b52ffd 80 58 00000000 090000 61"), "has another size than its zstd frame names"),
    ] {
        assert_eq!(fault(&stream).what, what, "{stream:x?}");
    }
    let mut bad = good.clone();
    *bad.last_mut().unwrap() ^= 1;
    assert_eq!(fault(&bad).what, "is damaged: the checksum of its zstd frame is false");
    let limits = FrameLimits { compressed: good.len() - 1, ..LIMITS };
    assert_eq!(inflate(&good, &limits).unwrap_err().kind, FaultKind::TooLarge);
}

/// A dictionary that the C library trained, with the id 4711.
const DICTIONARY: &str = "\
    37a430ec671200001a10e02a850effffffffeb6e905b4afed5dc7befbdf76e4578a7b513040000004340aa3e000000040000 \
    000080070f0c65307216100c085c6a0e03000000000000000000000000000000b3060000000000f4d4923103000000000000 \
    00000000000000000100000004000000080000006974656d5f6964223a202262226974656d5f6964223a202277696e65222c \
    20227175616e74697479223a203839322c20226e6f7465223a2022626262227d74656d5f6964223a202262656572222c2022 \
    7175616e74697479223a203437372c20226e6f7465223a20226464646464227d226974656d5f6964223a2022746561222c20 \
    227175616e74697479223a203736382c20226e6f7465223a202262626262227d5f6964223a2022746561222c20227175616e \
    74697479223a203236362c20226e6f7465223a2022636363636363636363227d5f6964223a202277696e65222c2022717561 \
    6e74697479223a203132392c20226e6f7465223a20226666666666666666227d5f6964223a202277696e65222c2022717561 \
    6e74697479223a203238342c20226e6f7465223a20226161616161616161227d2277696e65222c20227175616e7469747922 \
    3a20352c20226e6f7465223a2022646464646464646464227d7b22636f6e63656d5f6964223a2022746561222c2022717561 \
    6e74697479223a203333302c";

#[test]
fn a_frame_uses_only_a_dictionary_that_the_route_lists() {
    let stream = unhex(
        "28b52ffd02586712750100e0707463757272656e745f6465636973696f6e3538336161616161227d06fcf6f67718b0898bfea7d13fda3fa23d",
    );
    assert_eq!(fault(&stream).what, "needs a dictionary that the route does not list");
    let mut listed = Dictionaries::default();
    assert_eq!(listed.add(unhex(DICTIONARY).into()), Ok(4711));
    let message = r#"{"concept": "current_decision", "item_id": "beer", "quantity": 583, "note": "aaaaa"}"#;
    assert_eq!(inflate_with(&stream, &LIMITS, &listed).unwrap(), message.as_bytes());
    // a frame without a dictionary passes as before
    assert_eq!(inflate_with(&deflate(b"one"), &LIMITS, &listed).unwrap(), b"one");
    let mut other = stream.clone();
    other[6] ^= 1;
    let fault = inflate_with(&other, &LIMITS, &listed).unwrap_err();
    assert_eq!(fault.what, "needs a dictionary that the route does not list");
    assert_eq!(listed.add(unhex(DICTIONARY).into()).unwrap_err().kind, FaultKind::DuplicateKey);
    assert_eq!(listed.add(Bytes::from_static(b"no dictionary")).unwrap_err().kind, FaultKind::Malformed);
}
