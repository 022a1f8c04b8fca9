//! Every bound of the server, with the reason for its number.

use std::time::Duration;

/// Bounds of a running authority; all can be set under `[limits]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a submitted context. A payload is at most 90 kB (`docs/spec/signed-context.md`); pretty-printed, or base64 with its chain, it grows by about half.
    pub context_bytes: usize,
    /// Bytes of any other request body: a reason and a name fit in a fraction of this.
    pub request_bytes: usize,
    /// Bytes of a `reason`; it becomes part of a log entry of at most 65,535 bytes and is read by people.
    pub reason_bytes: usize,
    /// Bytes of a request's head: no request of this interface needs 2 kB.
    pub header_bytes: usize,
    /// How long a peer may take over the TLS handshake: ten round trips of a slow link.
    pub handshake_timeout: Duration,
    /// How long a peer may take to send a request's head, also when idle between requests.
    pub header_timeout: Duration,
    /// How long a peer may take to send a body: `context_bytes` at about 25 kB/s.
    pub body_timeout: Duration,
    /// How long a submission may wait for its head to be public; a healthy disk takes milliseconds.
    pub answer_timeout: Duration,
    /// Concurrent connections, of which an eighth is for handshakes under way and a quarter only for verified certificates; each costs two buffers of at most `header_bytes` and a file descriptor, which is asked of the system at
    /// start. A follower at rest takes some 50 kB, so these are some hundreds of megabytes at the most.
    pub connections: usize,
    /// Concurrent followers of the stream, out of `connections`, of which a quarter is only for verified certificates: others poll, which
    /// loses nothing (push is a hint).
    pub followers: usize,
    /// Connections of one stranger's network (an IPv4 address, an IPv6 /64). Some hundred mirrors or gateways without a certificate may be behind
    /// one NAT; it takes 20 networks to fill the places of strangers. Behind a proxy that hides addresses it must be `connections`.
    pub address_connections: usize,
    /// Into how many shares connections, submissions, proposals, permissions and files of evidence are divided, of which one account may take
    /// one: it takes as many accounts to leave nothing for the others.
    pub account_share: usize,
    /// The longest silence on a stream; below the 30 s at which common proxies give up.
    pub heartbeat: Duration,
    /// How long a peer may leave what it was sent unread before its connection is closed: slow followers are dropped by this.
    pub write_timeout: Duration,
    /// How long a witness may take over a cosignature before the head goes without it: a revocation must be everywhere within a second.
    pub witness_timeout: Duration,
    /// The same at the start, where nothing waits yet and a witness that knows of a newer log must be heard: a far one on a bad day.
    pub witness_patience: Duration,
    /// How long a key in a device may take over a signature; most take milliseconds. Every head and entry waits for one or two.
    pub signer_timeout: Duration,
    /// How long the volume of the audit log may take to have what is about to be done on the disk; past it the submissions are refused and heads
    /// go on. A healthy disk takes milliseconds.
    pub audit_timeout: Duration,
    /// Submissions under way, from their head to their answer; more are answered 503 at once instead of late.
    pub queue: usize,
    /// Submissions in one group commit: one entry tile of the log.
    pub batch: usize,
    /// Older versions of shards that are kept for followers that read the head a moment ago: 16 kB each at most.
    pub kept_shards: usize,
    /// Bytes of documents and tiles that are kept in memory for the next who asks: some thousands of each.
    pub cache_bytes: usize,
    /// The largest listing of published contexts that is served whole, 8 MiB at most: readers take no longer one. Past it, after some 52,000
    /// publications, `GET /v1/contexts` is answered 410 and there are its pages alone; nothing is refused for it.
    pub listing_bytes: usize,
    /// Published versions of one line, revoked ones too: a follower loads no more contexts than these, so past it a publication is refused
    /// instead of the status of everybody who follows the line going stale. More only where every reader takes it.
    pub line_contexts: usize,
    /// Bytes of documents in whole blocks, log entries and evidence under the lines of one publisher, since the log began: 60,000 small versions.
    /// An eighth of them is only for resumptions. A volume of 4 GiB holds ten such publishers with room for the log's own files.
    pub publisher_bytes: usize,
    /// Bytes that the versions of one line which count take in each gateway once they are compiled: what gateways load of a line.
    pub line_compiled_bytes: usize,
    /// Bytes on each volume that publications leave to revocations, suspensions, resumptions, floors and heads: about a thousand of these, each
    /// with its records and tiles in blocks of 4 kB.
    pub reserve_bytes: usize,
    /// Files of evidence kept, so that a publisher cannot fill the disk with refused documents.
    pub evidence_files: usize,
    /// Refusals a minute of one account that are in the audit log; the rest is counted, and the next line says how many: at some 400 bytes each,
    /// 6 MB a day of an account that tries without a pause. Those who are no publishers share two accounts, one with a certificate and one
    /// without.
    pub refusal_records: usize,
    /// Files kept of writes that were cut short: many crashes of a full batch (256 documents and their entries) before the oldest go.
    pub leftover_files: usize,
    /// Requests that may be checking or signing a document at once; each holds a compiled schema.
    pub checks: usize,
    /// Versions of one major that a new one is compared with; a line that has more needs a new major.
    pub compared_versions: usize,
    /// Comparisons that anybody may have running at once: each takes one core for `compare_time` at worst.
    pub comparisons: usize,
    /// Steps of one comparison of two schemas, about 100 ns each; three times as many for two documents.
    pub compare_steps: usize,
    /// How long one comparison of two documents may take, whatever it counted: the steps end a hard pair before, on a machine that is not
    /// slow or busy.
    pub compare_time: Duration,
    /// What may wait for a second person at once; each is a file of at most 41 kB.
    pub proposals: usize,
    /// How long it waits: over a night, and not over a change of mind.
    pub proposal_lifetime: Duration,
    /// Permissions to override that are logged here, for ever: each is in memory and in the listing, with some 2 kB. An authority that needs
    /// ten a week fills this in eight years.
    pub overrides: usize,
    /// Status list tokens that are signed at once for whoever asks, each once for its list or head: what strangers ask for leaves the feed
    /// key's device to the heads.
    pub token_signings: usize,
    /// Bytes of the revocation lists that publishers' certificates are looked up in: some two million revoked certificates.
    pub crl_bytes: usize,
    /// How far the clock may get ahead of how long the machine ran since the start before nothing more is signed by it: what readers allow a
    /// head to be ahead of them, since one further ahead reaches nobody.
    pub clock_step: Duration,
    /// How long nothing was signed before a start for which the log says to look at the clock: longer than a restart or a night.
    pub clock_gap: Duration,
    /// How long connections may take to end at shutdown.
    pub grace: Duration,
}

impl Limits {
    /// The bounds of a comparison.
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
