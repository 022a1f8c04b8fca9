//! The reader itself: one pass, recursive within the depth limit.

use std::borrow::Cow;

use super::scan::{number_end, plain_end};
use super::{DEPTH_CEILING, Fault, Json, Limits, Number, Object};

/// Reads one JSON text.
///
/// Every strict JSON parser reads accepted text as the same value. The reader holds at most the text and a tree bounded by
/// [`Limits::max_nodes`]. It takes time O(n log n) in the length of any text, and never recurses deeper than
/// [`DEPTH_CEILING`].
///
/// # Errors
/// [`Fault`], in the order of precedence described there.
pub fn read<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Json<'a>, Fault> {
    if bytes.len() > limits.max_bytes {
        return Err(Fault::TooLarge);
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err(Fault::Malformed { offset: 0, what: "byte-order mark" });
    }
    // A text that stops being UTF-8 is read up to there, so that a limit or a duplicate before that point still answers.
    let (text, complete) = match std::str::from_utf8(bytes) {
        Ok(text) => (text, true),
        Err(fault) => {
            let valid = bytes.get(..fault.valid_up_to()).unwrap_or_default();
            (std::str::from_utf8(valid).unwrap_or_default(), false)
        }
    };
    let mut reader = Reader::new(text, complete, limits);
    let outcome = reader.text();
    reader.conclude(outcome)
}

/// The reason that reading stopped.
enum Stop {
    /// Past a limit: answers before everything else.
    Limit(Fault),
    /// No JSON from here on.
    Grammar { offset: usize, what: &'static str },
}

type Read<T> = Result<T, Stop>;
type Members<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

/// Stands in [`Reader::names`] for a name that cannot be compared because it is malformed itself.
const NOT_COMPARED: usize = usize::MAX;

/// Up to this many members names are compared pair by pair, which for a few short names beats sorting them.
const PAIRWISE: usize = 16;

struct Reader<'a, 'l> {
    text: &'a str,
    bytes: &'a [u8],
    /// False if the input goes on behind `text` with a byte that is not UTF-8.
    complete: bool,
    at: usize,
    nodes_left: usize,
    max_depth: usize,
    limits: &'l Limits,
    /// Offsets of the member names of all open objects, so that a duplicate can be located.
    names: Vec<usize>,
    /// The first name that repeats another.
    duplicate: Option<usize>,
    /// The first fault that does not prevent reading on: a number out of bounds, a lone surrogate, a control character.
    malformed: Option<(usize, &'static str)>,
    /// The number of such faults.
    noted: usize,
}

impl<'a, 'l> Reader<'a, 'l> {
    fn new(text: &'a str, complete: bool, limits: &'l Limits) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            complete,
            at: 0,
            nodes_left: limits.max_nodes,
            max_depth: limits.max_depth.min(DEPTH_CEILING),
            limits,
            names: Vec::new(),
            duplicate: None,
            malformed: None,
            noted: 0,
        }
    }

