//! What a certificate may be used for, as extended key usages (RFC 5280 §4.2.1.12).

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
    /// Answers TLS connections: id-kp-serverAuth.
    Server,
    /// Opens TLS connections: id-kp-clientAuth, with exactly one SPIFFE URI as its name.
    Agent,
}

/// The arc of our usages: an OID made from a random UUID (1a0d1f9a-3c40-43b3-86cb-b31c84510890) in pieces of at most
/// 24 bits, under the arc that Microsoft publishes for just that. It needs no registration, and, unlike the arc 2.25
/// with its one component of 128 bits, every stock X.509 library can read it (rcgen and Go's crypto/x509 cannot
/// read 2.25).
pub(crate) const ARC: [u64; 14] =
    [1, 2, 840, 113556, 1, 8000, 2554, 6669, 8090, 15424, 17331, 34507, 11738244, 5310608];

impl Usage {
    /// All usages, in the order of their declaration.
    pub const ALL: [Usage; 6] =
        [Usage::Context, Usage::Status, Usage::Feed, Usage::Log, Usage::Server, Usage::Agent];

    /// The name on the command line and in messages: `context`, `status`, `feed`, `log`, `server` or `agent`.
    pub fn as_str(self) -> &'static str {
        match self {
            Usage::Context => "context",
            Usage::Status => "status",
            Usage::Feed => "feed",
            Usage::Log => "log",
            Usage::Server => "server",
            Usage::Agent => "agent",
        }
    }

    /// The usage with exactly this name.
    pub fn parse(name: &str) -> Option<Usage> {
        Usage::ALL.into_iter().find(|usage| usage.as_str() == name)
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
