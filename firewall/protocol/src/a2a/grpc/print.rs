//! JSON text, within its limit.

use super::Limits;
use crate::{FaultKind, MessageFault, member::Read};
use base64::{Engine, prelude::BASE64_STANDARD};
use std::fmt::Write;

/// The JSON text so far, the fields read for it, and their limits.
pub(super) struct Printer<'l> {
    limits: &'l Limits,
    fields: usize,
    out: String,
}

impl<'l> Printer<'l> {
    pub fn new(limits: &'l Limits) -> Self {
        Self { limits, fields: 0, out: String::new() }
    }

    pub fn done(self) -> Vec<u8> {
        self.out.into_bytes()
    }

    /// Counts a field, and refuses one past the limit.
    pub fn count(&mut self) -> Read<()> {
        self.fields += 1;
        if self.fields > self.limits.max_fields {
            return Err(limit(FaultKind::TooComplex, "has more fields than the limit"));
        }
        Ok(())
    }

    /// Enters a nested message, and refuses one past the limit.
    pub fn deeper(&self, depth: usize) -> Read<usize> {
        if depth >= self.limits.max_depth {
            return Err(limit(FaultKind::TooDeep, "is nested deeper than the limit"));
        }
        Ok(depth + 1)
    }

    /// Text that is JSON already.
    pub fn put(&mut self, json: &str) -> Read<()> {
        if json.len() > self.limits.max_bytes.saturating_sub(self.out.len()) {
            return Err(limit(FaultKind::TooLarge, "is longer as json than the limit"));
        }
        self.out.push_str(json);
        Ok(())
    }

    /// A comma before all but the first.
    pub fn comma(&mut self, first: &mut bool) -> Read<()> {
        if std::mem::take(first) { Ok(()) } else { self.put(",") }
    }

    pub fn string(&mut self, text: &str) -> Read<()> {
        self.put("\"")?;
        let mut plain = 0;
        for (at, byte) in text.bytes().enumerate() {
            if byte >= 0x20 && byte != b'"' && byte != b'\\' {
                continue;
            }
            self.put(text.get(plain..at).unwrap_or_default())?;
            match byte {
                b'"' => self.put("\\\"")?,
                b'\\' => self.put("\\\\")?,
                _ => self.put(&format!("\\u{byte:04x}"))?,
            }
            plain = at + 1;
        }
        self.put(text.get(plain..).unwrap_or_default())?;
        self.put("\"")
    }

    /// The base64 of RFC 4648 §4, with padding, as the protobuf mapping writes `bytes`.
    pub fn bytes(&mut self, bytes: &[u8]) -> Read<()> {
        if bytes.len() > self.limits.max_bytes {
            return Err(limit(FaultKind::TooLarge, "is longer as json than the limit"));
        }
        self.put("\"")?;
        self.put(&BASE64_STANDARD.encode(bytes))?;
        self.put("\"")
    }

    /// The shortest digits that give the same double. Schemas and decimals use these digits.
    pub fn double(&mut self, value: f64) -> Read<()> {
        if !value.is_finite() {
            return Err(MessageFault::malformed("", "is not a finite number"));
        }
        let mut text = String::new();
        let plain = value == 0.0 || (1e-5..1e16).contains(&value.abs());
        let written = if plain { write!(text, "{value}") } else { write!(text, "{value:e}") };
        written.map_err(|_| MessageFault::malformed("", "is not a number"))?;
        self.put(&text)
    }
}

fn limit(kind: FaultKind, what: &'static str) -> MessageFault {
    MessageFault { kind, path: String::new(), what }
}
