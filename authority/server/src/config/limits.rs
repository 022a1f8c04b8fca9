//! Every bound of the server, with the reason for its number.

use std::borrow::Cow;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use semgate_contexts::compare::CompareLimits;
use semgate_statement::{FollowerLimits, head::MAX_AHEAD, listing::MAX_LISTING_BYTES};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::duration::{self, SpanText, text};

/// Bytes of any other request body: a reason and a name fit in a fraction of this.
pub(crate) const REQUEST_BYTES: usize = 16 * 1024;
/// Bytes of a `reason`: part of a log entry of at most 65,535 bytes, read by people.
pub(crate) const REASON_BYTES: usize = 1024;
/// Bytes of a request's headers: no request of this interface needs 2 kB.
pub(crate) const HEADER_BYTES: usize = 16 * 1024;
/// Time for the TLS handshake: ten round trips of a slow link.
pub(crate) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause in signing before a start that is logged with advice to check the clock: longer than a restart or a night.
pub(crate) const CLOCK_GAP: Duration = Duration::from_secs(86_400);
/// Submissions in one group commit: one entry tile of the log.
pub(crate) const BATCH: usize = 256;
/// Older versions of shards kept for followers that just read an older head: 16 kB each at most.
pub(crate) const KEPT_SHARDS: usize = 256;
/// Evidence files kept, so that a publisher cannot fill the disk with refused documents.
pub(crate) const EVIDENCE_FILES: usize = 1000;
/// Files of cut-short writes that are kept: many crashes of a full batch (256 documents and their entries) before the oldest go.
pub(crate) const LEFTOVER_FILES: usize = 4096;

/// Limits that could be set once. A file that still sets one is refused with a hint.
pub(super) const FIXED: [&str; 9] = [
    "request_bytes",
    "reason_bytes",
    "header_bytes",
    "handshake_timeout",
    "clock_gap",
    "batch",
    "kept_shards",
    "evidence_files",
    "leftover_files",
];

/// A type of a limit, with its form in the file.
trait Setting: Copy + PartialOrd {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error>;
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error>;
    fn text(self) -> impl Display;
    fn schema(generator: &mut SchemaGenerator) -> Schema;
}

impl Setting for usize {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::deserialize(from)
    }

    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.serialize(to)
    }

    fn text(self) -> impl Display {
        self
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        usize::json_schema(generator)
    }
}

impl Setting for Duration {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        duration::deserialize(from)
    }

    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        duration::serialize(self, to)
    }

    fn text(self) -> impl Display {
        text(self)
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        SpanText::json_schema(generator)
    }
}

/// Refuses a value outside its bounds.
fn within<T: Setting>(name: &str, value: T, bounds: &RangeInclusive<T>) -> Result<(), String> {
    if bounds.contains(&value) {
        return Ok(());
    }
    let (value, low, high) = (value.text(), bounds.start().text(), bounds.end().text());
    Err(format!("`limits.{name}` is {value}; it must be at least {low} and at most {high}"))
}

const fn millis(number: u64) -> Duration {
    Duration::from_millis(number)
}

const fn secs(number: u64) -> Duration {
    Duration::from_secs(number)
}

macro_rules! limits {
    ($($(#[$doc:meta])+ $name:ident: $kind:ty = $default:expr, $bounds:expr;)+) => {
        /// Limits of a running authority; all can be set under `[limits]`.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Limits {
            $($(#[$doc])+ #[serde(deserialize_with = "Setting::read", serialize_with = "Setting::write")] pub $name: $kind,)+
        }

        impl JsonSchema for Limits {
            fn schema_name() -> Cow<'static, str> {
                "Limits".into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "object",
                    "additionalProperties": false,
                    "properties": { $((stringify!($name)): <$kind as Setting>::schema(generator)),+ },
                })
            }
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default),+ }
            }
        }

        impl Limits {
            /// Refuses a value outside its bounds.
            pub(super) fn check(&self) -> Result<(), String> {
                $(within(stringify!($name), self.$name, &($bounds))?;)+
                Ok(())
            }
        }
    };
}

