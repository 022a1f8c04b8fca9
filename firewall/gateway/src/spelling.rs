//! A text as whoever reads it may come to understand it: small letters of ASCII, with what hides them undone, each with its place in
//! the text as it is written.
//!
//! Undone are, within one another and however deep: percent signs (RFC 3986 §2.1, and `%uHHHH`), character references of HTML (also
//! where the semicolon is missing), the escapes `\uHHHH` and `\xHH`, letters and signs of other widths and forms (NFKD), marks above and
//! below letters, look-alikes of other scripts (UTS #39) and what is not seen at all. Libraries decode one of these in one go and keep no
//! places, so the escapes are read here; what characters are like is theirs to say.
//!
//! The work grows with the text alone: whatever is undone is shorter than how it was written, and is looked at once.

use std::iter::once;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_security::confusable_detection::skeleton;

/// A letter or digit that is like none of ASCII.
pub(crate) const LETTER: u8 = 1;
/// What is neither letter nor digit, and like nothing of ASCII.
const GAP: u8 = b' ';

/// One sign of the text that was undone: ASCII in lower case, [`LETTER`], a line feed or a blank; and of bytes that are no text, those.
#[derive(Clone, Debug)]
pub(crate) struct Sign {
    pub(crate) byte: u8,
    /// Where it is written: whole characters.
    pub(crate) place: Range<usize>,
    /// The escape that may end with the next signs, and which sign it began with.
    open: (Open, usize),
}

/// How far an escape came; digits are counted where their number is fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    No,
    /// `%`, and digits of the two.
    Percent(u8),
    Backslash,
    /// What is written in so many hexadecimal digits more.
    Code(u8),
    Ampersand,
    Hash,
    HexMark,
    Decimal,
    Hex,
    Name,
    /// It ended with this sign.
    Done,
}

/// The same as a text: what is like nothing of ASCII is U+FFFD where it is a letter or digit, else a blank. Line ends and tabs are line feeds.
pub(crate) fn plain(text: &str) -> String {
    let char = |sign: Sign| match sign.byte {
        LETTER => char::REPLACEMENT_CHARACTER,
        byte if byte.is_ascii() => char::from(byte),
        _ => char::from(GAP),
    };
    undone(text).into_iter().map(char).collect()
}

/// Undoes what hides the letters of a text. Every text is read.
pub(crate) fn undone(text: &str) -> Vec<Sign> {
    let mut reading = Reading { signs: Vec::with_capacity(text.len()), next: Vec::new() };
    for (at, c) in text.char_indices() {
        reading.comes(c, &(at..at + c.len_utf8()));
        reading.go_on();
    }
    reading.end()
}

struct Reading {
    signs: Vec<Sign>,
    /// What comes next, the first of it last.
    next: Vec<(u8, Range<usize>)>,
}

impl Reading {
    fn go_on(&mut self) {
        while let Some((byte, place)) = self.next.pop() {
            self.put(byte, place);
        }
    }

    fn end(mut self) -> Vec<Sign> {
        // digits of a reference may be the last of a text
        while let (Open::Decimal | Open::Hex, begun) = self.open() {
            self.close(begun);
            self.go_on();
        }
        self.signs
    }

    fn open(&self) -> (Open, usize) {
        self.signs.last().map_or((Open::No, 0), |sign| sign.open)
    }

    fn comes(&mut self, c: char, place: &Range<usize>) {
        let at = self.next.len();
        like(c, |byte| self.next.push((byte, place.clone())));
        if let Some(new) = self.next.get_mut(at..) {
            new.reverse();
        }
    }

    fn put(&mut self, byte: u8, place: Range<usize>) {
        let (open, begun) = self.open();
        let ends = match open {
            Open::Decimal => !byte.is_ascii_digit() && byte != b';',
            Open::Hex => !byte.is_ascii_hexdigit() && byte != b';',
            // the one name that hides another reference, and needs no semicolon
            Open::Name => !byte.is_ascii_alphanumeric() && byte != b';' && self.written(begun).eq(*b"&amp"),
            _ => false,
        };
        if ends {
            self.next.push((byte, place));
            self.close(begun);
            return;
        }
        let next = open.then(byte);
        let begun = if matches!(next, Open::Percent(0) | Open::Backslash | Open::Ampersand) {
            self.signs.len()
        } else {
            begun
        };
        self.signs.push(Sign { byte, place, open: (next, begun) });
        if next == Open::Done {
            self.close(begun);
        }
    }

    fn written(&self, begun: usize) -> impl Iterator<Item = u8> {
        self.signs.iter().skip(begun).map(|sign| sign.byte)
    }

    /// Puts what an escape stands for in its place.
    fn close(&mut self, begun: usize) {
        let written: Vec<u8> = self.written(begun).collect();
        let Some(place) = self.place(begun) else { return };
        self.signs.truncate(begun);
        match Stands::read(&written) {
            Stands::Char(c) => self.comes(c, &place),
            Stands::Byte(byte) if byte.is_ascii() => self.comes(char::from(byte), &place),
            Stands::Byte(byte) => {
                self.signs.push(Sign { byte, place, open: (Open::No, 0) });
                self.whole();
            }
        }
    }

    /// Where the signs from this one on are written.
    fn place(&self, begun: usize) -> Option<Range<usize>> {
        Some(self.signs.get(begun)?.place.start..self.signs.last()?.place.end)
    }

    /// Bytes of UTF-8 that end here and are whole are a character.
    fn whole(&mut self) {
        let longest = self.signs.iter().rev().take(4);
        let Some(back) = longest.map(|sign| sign.byte).position(|byte| byte >= 0xc0) else { return };
        let begun = self.signs.len() - back - 1;
        let bytes: Vec<u8> = self.written(begun).collect();
        let read = std::str::from_utf8(&bytes).ok().and_then(|text| text.chars().next());
        if let Some((c, place)) = read.zip(self.place(begun)) {
            self.signs.truncate(begun);
            self.comes(c, &place);
        }
    }
}

