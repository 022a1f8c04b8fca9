//! Texts that a text carries in a code: Base64, percent signs, tag characters, variation selectors. Each is decoded once.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::fold::compatible;

/// Least characters of a run that is taken for Base64.
const RUN: usize = 24;
/// Least characters in a row that can be read, and least of all such rows together.
const READABLE: usize = 12;
const READABLE_TOGETHER: usize = 16;
/// Least variation selectors that are decoded.
const SELECTORS: usize = 16;
/// Least percent codes of a word that is decoded.
const CODES: usize = 3;

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The texts in it that a code hides.
pub(super) fn decoded(text: &str) -> Vec<String> {
    let mut texts: Vec<String> = runs(&compatible(text)).iter().flat_map(|run| of_base64(run)).collect();
    texts.extend(of_percent(text));
    texts.extend(of_tags(text));
    texts.extend(of_selectors(text));
    texts
}

/// Runs of characters of Base64, those of its other alphabet too; blanks do not end one, nor does a line break after a long line.
fn runs(text: &str) -> Vec<String> {
    let is_code = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_');
    let mut runs = Vec::new();
    let mut run = String::new();
    let mut line = 0;
    for c in text.chars().chain(std::iter::once('.')) {
        match c {
            _ if is_code(c) => {
                run.push(match c {
                    '-' => '+',
                    '_' => '/',
                    c => c,
                });
                line += 1;
            }
            ' ' | '\t' => {}
            '\r' if line >= RUN => {}
            '\n' if line >= RUN => line = 0,
            _ => {
                line = 0;
                let whole = std::mem::take(&mut run);
                if whole.len() >= RUN {
                    runs.push(whole);
                }
            }
        }
    }
    runs
}

/// The texts that a run is the Base64 of, from each of its first four characters: letters in front of it may belong to a word or a
/// path. A run may have lost its last characters.
fn of_base64(run: &str) -> Vec<String> {
    let from = |start: usize| {
        let rest = run.get(start..)?;
        let whole = if rest.len() % 4 == 1 { rest.len() - 1 } else { rest.len() };
        readable(&LENIENT.decode(rest.get(..whole)?).ok()?)
    };
    (0..4).filter_map(from).collect()
}

/// The stretches of these bytes that can be read, if there are some.
fn readable(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let strange = |c: char| c == '\u{fffd}' || (c.is_control() && !c.is_whitespace());
    let mut read = String::new();
    for stretch in text.split(strange).filter(|stretch| stretch.chars().count() >= READABLE) {
        read.push_str(stretch);
    }
    (read.chars().count() >= READABLE_TOGETHER).then_some(read)
}

/// The text with its percent codes decoded, if it has some.
fn of_percent(text: &str) -> Option<String> {
    if text.matches('%').count() < CODES {
        return None;
    }
    let digit =
        |b: Option<u8>| b.and_then(|b| char::from(b).to_digit(16)).and_then(|digit| u8::try_from(digit).ok());
    let mut bytes = Vec::with_capacity(text.len());
    let (mut rest, mut codes) = (text.as_bytes(), 0);
    while let [first, tail @ ..] = rest {
        let code = digit(tail.first().copied()).zip(digit(tail.get(1).copied()));
        match code {
            Some((high, low)) if *first == b'%' => {
                bytes.push(high * 16 + low);
                codes += 1;
                rest = tail.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    if codes < CODES {
        return None;
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The text of the tag characters, which are ASCII that nobody sees.
fn of_tags(text: &str) -> Option<String> {
    let plain = |c: char| u32::from(c).checked_sub(0xe_0000).filter(|code| (0x20..0x7f).contains(code));
    let tags: String = text.chars().filter_map(plain).filter_map(char::from_u32).collect();
    (!tags.is_empty()).then_some(tags)
}

/// The text of the variation selectors, which can stand for the 256 values of a byte. The first 16 stand for none of a text; emojis
/// have them.
fn of_selectors(text: &str) -> Option<String> {
    let byte = |c: char| u8::try_from(u32::from(c).checked_sub(0xe_0100)? + 16).ok();
    let bytes: Vec<u8> = text.chars().filter_map(byte).collect();
    (bytes.len() >= SELECTORS).then(|| String::from_utf8_lossy(&bytes).into_owned())
}
