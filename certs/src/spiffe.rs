//! SPIFFE identities: `spiffe://<trust domain>/<path>`, in one strict form.

use std::fmt;
use std::sync::Arc;

const SCHEME: &str = "spiffe://";
/// Longest id (SPIFFE-ID §2.3).
const MAX_ID: usize = 2048;
/// Longest trust domain (SPIFFE-ID §2.1).
const MAX_TRUST_DOMAIN: usize = 255;

/// The reason that a text is no SPIFFE id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpiffeFault {
    /// More than 2048 bytes (SPIFFE-ID §2.3).
    TooLong,
    /// Does not begin with `spiffe://` in lower case.
    Scheme,
    /// The trust domain is empty, longer than 255 bytes, or holds more than lower-case letters, digits, `.`, `-`, `_`. This
    /// refuses ports and user names.
    TrustDomain,
    /// No path, or a segment that is empty, `.` or `..`, or holds more than letters, digits, `.`, `-`, `_`. This refuses
    /// queries, fragments, percent encoding and trailing slashes.
    Path,
}

impl fmt::Display for SpiffeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SpiffeFault::TooLong => "the spiffe id is longer than 2048 bytes",
            SpiffeFault::Scheme => "the spiffe id does not begin with `spiffe://`",
            SpiffeFault::TrustDomain => "the trust domain of the spiffe id is not valid",
            SpiffeFault::Path => "the path of the spiffe id is not valid",
        })
    }
}

impl std::error::Error for SpiffeFault {}

/// The name of a trust domain: lower-case letters, digits, `.`, `-`, `_`; 1 to 255 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrustDomain(Arc<str>);

impl TrustDomain {
    /// Reads a bare trust domain such as `semgate.test`.
    ///
    /// # Errors
    /// [`SpiffeFault::TrustDomain`].
    pub fn parse(text: &str) -> Result<TrustDomain, SpiffeFault> {
        let known = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'_');
        if text.is_empty() || text.len() > MAX_TRUST_DOMAIN || !text.bytes().all(known) {
            return Err(SpiffeFault::TrustDomain);
        }
        Ok(TrustDomain(text.into()))
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
    domain: TrustDomain,
    path_at: usize,
}

impl SpiffeId {
    /// Reads an id. Refuses any text that is not in the one strict form, see [`SpiffeFault`].
    ///
    /// # Errors
    /// The [`SpiffeFault`] of the first part, from the left, that does not fit.
    pub fn parse(text: &str) -> Result<SpiffeId, SpiffeFault> {
        if text.len() > MAX_ID {
            return Err(SpiffeFault::TooLong);
        }
        let rest = text.strip_prefix(SCHEME).ok_or(SpiffeFault::Scheme)?;
        let (domain, path) = rest.split_once('/').unwrap_or((rest, ""));
        let domain = TrustDomain::parse(domain)?;
        path.split('/').try_for_each(check_segment)?;
        Ok(SpiffeId { path_at: SCHEME.len() + domain.as_str().len(), text: text.into(), domain })
    }

    /// The whole id.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The trust domain that the id belongs to.
    pub fn trust_domain(&self) -> &TrustDomain {
        &self.domain
    }

    /// The path, with its leading slash.
    pub fn path(&self) -> &str {
        self.text.get(self.path_at..).unwrap_or_default()
    }
}

fn check_segment(segment: &str) -> Result<(), SpiffeFault> {
    let known = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    match segment {
        "" | "." | ".." => Err(SpiffeFault::Path),
        _ if segment.bytes().all(known) => Ok(()),
        _ => Err(SpiffeFault::Path),
    }
}

impl fmt::Display for SpiffeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;
