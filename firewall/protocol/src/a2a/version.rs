//! Versions of A2A, and the version of a request.

use crate::{FaultKind, MessageFault};
use std::fmt;

/// A version of A2A that the binding reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// 0.3: JSON-RPC, objects with `kind`, states in lower case.
    V03,
    /// 1.0: the JSON form of `a2a.proto`.
    V10,
}

impl Version {
    /// As `A2A-Version` writes it: major and minor.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V03 => "0.3",
            Self::V10 => "1.0",
        }
    }

    /// Reads it, byte for byte.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::V03, Self::V10].into_iter().find(|version| version.as_str() == text)
    }

    /// The version of a request (A2A 1.0 §3.6), from every `A2A-Version` header and every query parameter of that name.
    /// Absent is 0.3. The route decides which versions it takes, so a stripped header opens no way around it.
    ///
    /// # Errors
    /// `malformed` for a second header or parameter, or if header and parameter differ;
    /// [`FaultKind::VersionUnsupported`] for a version that is not read.
    pub fn of(headers: &[&str], query: &[&str]) -> Result<Self, MessageFault> {
        let named = match (headers, query) {
            ([], []) => return Ok(Self::V03),
            ([one], []) | ([], [one]) => one,
            ([header], [query]) if header == query => header,
            ([_], [_]) => {
                return Err(MessageFault::malformed(
                    "",
                    "the `A2A-Version` header and query parameter differ",
                ));
            }
            _ => return Err(MessageFault::malformed("", "`A2A-Version` is present more than once")),
        };
        Self::parse(named).ok_or_else(|| MessageFault {
            kind: FaultKind::VersionUnsupported,
            path: String::new(),
            what: "`A2A-Version` names an unsupported version",
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