// Each with its default, and its lowest and highest value.
limits! {
    /// Bytes of a submitted context. A payload has at most 90 kB; pretty-printing, or base64 with its chain, adds about half.
    context_bytes: usize = 256 * 1024, 1024..=1 << 20;
    /// Time for the headers of a request, and for idling between requests.
    header_timeout: Duration = secs(30), millis(100)..=secs(600);
    /// Time for a body: `context_bytes` at about 25 kB/s.
    body_timeout: Duration = secs(10), millis(100)..=secs(600);
    /// Time that a submission waits for its head to be public; a healthy disk takes milliseconds.
    answer_timeout: Duration = secs(30), millis(100)..=secs(600);
    /// Concurrent connections. An eighth is reserved for handshakes under way, and a quarter for verified certificates. Each costs two
    /// buffers of at most `header_bytes` and a file descriptor, which is requested at start. A follower at rest takes some 50 kB, so all
    /// take some hundreds of megabytes at most.
    connections: usize = 16_384, 8..=1 << 20;
    /// Concurrent followers of the stream, out of `connections`. A quarter is reserved for verified certificates. The others poll, which
    /// loses nothing: push is a hint.
    followers: usize = 8192, 0..=1 << 20;
    /// Connections of one stranger's network (an IPv4 address, an IPv6 /64). Some hundred mirrors or gateways without a certificate may
    /// share one NAT; 20 networks fill the places of strangers. Behind a proxy that hides addresses it must equal `connections`.
    address_connections: usize = 512, 1..=1 << 20;
    /// Number of shares into which connections, submissions, proposals, permissions and evidence files are divided. One account takes at
    /// most one share, so starving the others takes as many accounts.
    account_share: usize = 8, 1..=65_536;
    /// The longest silence on a stream; below the 30 s at which common proxies close a connection.
    heartbeat: Duration = secs(15), millis(100)..=secs(600);
    /// Time that a peer may leave sent data unread before its connection is closed. This drops slow followers.
    write_timeout: Duration = secs(10), millis(100)..=secs(600);
    /// Time for a cosignature before the head goes without it: a revocation must be everywhere within a second.
    witness_timeout: Duration = millis(500), millis(10)..=secs(10);
    /// The same at the start: nothing waits yet, and a witness that knows a newer log must be heard, even a slow one.
    witness_patience: Duration = secs(5), millis(10)..=secs(60);
    /// Time for a signature by a key in a device; most take milliseconds. Every head and entry waits for one or two.
    signer_timeout: Duration = secs(5), millis(100)..=secs(120);
    /// Time for the audit volume to store an intention. Past it, submissions are refused and heads go on. A healthy disk takes
    /// milliseconds.
    audit_timeout: Duration = secs(5), millis(100)..=secs(120);
    /// Submissions under way; more are answered 503 at once.
    queue: usize = 1024, 1..=1 << 20;
    /// Bytes of documents and tiles cached in memory: some thousands of each.
    cache_bytes: usize = 64 << 20, 0..=1 << 40;
    /// The largest listing of published contexts that is served whole; at most 8 MiB, the bound of readers. Past it, after some 52,000
    /// publications, `GET /v1/contexts` is answered 410 and only its pages remain. No publication is refused for it.
    listing_bytes: usize = MAX_LISTING_BYTES, 1024..=8 << 20;
    /// Published versions of one line, revoked ones too; followers load no more. Past it a publication is refused, because otherwise the
    /// status of the whole line would go stale. Raise it only where every reader takes more.
    line_contexts: usize = FollowerLimits::default().max_contexts, 1..=1 << 40;
    /// Bytes, in whole blocks, of documents, log entries and evidence under the lines of one publisher, since the log began. Holds 60,000
    /// small versions. An eighth is reserved for resumptions. A volume of 4 GiB holds ten such publishers with room for the log's own
    /// files.
    publisher_bytes: usize = 256 << 20, 1 << 16..=1 << 50;
    /// Bytes that a line's versions that still count take in each gateway once compiled.
    line_compiled_bytes: usize = 64 << 20, 1 << 16..=1 << 50;
    /// Bytes on each volume that publications leave to revocations, suspensions, resumptions, floors and heads. Enough for about a thousand
    /// of these, with records and tiles in blocks of 4 kB.
    reserve_bytes: usize = 4 << 20, 1 << 20..=1 << 40;
    /// Refusals of one account recorded a minute; the next line counts the rest. At some 400 bytes each, an account that tries without a
    /// pause fills 6 MB a day. Callers who are no publishers share two accounts, one with a certificate and one without.
    refusal_records: usize = 10, 0..=1 << 20;
    /// Requests that check or sign a document at once; each holds a compiled schema.
    checks: usize = 64, 1..=4096;
    /// Versions of one major that a new one is compared with; a line with more needs a new major.
    compared_versions: usize = 64, 1..=65_536;
    /// Comparisons that run at once, for any caller: each takes one core for `compare_time` at worst.
    comparisons: usize = 2, 1..=1024;
    /// Steps in a comparison of two schemas, about 100 ns each; two documents have three times as many.
    compare_steps: usize = 2_000_000, 1_000..=1 << 30;
    /// Time for a comparison of two documents. On a machine that is neither slow nor busy, the steps run out first.
    compare_time: Duration = CompareLimits::default().max_time, millis(10)..=secs(600);
    /// Proposals that wait for a second person at once; each is a file of at most 41 kB.
    proposals: usize = 256, 1..=65_536;
    /// Lifetime of a proposal: longer than a night, shorter than a change of mind.
    proposal_lifetime: Duration = secs(86_400), secs(1)..=secs(2_592_000);
    /// Permissions to override in the log, for ever: each takes some 2 kB in memory and in the listing. An authority that logs ten a week
    /// fills this in eight years.
    overrides: usize = 4096, 0..=1 << 20;
    /// Status list tokens signed at once on request; each is signed once for its list or head. Requests of strangers thus leave the feed
    /// key's device to the heads.
    token_signings: usize = 2, 1..=1024;
    /// Bytes of the revocation lists for publishers' certificates: some two million revoked certificates.
    crl_bytes: usize = 64 << 20, 1024..=1 << 34;
    /// Seconds that the clock may get ahead of the machine's uptime before signing stops. Readers allow a head to be as far ahead of them;
    /// one further ahead reaches nobody.
    clock_step: Duration = secs(MAX_AHEAD), secs(1)..=secs(3_600);
    /// Time for connections to end at shutdown.
    grace: Duration = secs(10), millis(0)..=secs(600);
}

impl Limits {
    /// Limits of a comparison.
    pub(crate) fn compare(&self) -> CompareLimits {
        let steps = self.compare_steps as u64;
        CompareLimits {
            max_steps: steps,
            max_total_steps: steps.saturating_mul(3),
            max_time: self.compare_time,
            ..CompareLimits::default()
        }
    }
}
