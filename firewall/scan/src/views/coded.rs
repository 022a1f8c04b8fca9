//! Texts that a text carries in a code: Base64, percent signs, tag characters. Each is decoded once.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Least characters of a run that is taken for Base64.
const RUN: usize = 24;
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
    let mut texts: Vec<String> = runs(text).filter_map(|run| of_base64(&run)).collect();
    texts.extend(of_percent(text));
    texts.extend(of_tags(text));
    texts
}

/// Runs of characters of Base64, those of its other alphabet too; a line break after a long line does not end one.
fn runs(text: &str) -> impl Iterator<Item = String> {
    let is_code = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_');
    let mut runs = Vec::new();
    let mut run = String::new();
    let mut line = 0;
    for c in text.chars().filter(|c| !crate::fold::is_invisible(*c)).chain(std::iter::once(' ')) {
        match c {
            _ if is_code(c) => {
                run.push(match c {
                    '-' => '+',
                    '_' => '/',
                    c => c,
                });
                line += 1;
            }
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
    runs.into_iter()
}

/// The text that a run is the Base64 of. A run may have lost its last characters.
fn of_base64(run: &str) -> Option<String> {
    let whole = if run.len() % 4 == 1 { run.len() - 1 } else { run.len() };
    readable(LENIENT.decode(run.get(..whole)?).ok()?)
}

/// The text of these bytes, if nearly all of it can be read.
fn readable(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let strange = text.chars().filter(|c| c.is_control() && !c.is_whitespace()).count();
    (strange * 20 < text.chars().count()).then_some(text)
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
