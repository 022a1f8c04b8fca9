//! The usages of a certificate, as extended key usages (RFC 5280 §4.2.1.12).

#[cfg(test)]
mod tests;

use crate::Family;
use std::fmt;

/// The job of a leaf certificate. Each is one extended key usage; a leaf of the contexts family holds exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Usage {
    /// Signs context documents and publish statements, for the lines in its names.
    Context,
    /// Signs revoke, suspend, resume, retire and floor statements.
    Status,
    /// Signs heads and status shards.
    Feed,
    /// Vouches for the log. (Checkpoints themselves carry the signed-note key; this usage is for certificates over it.)
    Log,
    /// Vouches for policy sets, as the one SPIFFE id among its names.
    Policy,
    /// Answers TLS connections: id-kp-serverAuth.
    Server,
    /// Opens TLS connections: id-kp-clientAuth, with exactly one SPIFFE URI as its name.
    Agent,
}

/// The arc of our usages. It is made from a random UUID (1a0d1f9a-3c40-43b3-86cb-b31c84510890) in pieces of at most 24 bits,
/// under the arc that Microsoft publishes for this. It needs no registration. Every stock X.509 library can read it, unlike
/// the arc 2.25 with its one component of 128 bits (rcgen and Go's crypto/x509 cannot).
pub(crate) const ARC: [u64; 14] =
    [1, 2, 840, 113556, 1, 8000, 2554, 6669, 8090, 15424, 17331, 34507, 11738244, 5310608];

/// Bytes of one of our OIDs in DER, without tag and length.
const OID_BYTES: usize = oid_len(1);

// Runs at compile time only, where an index past the end is a compile error and not a panic.
#[expect(
    clippy::indexing_slicing,
    reason = "in a const fn at compile time an index past the end is a compile error"
)]
const fn oid_len(last: u64) -> usize {
    let mut bytes = 1; // the first two components share one byte: 1.2 = 42
    let mut n = 2;
    while n < ARC.len() {
        bytes += base128_len(ARC[n]);
        n += 1;
    }
    bytes + base128_len(last)
}

const fn base128_len(mut value: u64) -> usize {
    let mut bytes = 1;
    while value >= 128 {
        value >>= 7;
        bytes += 1;
    }
    bytes
}

#[expect(clippy::indexing_slicing, reason = "as above")]
const fn oid_der(last: u64) -> [u8; OID_BYTES] {
    let mut out = [0; OID_BYTES];
    out[0] = (ARC[0] * 40 + ARC[1]) as u8;
    let mut at = 1;
    let mut n = 2;
    while n <= ARC.len() {
        let value = if n < ARC.len() { ARC[n] } else { last };
        let mut left = base128_len(value);
        while left > 0 {
            left -= 1;
            let more = if left > 0 { 0x80 } else { 0 };
            out[at] = ((value >> (7 * left)) & 0x7f) as u8 | more;
            at += 1;
        }
        n += 1;
    }
    out
}

const CONTEXT_OID: [u8; OID_BYTES] = oid_der(1);
const STATUS_OID: [u8; OID_BYTES] = oid_der(2);
const FEED_OID: [u8; OID_BYTES] = oid_der(3);
const LOG_OID: [u8; OID_BYTES] = oid_der(4);
const POLICY_OID: [u8; OID_BYTES] = oid_der(6);
/// id-kp-serverAuth, 1.3.6.1.5.5.7.3.1.
const SERVER_AUTH_OID: [u8; 8] = [0x2b, 6, 1, 5, 5, 7, 3, 1];
/// id-kp-clientAuth, 1.3.6.1.5.5.7.3.2.
const CLIENT_AUTH_OID: [u8; 8] = [0x2b, 6, 1, 5, 5, 7, 3, 2];

/// The extended key usages of RFC 5280 §4.2.1.12, anyExtendedKeyUsage first. No certificate shows one of these, of [`Usage`] or
/// [`ANY_POLICY`] as a mark.
pub const STANDARD_USAGES: [&str; 7] = [
    "2.5.29.37.0",
    "1.3.6.1.5.5.7.3.1",
    "1.3.6.1.5.5.7.3.2",
    "1.3.6.1.5.5.7.3.3",
    "1.3.6.1.5.5.7.3.4",
    "1.3.6.1.5.5.7.3.8",
    "1.3.6.1.5.5.7.3.9",
];

/// anyPolicy (RFC 5280 §4.2.1.4).
pub const ANY_POLICY: &str = "2.5.29.32.0";

impl Usage {
    /// All usages, in the order of their declaration.
    pub const ALL: [Usage; 7] =
        [Usage::Context, Usage::Status, Usage::Feed, Usage::Log, Usage::Policy, Usage::Server, Usage::Agent];

    /// The name on the command line and in messages: `context`, `status`, `feed`, `log`, `policy`, `server` or `agent`.
    pub fn as_str(self) -> &'static str {
        match self {
            Usage::Context => "context",
            Usage::Status => "status",
            Usage::Feed => "feed",
            Usage::Log => "log",
            Usage::Policy => "policy",
            Usage::Server => "server",
            Usage::Agent => "agent",
        }
    }

    /// The usage with exactly this name.
    pub fn parse(name: &str) -> Option<Usage> {
        Usage::ALL.into_iter().find(|usage| usage.as_str() == name)
    }

    /// The extended key usage as text, such as `1.3.6.1.5.5.7.3.1`.
    pub fn oid(self) -> String {
        let parts = self.oid_parts();
        parts.iter().map(u64::to_string).collect::<Vec<_>>().join(".")
    }

    pub(crate) fn oid_parts(self) -> Vec<u64> {
        let last = match self {
            Usage::Context => 1,
            Usage::Status => 2,
            Usage::Feed => 3,
            Usage::Log => 4,
            // 5 is reserved for handshakes
            Usage::Policy => 6,
            Usage::Server => return vec![1, 3, 6, 1, 5, 5, 7, 3, 1],
            Usage::Agent => return vec![1, 3, 6, 1, 5, 5, 7, 3, 2],
        };
        ARC.into_iter().chain([last]).collect()
    }

    /// The bytes of the OID in DER, without tag and length.
    pub(crate) fn oid_der(self) -> &'static [u8] {
        match self {
            Usage::Context => &CONTEXT_OID,
            Usage::Status => &STATUS_OID,
            Usage::Feed => &FEED_OID,
            Usage::Log => &LOG_OID,
            Usage::Policy => &POLICY_OID,
            Usage::Server => &SERVER_AUTH_OID,
            Usage::Agent => &CLIENT_AUTH_OID,
        }
    }

    pub(crate) fn family(self) -> Family {
        match self {
            Usage::Context | Usage::Status | Usage::Feed | Usage::Log | Usage::Policy => Family::Contexts,
            Usage::Server | Usage::Agent => Family::Tls,
        }
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
