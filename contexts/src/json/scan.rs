//! Finds the ends of strings and numbers with the fewest looks at each byte.

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The position, from `start` on, of the first byte that ends or interrupts a run of plain string bytes. That is a quote, a
/// backslash or a control character; the length if there is none. Looks at eight bytes at a time.
pub(super) fn plain_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*word);
        let marks =
            zeroes(word ^ (LOW * u64::from(b'"'))) | zeroes(word ^ (LOW * u64::from(b'\\'))) | controls(word);
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let tail = bytes.get(at..).unwrap_or_default();
    at + tail.iter().position(|b| matches!(b, b'"' | b'\\' | 0..0x20)).unwrap_or(tail.len())
}

/// Marks the high bit of zero bytes. Above the lowest mark there may be false ones, below it never.
const fn zeroes(word: u64) -> u64 {
    word.wrapping_sub(LOW) & !word & HIGH
}

/// Marks the high bit of bytes below 0x20; as exact as [`zeroes`].
const fn controls(word: u64) -> u64 {
    word.wrapping_sub(LOW * 0x20) & !word & HIGH
}

/// The end of the number that begins at `start` (RFC 8259 §6), or where and why it is none.
pub(super) fn number_end(bytes: &[u8], start: usize) -> Result<usize, (usize, &'static str)> {
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let digits = |mut at: usize| {
        while digit(at) {
            at += 1;
        }
        at
    };
    let mut at = start + usize::from(bytes.get(start) == Some(&b'-'));
    if !digit(at) {
        return Err((at, "number has no digit"));
    }
    if bytes.get(at) == Some(&b'0') && digit(at + 1) {
        return Err((at, "number has a leading zero"));
    }
    at = digits(at);
    if bytes.get(at) == Some(&b'.') {
        if !digit(at + 1) {
            return Err((at, "number has no digit after the point"));
        }
        at = digits(at + 1);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        if !digit(at + 1 + sign) {
            return Err((at, "number has no digit in the exponent"));
        }
        at = digits(at + 1 + sign);
    }
    Ok(at)
}
