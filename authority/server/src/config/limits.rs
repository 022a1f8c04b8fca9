//! Every bound of the server, with the reason for its number.

use std::time::Duration;

/// Limits of a running authority; all can be set under `[limits]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a submitted context. A payload has at most 90 kB; pretty-printing, or base64 with its chain, adds about half.
    pub context_bytes: usize,
    /// Bytes of any other request body: a reason and a name fit in a fraction of this.
    pub request_bytes: usize,
    /// Bytes of a `reason`: part of a log entry of at most 65,535 bytes, read by people.
    pub reason_bytes: usize,
    /// Bytes of a request's headers: no request of this interface needs 2 kB.
    pub header_bytes: usize,
    /// Time for the TLS handshake: ten round trips of a slow link.
    pub handshake_timeout: Duration,
    /// Time for the headers of a request, and for idling between requests.
    pub header_timeout: Duration,
    /// Time for a body: `context_bytes` at about 25 kB/s.
    pub body_timeout: Duration,
    /// Time that a submission waits for its head to be public; a healthy disk takes milliseconds.
    pub answer_timeout: Duration,
    /// Concurrent connections. An eighth is reserved for handshakes under way, and a quarter for verified certificates. Each costs two
    /// buffers of at most `header_bytes` and a file descriptor, which is requested at start. A follower at rest takes some 50 kB, so all
    /// take some hundreds of megabytes at most.
    pub connections: usize,
    /// Concurrent followers of the stream, out of `connections`. A quarter is reserved for verified certificates. The others poll, which
    /// loses nothing: push is a hint.
    pub followers: usize,
    /// Connections of one stranger's network (an IPv4 address, an IPv6 /64). Some hundred mirrors or gateways without a certificate may
    /// share one NAT; 20 networks fill the places of strangers. Behind a proxy that hides addresses it must equal `connections`.
    pub address_connections: usize,
    /// Number of shares into which connections, submissions, proposals, permissions and evidence files are divided. One account takes at
    /// most one share, so starving the others takes as many accounts.
    pub account_share: usize,
    /// The longest silence on a stream; below the 30 s at which common proxies close a connection.
    pub heartbeat: Duration,
    /// Time that a peer may leave sent data unread before its connection is closed. This drops slow followers.
    pub write_timeout: Duration,
    /// Time for a cosignature before the head goes without it: a revocation must be everywhere within a second.
    pub witness_timeout: Duration,
    /// The same at the start: nothing waits yet, and a witness that knows a newer log must be heard, even a slow one.
    pub witness_patience: Duration,
    /// Time for a signature by a key in a device; most take milliseconds. Every head and entry waits for one or two.
    pub signer_timeout: Duration,
    /// Time for the audit volume to store an intention. Past it, submissions are refused and heads go on. A healthy disk takes
    /// milliseconds.
    pub audit_timeout: Duration,
    /// Submissions under way; more are answered 503 at once.
    pub queue: usize,
    /// Submissions in one group commit: one entry tile of the log.
    pub batch: usize,
    /// Older versions of shards kept for followers that just read an older head: 16 kB each at most.
    pub kept_shards: usize,
    /// Bytes of documents and tiles cached in memory: some thousands of each.
    pub cache_bytes: usize,
    /// The largest listing of published contexts that is served whole; at most 8 MiB, the bound of readers. Past it, after some 52,000
    /// publications, `GET /v1/contexts` is answered 410 and only its pages remain. No publication is refused for it.
    pub listing_bytes: usize,
    /// Published versions of one line, revoked ones too; followers load no more. Past it a publication is refused, because otherwise the
    /// status of the whole line would go stale. Raise it only where every reader takes more.
    pub line_contexts: usize,
    /// Bytes, in whole blocks, of documents, log entries and evidence under the lines of one publisher, since the log began. Holds 60,000
    /// small versions. An eighth is reserved for resumptions. A volume of 4 GiB holds ten such publishers with room for the log's own
    /// files.
    pub publisher_bytes: usize,
    /// Bytes that a line's versions that still count take in each gateway once compiled.
    pub line_compiled_bytes: usize,
    /// Bytes on each volume that publications leave to revocations, suspensions, resumptions, floors and heads. Enough for about a thousand
    /// of these, with records and tiles in blocks of 4 kB.
    pub reserve_bytes: usize,
    /// Evidence files kept, so that a publisher cannot fill the disk with refused documents.
    pub evidence_files: usize,
    /// Refusals of one account recorded a minute; the next line counts the rest. At some 400 bytes each, an account that tries without a
    /// pause fills 6 MB a day. Callers who are no publishers share two accounts, one with a certificate and one without.
    pub refusal_records: usize,
    /// Files of cut-short writes that are kept: many crashes of a full batch (256 documents and their entries) before the oldest go.
    pub leftover_files: usize,
    /// Requests that check or sign a document at once; each holds a compiled schema.
    pub checks: usize,
    /// Versions of one major that a new one is compared with; a line with more needs a new major.
    pub compared_versions: usize,
    /// Comparisons that run at once, for any caller: each takes one core for `compare_time` at worst.
    pub comparisons: usize,
    /// Steps in a comparison of two schemas, about 100 ns each; two documents have three times as many.
    pub compare_steps: usize,
    /// Time for a comparison of two documents. On a machine that is neither slow nor busy, the steps run out first.
    pub compare_time: Duration,
    /// Proposals that wait for a second person at once; each is a file of at most 41 kB.
    pub proposals: usize,
    /// Lifetime of a proposal: longer than a night, shorter than a change of mind.
    pub proposal_lifetime: Duration,
    /// Permissions to override in the log, for ever: each takes some 2 kB in memory and in the listing. An authority that logs ten a week
    /// fills this in eight years.
    pub overrides: usize,
    /// Status list tokens signed at once on request; each is signed once for its list or head. Requests of strangers thus leave the feed
    /// key's device to the heads.
    pub token_signings: usize,
    /// Bytes of the revocation lists for publishers' certificates: some two million revoked certificates.
    pub crl_bytes: usize,
    /// Seconds that the clock may get ahead of the machine's uptime before signing stops. Readers allow a head to be as far ahead of them;
    /// one further ahead reaches nobody.
    pub clock_step: Duration,
    /// Pause in signing before a start that is logged with advice to check the clock: longer than a restart or a night.
    pub clock_gap: Duration,
    /// Time for connections to end at shutdown.
    pub grace: Duration,
}

