//! Headers of a request that repeat its body. They never override it and must agree with it.

use super::{Operation, Revision};
use crate::{FaultKind, MessageFault};
use std::borrow::Cow;

/// The action that the HTTP method asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verb {
    /// A message is posted.
    #[default]
    Post,
    /// The stream of a session is opened (2025-11-25), after the named event if there is one.
    Open {
        /// `Last-Event-ID`.
        last_event: Option<String>,
    },
    /// A session is ended (2025-11-25).
    End,
}

/// The headers of the binding, each as it stood in the request. More than one value of one is refused before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The method of HTTP.
    pub verb: Verb,
    /// `MCP-Protocol-Version`.
    pub version: Option<String>,
    /// `Mcp-Method`.
    pub method: Option<String>,
    /// `Mcp-Name`.
    pub name: Option<String>,
    /// `Mcp-Session-Id`. It says nothing about the body; the session's owner is checked elsewhere.
    pub session: Option<String>,
    /// `Mcp-Param-…` headers: the rest of the name in lower case, and the value.
    pub params: Vec<(String, String)>,
}

pub(super) fn mismatch(what: &'static str) -> MessageFault {
    MessageFault { kind: FaultKind::HeaderMismatch, path: String::new(), what }
}

impl Head {
    /// The version that the request is read under. Without a header only `initialize` is read, which settles the version. A
    /// body that names a version demands the header.
    ///
    /// # Errors
    /// [`FaultKind::HeaderMismatch`] or [`FaultKind::VersionUnsupported`].
    pub(super) fn version(&self, method: &str, in_body: Option<&str>) -> Result<Revision, MessageFault> {
        if self.version.is_none() {
            match in_body {
                Some(_) => return Err(mismatch("the `MCP-Protocol-Version` header is missing")),
                None if method == Operation::Initialize.method() => {
                    return Ok(Revision::NEWEST_WITH_SESSIONS);
                }
                None => {}
            }
        }
        let version = self.settled()?;
        match in_body {
            Some(_) if version.has_sessions() => {
                Err(mismatch("the message names another version than the `MCP-Protocol-Version` header"))
            }
            Some(named) if named != version.as_str() => {
                Err(mismatch("the `MCP-Protocol-Version` header differs from the message"))
            }
            _ => Ok(version),
        }
    }

    /// The version that the header names, where no body names one.
    ///
    /// # Errors
    /// [`FaultKind::VersionUnsupported`].
    pub(super) fn settled(&self) -> Result<Revision, MessageFault> {
        self.version.as_deref().and_then(Revision::parse).ok_or_else(|| MessageFault {
            kind: FaultKind::VersionUnsupported,
            path: String::new(),
            what: "the `MCP-Protocol-Version` header names no supported version",
        })
    }

    /// `Mcp-Method` and `Mcp-Name` against the body. 2026-07-28 demands both in requests; where they may be left out they
    /// must still agree.
    ///
    /// # Errors
    /// [`FaultKind::HeaderMismatch`].
    pub(super) fn agrees(
        &self,
        operation: Operation,
        name: Option<&str>,
        needed: Needed,
    ) -> Result<(), MessageFault> {
        match self.method.as_deref() {
            Some(method) if method != operation.method() => {
                return Err(mismatch("the `Mcp-Method` header names another method than the message"));
            }
            None if needed == Needed::Yes => return Err(mismatch("the `Mcp-Method` header is missing")),
            _ => {}
        }
        match (self.name.as_deref(), name) {
            // an unreadable header agrees with no message, not even with one without a name
            (Some(header), named) if decoded(header).is_none_or(|header| Some(&*header) != named) => {
                Err(mismatch("the `Mcp-Name` header differs from the message"))
            }
            (None, Some(_)) if needed == Needed::Yes => Err(mismatch("the `Mcp-Name` header is missing")),
            _ => Ok(()),
        }
    }
}

/// The presence of the headers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Needed {
    Yes,
    No,
}

/// A header value without its `=?base64?…?=` form (2026-07-28 "Value Encoding"). `None` for an encoding that is not
/// canonical.
pub fn decoded(value: &str) -> Option<Cow<'_, str>> {
    let Some(inner) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(Cow::Borrowed(value));
    };
    String::from_utf8(base64(inner)?).ok().map(Cow::Owned)
}

/// Base64 with padding (RFC 4648 §4), canonical only.
fn base64(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| -> Option<u32> {
        Some(match byte {
            b'A'..=b'Z' => u32::from(byte - b'A'),
            b'a'..=b'z' => u32::from(byte - b'a') + 26,
            b'0'..=b'9' => u32::from(byte - b'0') + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        })
    };
    let bytes = text.as_bytes();
    if !bytes.len().is_multiple_of(4) {
        return None;
    }
    let mut out = Vec::with_capacity(bytes.len() / 4 * 3);
    let last = (bytes.len() / 4).saturating_sub(1);
    for (n, group) in bytes.chunks_exact(4).enumerate() {
        let padding = group.iter().rev().take_while(|byte| **byte == b'=').count();
        if padding > 2 || (padding > 0 && n != last) {
            return None;
        }
        let mut bits = 0;
        for byte in group.iter().take(4 - padding) {
            bits = bits << 6 | digit(*byte)?;
        }
        bits <<= 6 * u32::try_from(padding).ok()?;
        let [_, first, second, third] = bits.to_be_bytes();
        // bits that stand for nothing must be zero
        if (padding >= 1 && third != 0) || (padding == 2 && second != 0) {
            return None;
        }
        out.extend([first, second, third].iter().take(3 - padding));
    }
    Some(out)
}
