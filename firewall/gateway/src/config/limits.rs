//! Every limit that an operator may set, with the reason for its default.

use std::time::Duration;

use schemars::JsonSchema;
use semgate_contexts::json;
use semgate_policies::PolicyLimits;
use serde::{Deserialize, Serialize};

use super::read::{SpanText, between, timeout};

/// Nesting depth of JSON. 32: a concept in the history of an A2A task is at level 8.
const DEPTH: usize = 32;

/// Limits of one gateway, `[limits]` of the file. `Default` equals an empty table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Open connections on one listener; further ones wait in the kernel's backlog. 4096: about 100 MB with default buffers.
    #[serde(deserialize_with = "between::<_, _, 1, 1_000_000>")]
    pub connections: usize,
    /// Connections of one agent on all TLS listeners. 512: seven compromised agents leave room for the others.
    #[serde(deserialize_with = "between::<_, _, 1, 1_000_000>")]
    pub connections_per_agent: usize,
    /// Requests of one agent in flight on all TLS listeners, streams included. 4096: a sixteenth of the shipped descriptors.
    #[serde(deserialize_with = "between::<_, _, 1, 1_000_000>")]
    pub requests_per_agent: usize,
    /// Bytes that messages of all agents hold: buffers, bodies, replies and events. One agent may hold an eighth. 1 GiB.
    #[serde(deserialize_with = "between::<_, _, 8_388_608, 1_099_511_627_776>")]
    pub held_bytes: usize,
    /// Units a second for the arrivals of one agent (`docs/accounts.md`). 1000: at 25 µs each, a fortieth of a core.
    #[serde(deserialize_with = "between::<_, _, 1, 1_000_000>")]
    pub rate_per_second: u32,
    /// Burst of units from one agent. 2000: two seconds of `rate_per_second`.
    #[serde(deserialize_with = "between::<_, _, 1, 1_000_000>")]
    pub rate_burst: u32,
    /// Time for a whole TLS handshake. 5 s: three round trips at the worst mobile latency.
    #[serde(with = "timeout")]
    #[schemars(with = "SpanText")]
    pub handshake_timeout: Duration,
    /// Silence before a kept connection is closed. 75 s: nginx's default.
    #[serde(with = "timeout")]
    #[schemars(with = "SpanText")]
    pub idle_timeout: Duration,
    /// Time from the first byte of a head to its end. 10 s: a head is one or two packets; anything slower is slowloris.
    #[serde(with = "timeout")]
    #[schemars(with = "SpanText")]
    pub header_timeout: Duration,
    /// Time from the end of the head to the end of the body. 20 s: 1 MiB at 50 kB/s.
    #[serde(with = "timeout")]
    #[schemars(with = "SpanText")]
    pub body_timeout: Duration,
    /// Time that a reply may stay unread in the socket. 20 s, as for the body.
    #[serde(with = "timeout")]
    #[schemars(with = "SpanText")]
    pub write_timeout: Duration,
    /// Bytes of request line and headers. 16 KiB: twice nginx's default, since callers may send large trace headers.
    #[serde(deserialize_with = "between::<_, _, 512, 1_048_576>")]
    pub header_bytes: usize,
    /// Bytes of a request's body, compressed or inflated. 1 MiB: the paper's messages are under 2 kB.
    #[serde(deserialize_with = "between::<_, _, 64, 67_108_864>")]
    pub body_bytes: usize,
    /// JSON values in a message. 20,000: 1 MiB of small numbers would be 500,000 values and disproportionately costly.
    #[serde(deserialize_with = "between::<_, _, 16, 10_000_000>")]
    pub nodes: usize,
    /// Characters of free text of one concept whose scores policies may read. 100,000: about 10 ms of work. Longer text is refused where
    /// a policy reads a score.
    #[serde(deserialize_with = "between::<_, _, 100, 100_000>")]
    pub scan_characters: usize,
    /// Bytes of a reply. 1 MiB, as for the request.
    #[serde(deserialize_with = "between::<_, _, 64, 67_108_864>")]
    pub reply_bytes: usize,
    /// Bytes of one event. 1 MiB, as for a reply.
    #[serde(deserialize_with = "between::<_, _, 64, 67_108_864>")]
    pub event_bytes: usize,
    /// Time to connect to the agent, including TLS. 2 s: the agent is near.
    #[serde(with = "timeout")]
    #[schemars(with = "SpanText")]
    pub connect_timeout: Duration,
    /// Time from the written request to the last byte of the reply. 30 s: agents need time to think.
    #[serde(with = "timeout")]
    #[schemars(with = "SpanText")]
    pub upstream_timeout: Duration,
    /// Silence before a stream of events ends. 2 min: common libraries send keep-alives every 15 s.
    #[serde(with = "timeout")]
    #[schemars(with = "SpanText")]
    pub stream_idle: Duration,
    /// Duration of a stream of events. 1 h: a caller that wants more subscribes again and is judged again.
    #[serde(with = "timeout")]
    #[schemars(with = "SpanText")]
    pub stream_time: Duration,
    /// HTTP/2: connections to one agent on one core. 4: each carries as many messages as the agent allows, mostly 100.
    #[serde(deserialize_with = "between::<_, _, 1, 1_024>")]
    pub upstream_http2_connections: usize,
    /// Native L8: subscriptions that one agent holds open. 64: few follow so many topics.
    #[serde(deserialize_with = "between::<_, _, 1, 1_000_000>")]
    pub subscriptions: usize,
    /// MCP: maximum age in seconds of a list that showed a tool as signed, at a call of the tool. Past it the gateway lists first.
    /// 0 disables the limit: otherwise servers get list requests that no client made.
    #[serde(deserialize_with = "between::<_, _, 0, 86_400>")]
    pub tool_list_seconds: u32,
    /// Time from the signal to the end, for messages in flight. 35 s: just past `upstream_timeout`.
    #[serde(with = "timeout")]
    #[schemars(with = "SpanText")]
    pub drain_timeout: Duration,
    /// Poll interval for the policy directory. 2 s: a poll reads a few small files.
    #[serde(with = "timeout")]
    #[schemars(with = "SpanText")]
    pub policy_poll: Duration,
    /// Time that a changed policy directory stays unchanged before it is read. 200 ms: an editor writes one file in less.
    #[serde(with = "timeout")]
    #[schemars(with = "SpanText")]
    pub policy_settle: Duration,
    /// Policies in all files together. 10,000: the number that loads within five seconds.
    #[serde(deserialize_with = "between::<_, _, 1, 10_000_000>")]
    pub policies: usize,
    /// Bytes of compiled contexts, in equal parts for the authorities; a line has a quarter of its authority's. 256 MiB.
    #[serde(deserialize_with = "between::<_, _, 1_048_576, 1_099_511_627_776>")]
    pub context_bytes: u64,
    /// Time to deliver one push notification, from name lookup to the head of the answer. 10 s: receivers are far away.
    #[serde(with = "timeout")]
    #[schemars(with = "SpanText")]
    pub push_timeout: Duration,
    /// Time of one request to the authority. 10 s: the largest answer is a tile of a few hundred kB.
    #[serde(with = "timeout")]
    #[schemars(with = "SpanText")]
    pub fetch_timeout: Duration,
    /// Bytes of the revocation lists of one trust domain, of all its issuers. 64 MiB: some two million revoked certificates.
    #[serde(deserialize_with = "between::<_, _, 1024, 17_179_869_184>")]
    pub crl_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            connections_per_agent: 512,
            requests_per_agent: 4096,
            held_bytes: 1 << 30,
            rate_per_second: 1000,
            rate_burst: 2000,
            handshake_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(75),
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(20),
            write_timeout: Duration::from_secs(20),
            header_bytes: 16 * 1024,
            body_bytes: 1024 * 1024,
            nodes: 20_000,
            scan_characters: 100_000,
            reply_bytes: 1024 * 1024,
            event_bytes: 1024 * 1024,
            connect_timeout: Duration::from_secs(2),
            upstream_timeout: Duration::from_secs(30),
            stream_idle: Duration::from_secs(120),
            stream_time: Duration::from_secs(3600),
            upstream_http2_connections: 4,
            subscriptions: 64,
            tool_list_seconds: 0,
            drain_timeout: Duration::from_secs(35),
            policy_poll: Duration::from_secs(2),
            policy_settle: Duration::from_millis(200),
            policies: 10_000,
            context_bytes: 256 << 20,
            push_timeout: Duration::from_secs(10),
            fetch_timeout: Duration::from_secs(10),
            crl_bytes: 64 << 20,
        }
    }
}

impl Limits {
    /// Limits for reading a JSON body.
    pub(crate) fn json(&self) -> json::Limits {
        json::Limits {
            max_bytes: self.body_bytes,
            max_depth: DEPTH,
            max_nodes: self.nodes,
            ..json::Limits::default()
        }
    }

    /// The bounds of a policy set among them.
    pub(crate) fn policies(&self) -> PolicyLimits {
        PolicyLimits { max_policies: self.policies, ..PolicyLimits::default() }
    }
}