impl Limits {
    /// Limits of a comparison.
    pub(crate) fn compare(&self) -> semgate_contexts::compare::CompareLimits {
        let steps = self.compare_steps as u64;
        semgate_contexts::compare::CompareLimits {
            max_steps: steps,
            max_total_steps: steps.saturating_mul(3),
            max_time: self.compare_time,
            ..semgate_contexts::compare::CompareLimits::default()
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            context_bytes: 256 * 1024,
            request_bytes: 16 * 1024,
            reason_bytes: 1024,
            header_bytes: 16 * 1024,
            handshake_timeout: Duration::from_secs(10),
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(10),
            answer_timeout: Duration::from_secs(30),
            connections: 16_384,
            followers: 8192,
            address_connections: 512,
            account_share: 8,
            heartbeat: Duration::from_secs(15),
            write_timeout: Duration::from_secs(10),
            witness_timeout: Duration::from_millis(500),
            witness_patience: Duration::from_secs(5),
            signer_timeout: Duration::from_secs(5),
            audit_timeout: Duration::from_secs(5),
            queue: 1024,
            batch: 256,
            kept_shards: 256,
            cache_bytes: 64 << 20,
            listing_bytes: semgate_statement::listing::MAX_LISTING_BYTES,
            line_contexts: semgate_statement::FollowerLimits::default().max_contexts,
            evidence_files: 1000,
            refusal_records: 10,
            publisher_bytes: 256 << 20,
            line_compiled_bytes: 64 << 20,
            reserve_bytes: 4 << 20,
            leftover_files: 4096,
            checks: 64,
            compared_versions: 64,
            comparisons: 2,
            compare_steps: 2_000_000,
            compare_time: semgate_contexts::compare::CompareLimits::default().max_time,
            proposals: 256,
            proposal_lifetime: Duration::from_secs(86_400),
            overrides: 4096,
            token_signings: 2,
            crl_bytes: 64 << 20,
            clock_step: Duration::from_secs(semgate_statement::head::MAX_AHEAD),
            clock_gap: Duration::from_secs(86_400),
            grace: Duration::from_secs(10),
        }
    }
}