    /// The whole text: one value and white space around it.
    fn text(&mut self) -> Read<Json<'a>> {
        self.skip_space();
        let value = self.value(0)?;
        self.skip_space();
        if self.at < self.bytes.len() { Err(self.stop("text after the value")) } else { Ok(value) }
    }

    /// Selects the one fault to report.
    fn conclude(self, outcome: Read<Json<'a>>) -> Result<Json<'a>, Fault> {
        let outcome = match outcome {
            Err(Stop::Limit(fault)) => return Err(fault),
            Err(Stop::Grammar { offset, what }) => Err((offset, what)),
            Ok(_) if !self.complete => Err((self.bytes.len(), "not utf-8")),
            Ok(value) => Ok(value),
        };
        if let Some(offset) = self.duplicate {
            return Err(Fault::DuplicateKey { offset });
        }
        match self.malformed.map_or(outcome, Err) {
            // If the text breaks off, the byte that broke it off is the fault.
            Err((offset, _)) if !self.complete && offset >= self.bytes.len() => {
                Err(Fault::Malformed { offset, what: "not utf-8" })
            }
            Err((offset, what)) => Err(Fault::Malformed { offset, what }),
            Ok(value) => Ok(value),
        }
    }

    fn value(&mut self, depth: usize) -> Read<Json<'a>> {
        self.nodes_left = self.nodes_left.checked_sub(1).ok_or(Stop::Limit(Fault::TooComplex))?;
        match self.peek() {
            Some(b'"') => Ok(Json::String(self.string(self.limits.max_string_bytes)?)),
            Some(b'{') => Ok(Json::Object(Object(self.object(depth + 1)?))),
            Some(b'[') => Ok(Json::Array(self.array(depth + 1)?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(b'N' | b'I') => Err(self.stop("NaN and Infinity are no numbers of JSON")),
            Some(_) => Err(self.stop("not the beginning of a value")),
            None => Err(self.stop("a value is missing")),
        }
    }

    fn array(&mut self, depth: usize) -> Read<Vec<Json<'a>>> {
        self.enter(depth)?;
        let mut elements = Vec::new();
        if self.take(b']') {
            return Ok(elements);
        }
        loop {
            elements.push(self.value(depth)?);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(elements);
                }
                _ => return Err(self.stop("neither `,` nor `]` after an element")),
            }
            self.skip_space();
        }
    }

    fn object(&mut self, depth: usize) -> Read<Members<'a>> {
        self.enter(depth)?;
        let mut members = Vec::new();
        if self.take(b'}') {
            return Ok(members);
        }
        let first = self.names.len();
        let outcome = self.members(depth, &mut members);
        if !matches!(outcome, Err(Stop::Limit(_))) {
            self.compare_names(&members, first);
        }
        self.names.truncate(first);
        outcome.map(|()| members)
    }

    fn members(&mut self, depth: usize, members: &mut Members<'a>) -> Read<()> {
        loop {
            let offset = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.stop("a member name is missing"));
            }
            let noted = self.noted;
            let name = self.string(self.limits.max_key_bytes)?;
            self.names.push(if self.noted == noted { offset } else { NOT_COMPARED });
            match self.member_value(depth) {
                Ok(value) => members.push((name, value)),
                Err(stop) => {
                    // The name counts as a duplicate even if its value is no JSON.
                    members.push((name, Json::Null));
                    return Err(stop);
                }
            }
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.stop("neither `,` nor `}` after a member")),
            }
            self.skip_space();
        }
    }
    fn member_value(&mut self, depth: usize) -> Read<Json<'a>> {
        self.skip_space();
        if !self.take(b':') {
            return Err(self.stop("no `:` after a member name"));
        }
        self.skip_space();
        self.value(depth)
    }

    /// Looks for equal names among the members of one object, which may have broken off. Small objects are compared pair by pair,
    /// larger ones sorted: no input makes either quadratic, and no random seed is needed.
    fn compare_names(&mut self, members: &[(Cow<'a, str>, Json<'a>)], first: usize) {
        let offsets = self.names.get(first..).unwrap_or_default();
        let names = members.iter().map(|(name, _)| name.as_ref()).zip(offsets.iter().copied());
        let names = names.filter(|(_, offset)| *offset != NOT_COMPARED);
        let repeated = if members.len() <= PAIRWISE {
            let repeats = |n: usize, name: &str| names.clone().take(n).any(|(other, _)| other == name);
            names.clone().enumerate().find(|(n, (name, _))| repeats(*n, name)).map(|(_, (_, offset))| offset)
        } else {
            let mut sorted: Vec<(&str, usize)> = names.collect();
            sorted.sort_unstable();
            let pairs = sorted.iter().zip(sorted.iter().skip(1));
            pairs.filter(|(one, next)| one.0 == next.0).map(|(_, next)| next.1).min()
        };
        self.duplicate = [self.duplicate, repeated].into_iter().flatten().min();
    }

    /// The string whose opening quote is here, unescaped; at most `max` bytes.
    #[inline]
    fn string(&mut self, max: usize) -> Read<Cow<'a, str>> {
        match self.plain_string(max) {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => self.unescape(max).map(Cow::Owned),
        }
    }

    /// The string whose opening quote is here, if it needs no unescaping and is not too long. Nearly all strings are so.
    /// Returning it in registers saves a fifth of the reading time.
    fn plain_string(&mut self, max: usize) -> Option<&'a str> {
        let start = self.at + 1;
        let end = plain_end(self.bytes, start);
        if self.bytes.get(end) != Some(&b'"') || end - start > max {
            return None;
        }
        self.at = end + 1;
        self.text.get(start..end)
    }

    /// The string whose opening quote is here, if it needs unescaping, is too long, or is none.
    #[inline(never)]
    fn unescape(&mut self, max: usize) -> Read<String> {
        let mut out = String::new();
        let mut from = self.at + 1;
        loop {
            self.at = plain_end(self.bytes, from);
            out.push_str(self.slice(from, self.at));
            if out.len() > max {
                return Err(Stop::Limit(Fault::TooLarge));
            }
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    let character = self.escape()?;
                    out.push(character);
                }
                Some(_) => {
                    self.note(self.at, "control character in a string");
                    self.at += 1;
                }
                None => return Err(self.stop("string does not end")),
            }
            from = self.at;
        }
    }

    /// The character that the escape here stands for.
    fn escape(&mut self) -> Read<char> {
        let character = match self.bytes.get(self.at + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            Some(_) => return Err(self.stop("unknown escape")),
            None => {
                self.at = self.bytes.len();
                return Err(self.stop("string does not end"));
            }
        };
        self.at += 2;
        Ok(character)
    }

    /// `\uXXXX`, or the two of them that make up one character beyond U+FFFF.
    fn unicode_escape(&mut self) -> Read<char> {
        let Some(unit) = self.hex4(self.at) else {
            return Err(self.stop("`\\u` without four hex digits"));
        };
        let low = self.hex4(self.at + 6).filter(|low| (0xdc00..0xe000).contains(low));
        let (code, length) = match low {
            Some(low) if (0xd800..0xdc00).contains(&unit) => {
                (0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00), 12)
            }
            _ => (unit, 6),
        };
        let character = char::from_u32(code).unwrap_or_else(|| {
            self.note(self.at, "lone surrogate");
            char::REPLACEMENT_CHARACTER
        });
        self.at += length;
        Ok(character)
    }

    /// The value of the `\uXXXX` at this place, if there is one.
    fn hex4(&self, at: usize) -> Option<u32> {
        let digits = self.bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |sum, digit| Some(sum * 16 + char::from(*digit).to_digit(16)?))
    }

    fn number(&mut self) -> Read<Json<'a>> {
        let start = self.at;
        match number_end(self.bytes, start) {
            Ok(end) => self.at = end,
            Err((at, what)) => return Err(Stop::Grammar { offset: at, what }),
        }
        let text = self.slice(start, self.at);
        let number = Number::from_grammatical(text);
        let large =
            |what| if self.limits.large_integers { Number::large(text).ok_or(what) } else { Err(what) };
        Ok(match number.or_else(large) {
            Ok(number) => Json::Number(number),
            Err(what) => {
                self.note(start, what);
                Json::Null
            }
        })
    }

    fn word(&mut self, word: &str, value: Json<'a>) -> Read<Json<'a>> {
        if !self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            return Err(self.stop("not the beginning of a value"));
        }
        self.at += word.len();
        Ok(value)
    }

    /// Steps over the bracket here, and the white space behind it, into an array or object of this depth.
    fn enter(&mut self, depth: usize) -> Read<()> {
        if depth > self.max_depth {
            return Err(Stop::Limit(Fault::TooDeep));
        }
        self.at += 1;
        self.skip_space();
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Steps over this byte if it is the next one.
    fn take(&mut self, byte: u8) -> bool {
        let here = self.peek() == Some(byte);
        self.at += usize::from(here);
        here
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Text between two places that stand at ASCII bytes or at the end, so that both are character boundaries.
    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    fn note(&mut self, offset: usize, what: &'static str) {
        self.malformed.get_or_insert((offset, what));
        self.noted += 1;
    }

    const fn stop(&self, what: &'static str) -> Stop {
        Stop::Grammar { offset: self.at, what }
    }
}