impl Open {
    fn then(self, byte: u8) -> Self {
        match (self, byte) {
            (_, b'%') => Self::Percent(0),
            (_, b'\\') => Self::Backslash,
            (_, b'&') => Self::Ampersand,
            (Self::Percent(0) | Self::Backslash, b'u') => Self::Code(4),
            (Self::Backslash, b'x') => Self::Code(2),
            (Self::Percent(1) | Self::Code(1), _) if byte.is_ascii_hexdigit() => Self::Done,
            (Self::Percent(_), _) if byte.is_ascii_hexdigit() => Self::Percent(1),
            (Self::Code(left), _) if byte.is_ascii_hexdigit() => Self::Code(left.saturating_sub(1)),
            (Self::Ampersand, b'#') => Self::Hash,
            (Self::Ampersand, _) if byte.is_ascii_alphabetic() => Self::Name,
            (Self::Name, _) if byte.is_ascii_alphanumeric() => Self::Name,
            (Self::Hash, b'x') => Self::HexMark,
            (Self::Hash | Self::Decimal, _) if byte.is_ascii_digit() => Self::Decimal,
            (Self::HexMark | Self::Hex, _) if byte.is_ascii_hexdigit() => Self::Hex,
            (Self::Name | Self::Decimal | Self::Hex, b';') => Self::Done,
            _ => Self::No,
        }
    }
}

/// What an escape stands for.
enum Stands {
    Byte(u8),
    Char(char),
}

impl Stands {
    fn read(written: &[u8]) -> Self {
        let written = written.strip_suffix(b";").unwrap_or(written);
        match written {
            [b'%', b'u', digits @ ..]
            | [b'\\', b'u' | b'x', digits @ ..]
            | [b'&', b'#', b'x', digits @ ..] => Self::code(digits, 16),
            [b'&', b'#', digits @ ..] => Self::code(digits, 10),
            [b'%', digits @ ..] => {
                Self::Byte(number(digits, 16).and_then(|byte| u8::try_from(byte).ok()).unwrap_or(GAP))
            }
            [_, name @ ..] => Self::Char(named(name)),
            [] => Self::Byte(GAP),
        }
    }

    fn code(digits: &[u8], radix: u32) -> Self {
        Self::Char(number(digits, radix).and_then(char::from_u32).unwrap_or(char::from(GAP)))
    }
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}

/// What stands in a name or between its parts; of all others that HTML has names for (its Annex "Named character references") none does.
fn named(name: &[u8]) -> char {
    match name {
        b"colon" => ':',
        b"period" => '.',
        b"comma" => ',',
        b"amp" => '&',
        b"num" => '#',
        b"percnt" => '%',
        b"bsol" => '\\',
        b"shy" | b"zwj" | b"zwnj" | b"lrm" | b"rlm" | b"nobreak" | b"zerowidthspace" => '\u{ad}',
        // letters of mathematics
        [letter, b'f', b'r'] | [letter, b's', b'c', b'r'] | [letter, b'o', b'p', b'f'] => char::from(*letter),
        _ => char::from(GAP),
    }
}

/// What a character is like, if it is seen at all.
fn like(c: char, mut each: impl FnMut(u8)) {
    for c in once(c).nfkd().filter(|c| !is_combining_mark(*c)) {
        if c.is_ascii() {
            each(ascii(c));
            continue;
        }
        let mut buffer = [0; 4];
        let looks = skeleton(c.encode_utf8(&mut buffer));
        let looks: Vec<char> = looks.collect();
        if looks.iter().all(char::is_ascii) {
            looks.into_iter().for_each(|c| each(ascii(c)));
        } else {
            each(if c.is_alphanumeric() { LETTER } else { GAP });
        }
    }
}

fn ascii(c: char) -> u8 {
    match u8::try_from(c) {
        Ok(byte) if c.is_ascii_graphic() => byte.to_ascii_lowercase(),
        Ok(b'\t' | b'\r' | b'\n') => b'\n',
        _ => GAP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_letters_is_undone_and_each_sign_knows_where_it_is_written() {
        for (text, read) in [
            ("A%42&#67;\\u0044\\x45", "abcde"),
            ("%2541 %%34%31 &amp;#65; &#x26;#65", "a a a a"),
            ("ａ①ⅷ ﬁ é \u{ad}x", "a1viii fi e x"),
            ("好&nbsp;%FF%E5%A5%BD", "\u{fffd}  \u{fffd}"),
            ("a&#10;b%09c", "a\nb\nc"),
            ("% %4 &#; &; & \\ 100%", "% %4 &#; &; & \\ 100%"),
        ] {
            assert_eq!(plain(text), read, "{text}");
        }
        let places: Vec<Range<usize>> = undone("%41é&#65;").into_iter().map(|sign| sign.place).collect();
        assert_eq!(places, [0..3, 3..5, 5..10]);
    }

    proptest::proptest! {
        #[test]
        fn fuzz_every_text_is_read(text in "([\\PC\\n]|%[0-9a-f]{0,2}|&#x?[0-9a-f]{0,6};?|&[a-z]{1,5};|\\\\u?[0-9]{0,4}){0,24}") {
            let signs = undone(&text);
            let mut end = 0;
            for sign in signs {
                proptest::prop_assert!(sign.place.start <= sign.place.end && end <= sign.place.end);
                proptest::prop_assert!(text.get(sign.place.clone()).is_some());
                end = sign.place.end;
            }
        }
    }
}
