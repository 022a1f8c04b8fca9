//! SPIFFE identities: `spiffe://<trust domain>/<path>`, in one strict form.

use std::fmt;
use std::sync::Arc;

/// Why a text is not a SPIFFE id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpiffeFault {
    /// More than 2048 bytes (SPIFFE-ID §2.3).
    TooLong,
    /// Does not begin with `spiffe://` in lower case.
    Scheme,
    /// The trust domain is empty, longer than 255 bytes, or holds more than lower-case letters, digits, `.`, `-`, `_`.
    /// Ports and user names are refused by this.
    TrustDomain,
    /// No path, or a segment that is empty, `.` or `..`, or holds more than letters, digits, `.`, `-`, `_`. Queries,
    /// fragments, percent encoding and trailing slashes are refused by this.
    Path,
}

impl fmt::Display for SpiffeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SpiffeFault::TooLong => "the spiffe id is longer than 2048 bytes",
            SpiffeFault::Scheme => "the spiffe id does not begin with `spiffe://`",
            SpiffeFault::TrustDomain => "the trust domain of the spiffe id is not one",
            SpiffeFault::Path => "the path of the spiffe id is not one",
        })
    }
}

impl std::error::Error for SpiffeFault {}

/// The name of a trust domain: lower-case letters, digits, `.`, `-`, `_`; 1 to 255 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrustDomain(Arc<str>);

impl TrustDomain {
    /// Reads a bare trust domain such as `semgate.test`.
    pub fn parse(_text: &str) -> Result<TrustDomain, SpiffeFault> {
        todo!()
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TrustDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One SPIFFE id of a workload. There is one text for each identity, so ids compare byte for byte.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpiffeId {
    text: Arc<str>,
    path_at: usize,
}

impl SpiffeId {
    /// Reads an id. Refuses what is not in the one strict form, see [`SpiffeFault`].
    pub fn parse(_text: &str) -> Result<SpiffeId, SpiffeFault> {
        todo!()
    }

    /// The whole id.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The trust domain that the id belongs to.
    pub fn trust_domain(&self) -> TrustDomain {
        todo!()
    }

    /// The path, with its leading slash.
    pub fn path(&self) -> &str {
        self.text.get(self.path_at..).unwrap_or_default()
    }
}

impl fmt::Display for SpiffeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
