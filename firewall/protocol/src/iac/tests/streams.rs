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
        (unhex("28b52ffd 01 58 07 010000"), "needs a dictionary"),
        (unhex("28b52ffd 08 58 010000"), "is no zstd frame"),
        (good[..good.len() - 5].to_vec(), "is damaged: its zstd frame cannot be decoded"),
        // a block of the reserved type
        (unhex("28b52ffd 00 58 070000"), "is damaged: its zstd frame cannot be decoded"),
        // one byte, where the header names two
        (unhex("28b52ffd 20 02 090000 61"), "has another size than its zstd frame names"),
    ] {
        assert_eq!(fault(&stream).what, what, "{stream:x?}");
    }
    let mut bad = good.clone();
    *bad.last_mut().unwrap() ^= 1;
    assert_eq!(fault(&bad).what, "is damaged: the checksum of its zstd frame is false");
    let limits = FrameLimits { compressed: good.len() - 1, ..LIMITS };
    assert_eq!(inflate(&good, &limits).unwrap_err().kind, FaultKind::TooLarge);
}
