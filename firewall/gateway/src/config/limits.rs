//! Every bound of the gateway, with the reason for its number.

use std::time::Duration;

use semgate_contexts::json;
use semgate_policies::{PolicyLimits, ScoreBounds};
use serde::{Deserialize, Serialize};

use super::fault::ConfigFault;
use super::span::Span;

/// Bounds of one gateway. `Default` is what an empty `[limits]` means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections open at once on one listener; further ones wait in the kernel's backlog. 4096: at the default buffers
    /// that is about 100 MB if every one of them sends a full head and nothing else.
    pub connections: usize,
    /// Connections of one agent, on all TLS listeners and cores together. 512: an eighth of `connections`, so that seven agents that were taken
    /// over leave places for the others, and far more than a pool of an honest one. A plain listener has one agent only.
    pub connections_per_agent: usize,
    /// Bytes that messages hold in the gateway, of all agents together: buffers of connections, bodies as they came and inflated, replies and
    /// events. 1 GiB; one agent may hold an eighth of it. Memory of the process beyond this is that of contexts and policies.
    pub held_bytes: usize,
    /// Requests of one agent in flight, on all TLS listeners and cores together, streams and sockets among them; each may hold a connection to
    /// an agent behind. 4096: a sixteenth of the 65,536 descriptors of the shipped unit, so that seven agents that were taken over leave more
    /// than half, and far more than an honest one has open.
    pub requests_per_agent: usize,
    /// TLS handshake, whole. 5 s: three round trips at the worst mobile latency, and no more for a silent socket.
    pub handshake_timeout: Duration,
    /// Silence on a kept connection before it is closed. 75 s, as nginx has it.
    pub idle_timeout: Duration,
    /// From the first byte of a head to its end. 10 s: a head is one packet or two; slower is slowloris.
    pub header_timeout: Duration,
    /// From the end of the head to the end of the body. 20 s: 1 MiB at 50 kB/s.
    pub body_timeout: Duration,
    /// How long a reply may sit unread in the socket. 20 s, as the body.
    pub write_timeout: Duration,
    /// Bytes of request line and headers. 16 KiB: twice nginx's, since callers may bring large traces that are dropped anyway.
    pub header_bytes: usize,
    /// Header lines. 64: a busy proxy chain adds about twenty.
    pub headers: usize,
    /// HTTP/2: requests open at once on a connection. 100: the least that RFC 9113 §6.5.2 advises.
    pub streams: u32,
    /// HTTP/2: streams that a caller resets before they were looked at, and streams with errors of the protocol, before the
    /// connection is ended (CVE-2023-44487 and its kind). 20: a caller that changes its mind more often at once is none.
    pub stream_resets: usize,
    /// HTTP/2: bytes that a caller may send on a stream before we took any; a connection has four times that. 256 KiB: most
    /// messages in one go, and 1 MiB in memory for a connection that is not read from.
    pub stream_window: u32,
    /// HTTP/2: how often a silent peer is asked whether it is there, both ways. 30 s: well before a router in between forgets.
    pub ping_interval: Duration,
    /// Tokens of credentials that are remembered as verified, on one connection. 8: an agent has one and renews it now and then.
    pub credentials_remembered: usize,
    /// Bytes of a request's body, compressed and inflated alike. 1 MiB: the paper's messages are under 2 kB; free text up
    /// to a book chapter fits.
    pub body_bytes: usize,
    /// Inflated bytes for each compressed byte, judged past 64 KiB. 100: deflate can reach about 1000, and only a bomb comes near.
    pub inflate_ratio: usize,
    /// Nesting of JSON. 32: a concept in the history of an A2A task stands at level 8.
    pub depth: usize,
    /// JSON values in a message. 20,000: 1 MiB of small numbers would be 500,000 and cost far more than it says.
    pub nodes: usize,
    /// Concepts in a request. 64: the paper's largest has three; each costs one policy decision.
    pub concepts: usize,
    /// Concepts in a reply, event or notification. 4,096: a task that is read has a part for each piece that was appended to its artifact, and
    /// a long answer of a model is told in thousands of pieces.
    pub reply_concepts: usize,
    /// Ids of tasks, conversations and push configurations that one message names. 512: twice `push_targets`, and more than a long history
    /// refers to; an eighth of `owned`.
    pub named_ids: usize,
    /// Units a second that the arrivals of one agent may cost, all routes together. A message costs one unit, one more for each 4 KiB of its
    /// body, and one more for each 500 JSON values. 1000: at 25 µs each that is a fortieth of a core, so tens of agents share one.
    pub rate_per_second: u32,
    /// Units at once from one agent before the rate bites. 2000: two seconds of it.
    pub rate_burst: u32,
    /// Buckets of limits by policies and `limits.json` that are not full, of all agents together. 1,048,576: some 64 MiB, should a
    /// million agents be active at once.
    pub rate_buckets: usize,
    /// Agents that have an account. 65,536: about 16 MiB. An active one is never forgotten; when all are active, a new one is refused.
    pub metered_agents: usize,
    /// Connecting to the agent behind, TLS included. 2 s: it is near.
    pub connect_timeout: Duration,
    /// From the request written to the reply's last byte. 30 s: agents think.
    pub upstream_timeout: Duration,
    /// Bytes of a reply. 1 MiB, as the request.
    pub reply_bytes: usize,
    /// Silence of a stream of events before it is ended. 2 min: agents that think longer say so in between, every 15 s as the
    /// common libraries have it.
    pub stream_idle: Duration,
    /// A stream of events, whole. 1 h: who wants to go on subscribes again, and is judged again.
    pub stream_time: Duration,
    /// Bytes of one event. 1 MiB, as a reply.
    pub event_bytes: usize,
    /// Events in a stream. 100,000: 28 a second for an hour.
    pub events: usize,
    /// Tasks, conversations, push configurations and sessions that one agent owns and the gateway remembers. 4,096: over an hour of a new
    /// task with a conversation of its own every two seconds; the one it used least lately is forgotten first.
    pub owned: usize,
    /// The same of all agents. 262,144: about 100 MiB, so that 64 agents can be full.
    pub owned_of_all: usize,
    /// A2A: push configurations of one agent whose target is kept. 256: up to 10 kB each, so 2.5 MB of an agent; the one that was used least
    /// lately is forgotten first, and nothing is delivered for it any more.
    pub push_targets: usize,
    /// Native L8: subscriptions that one agent holds open, all routes together. 64: each is a stream or part of a socket, and
    /// few follow so many topics.
    pub subscriptions: usize,
    /// Native L8: the same of all agents. 16,384: as many as 256 agents that are full.
    pub subscriptions_of_all: usize,
    /// Native L8: requests of one socket that are unanswered. 64: what an agent thinks about at once is a handful.
    pub unanswered: usize,
    /// Sessions in which two agents settle what no context defines. 1,024: some megabytes of concepts; of the agent that holds most, the one
    /// that ends first is forgotten first.
    pub learnt_sessions: usize,
    /// Names that are settled, or asked about, in one session. 16: a handful of words that a domain forgot.
    pub learnt_concepts: usize,
    /// Native L8: proposals of one agent that are held. 256: as many requests as it has waiting at once and then some; what is forgotten cannot be
    /// accepted any more, those that were answered first.
    pub proposals: usize,
    /// Native L8: the same of all agents. 65,536: some 20 MB, so that 256 agents can be full; of the agent that holds most the oldest are
    /// forgotten first.
    pub proposals_of_all: usize,
    /// Native L8: how long a subscription lasts. 1 h, as a stream: who wants to go on subscribes again, and is judged again.
    pub subscription_time: Duration,
    /// A2A: bytes of text of one artifact on one stream that a further piece may be appended to, with one for each boundary. 256 KiB, a
    /// long document: as much is judged again with each piece. A stream remembers as much of all its artifacts. A2A and MCP: the text in
    /// several parts of one message that policies which look at it are asked about as one.
    pub appended_text: usize,
    /// A2A: pages of lists that one agent was told of and may still ask for; MCP: pages of lists of tools that were begun and can say that one
    /// is as signed. 64: as many lists read at once.
    pub list_pages: usize,
    /// MCP: pages of a list of tools that the gateway reads itself after the server said that its tools changed. 16: a thousand tools by the
    /// page of 64; a call of a tool whose list has more of them is refused until its caller lists it whole, since a later page may say otherwise.
    pub tool_pages: usize,
    /// MCP: seconds that a list of tools may be old for a tool to be called that it had as signed; what was not listed within is listed first, by the
    /// gateway in its caller's place. 0: no list is too old, since servers would be asked for lists that no client asked for.
    pub tool_list_seconds: u32,
    /// MCP: requests under way in the sessions of one agent, in each direction. 256: as many calls as an agent has waiting at once and then
    /// some; the oldest is forgotten first and cannot be answered any more on another stream than its own.
    pub open_requests: usize,
    /// MCP: the same of all agents, in both directions, as which eight events count that an agent may resume after. 65,536: some 100 MB; of the
    /// agent that holds most the oldest are forgotten first.
    pub open_requests_of_all: usize,
    /// MCP: ids of requests that one agent has in its sessions, since nothing that may pass answered them, or an answer may come again. 4,096: over an hour of a
    /// refused answer a second. Then its session that was used least lately ends; in the only one no more is asked.
    pub request_ids: usize,
    /// MCP: events of streams that one agent was told of and may ask to go on after. 1,024: what was on its way when a few of its streams were cut.
    pub resumable_events: usize,
    /// MCP: bytes of what a server says in `WWW-Authenticate`, and of a nonce of DPoP. 4 KiB: a challenge has some 300.
    pub challenge_bytes: usize,
    /// MCP: bytes of the metadata of a protected resource. 64 KiB: a hundred scopes take 4.
    pub metadata_bytes: usize,
    /// Kept connections to one agent on one core. 64: more hardly helps a single-threaded runtime.
    pub upstream_idle: usize,
    /// How long such a connection is kept unused. 4 s: below the 5 s after which Node.js and uvicorn close theirs, so that
    /// a message is hardly ever sent into a connection that is being closed.
    pub upstream_idle_timeout: Duration,
    /// HTTP/2: connections to one agent on one core. 4: each carries as many messages as the agent says that it takes at once, 100 with most;
    /// more would only get around what it says.
    pub upstream_http2_connections: usize,
    /// HTTP/2: how long a message waits for a place on them before it is refused, not having been sent. 5 s: with `upstream_timeout` that is
    /// within `drain_timeout`, and an agent that gives none free in so long is not soon done.
    pub upstream_wait: Duration,
    /// Audit records waiting to be written. 8192: about a second of full load; full means refused.
    pub audit_queue: usize,
    /// Bytes of one record for what policies were asked, where `[audit_values]` keeps that. 16 KiB: some fifty questions, or a few with
    /// long values; of a message that needs more, only the size is kept.
    pub audit_asked_bytes: usize,
    /// From the signal to the end, for messages in flight. 35 s: just past `upstream_timeout`.
    pub drain_timeout: Duration,
    /// How often the policy directory is looked at for changes. 2 s: reading a few small files.
    pub policy_poll: Duration,
    /// How long the policy directory must stand still before it is read, once it was seen to change. 200 ms: an editor or a copy
    /// writes one file in less.
    pub policy_settle: Duration,
    /// How often the policy directory is read anew where it changed while it was read. 5: a swap of links takes microseconds, so
    /// who is unlucky five times has a directory that never stands still.
    pub policy_read_tries: usize,
    /// Faults of a rejected set that the log and `/status` tell, and warnings of a live one; of those behind them the number. 256: more than
    /// anybody mends before they check again, and 10,000 policies can have one each.
    pub policy_faults_told: usize,
    /// Files of policies. 1000: a file for each of many teams.
    pub policy_files: usize,
    /// Bytes of one file of policies. 1 MiB: some 5,000 policies.
    pub policy_file_bytes: usize,
    /// Bytes of a signed bundle of policies, in memory before its signature is looked at. 32 MiB: 10,000 policies and 80,000 agents.
    pub policy_bundle_bytes: usize,
    /// Policies, all files together. 10,000: what loads within five seconds.
    pub policies: usize,
    /// Bytes of `entities.json`. 16 MiB: some 80,000 agents.
    pub entities_bytes: usize,
    /// Agents in `entities.json`.
    pub agents: usize,
    /// Groups of one agent in `entities.json`, and credentials of one. 256: each is looked at when a policy asks for it.
    pub policy_memberships: usize,
    /// Verdicts that are remembered, rounded up to a power of two. 16,384: below 2 MB, for 64 agents times 256 kinds of message.
    pub policy_verdicts: usize,
    /// Costs in `limits.json`, budgets in it, and items in each list of a budget. 1,024: each budget is looked at for every message of its agents.
    pub policy_budgets: usize,
    /// How often loading tries again without a context, when policies do not validate with all of them. 512: a try takes some 20 ms.
    pub policy_left_out_tries: usize,
    /// Looks at one line of contexts beside one policy about every type, over one load. 100,000: ten such policies beside ten thousand lines
    /// within half a minute; past it such a policy is a fault.
    pub policy_line_looks: usize,
    /// Pairs of a permit and a forbid with conditions that one load holds against each other ([`PolicyLimits::max_shadow_pairs`]).
    pub policy_shadow_pairs: usize,
    /// Looks at one policy beside one route in one load ([`PolicyLimits::max_route_looks`]).
    pub policy_route_looks: usize,
    /// How deep a policy may nest ([`PolicyLimits::max_nesting`]).
    pub policy_nesting: usize,
    /// Steps of judging one policy ([`PolicyLimits::max_policy_steps`]).
    pub policy_steps: u64,
    /// Steps of judging all policies of one load ([`PolicyLimits::max_steps`]).
    pub policies_steps: u64,
    /// Bytes that compiled contexts take in memory, of all authorities together, each an equal part; of one line a quarter of its
    /// authority's. 256 MiB: thousands of documents as people write them.
    pub context_bytes: u64,
    /// Delivering one push notification, whole: name, connection and the head of the answer. 10 s: receivers are far away, and the agent waits.
    pub push_timeout: Duration,
    /// Asking the authority for one thing, whole. 10 s: the largest is a tile of a few hundred kB.
    pub fetch_timeout: Duration,
    /// Bytes of the revocation lists of one trust domain, of all its issuers. 64 MiB: some two million revoked certificates.
    pub crl_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            connections_per_agent: 512,
            requests_per_agent: 4096,
            held_bytes: 1 << 30,
            handshake_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(75),
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(20),
            write_timeout: Duration::from_secs(20),
            header_bytes: 16 * 1024,
            headers: 64,
            streams: 100,
            stream_resets: 20,
            stream_window: 256 * 1024,
            ping_interval: Duration::from_secs(30),
            credentials_remembered: 8,
            body_bytes: 1024 * 1024,
            inflate_ratio: 100,
            depth: 32,
            nodes: 20_000,
            concepts: 64,
            reply_concepts: 4096,
            named_ids: 512,
            rate_per_second: 1000,
            rate_burst: 2000,
            rate_buckets: 1 << 20,
            metered_agents: 65_536,
            connect_timeout: Duration::from_secs(2),
            upstream_timeout: Duration::from_secs(30),
            reply_bytes: 1024 * 1024,
            stream_idle: Duration::from_secs(120),
            stream_time: Duration::from_secs(3600),
            event_bytes: 1024 * 1024,
            events: 100_000,
            owned: 4_096,
            owned_of_all: 262_144,
            push_targets: 256,
            subscriptions: 64,
            subscriptions_of_all: 16_384,
            unanswered: 64,
            learnt_sessions: 1_024,
            learnt_concepts: 16,
            proposals: 256,
            proposals_of_all: 65_536,
            subscription_time: Duration::from_secs(3600),
            appended_text: 256 * 1024,
            list_pages: 64,
            tool_pages: 16,
            tool_list_seconds: 0,
            open_requests: 256,
            open_requests_of_all: 65_536,
            request_ids: 4_096,
            resumable_events: 1_024,
            challenge_bytes: 4096,
            metadata_bytes: 64 * 1024,
            upstream_idle: 64,
            upstream_idle_timeout: Duration::from_secs(4),
            upstream_http2_connections: 4,
            upstream_wait: Duration::from_secs(5),
            audit_queue: 8192,
            audit_asked_bytes: 16 << 10,
            drain_timeout: Duration::from_secs(35),
            policy_poll: Duration::from_secs(2),
            policy_settle: Duration::from_millis(200),
            policy_read_tries: 5,
            policy_faults_told: 256,
            policy_files: 1_000,
            policy_file_bytes: 1024 * 1024,
            policy_bundle_bytes: 32 * 1024 * 1024,
            policies: 10_000,
            entities_bytes: 16 * 1024 * 1024,
            agents: 100_000,
            policy_memberships: 256,
            policy_verdicts: 1 << 14,
            policy_budgets: 1_024,
            policy_left_out_tries: 512,
            policy_line_looks: 100_000,
            policy_shadow_pairs: 100_000,
            policy_route_looks: 200_000,
            policy_nesting: 500,
            policy_steps: 2_000_000,
            policies_steps: 200_000_000,
            context_bytes: 256 << 20,
            push_timeout: Duration::from_secs(10),
            fetch_timeout: Duration::from_secs(10),
            crl_bytes: 64 << 20,
        }
    }
}

impl Limits {
    /// What a body in JSON is read within.
    pub(crate) fn json(&self) -> json::Limits {
        json::Limits {
            max_bytes: self.body_bytes,
            max_depth: self.depth,
            max_nodes: self.nodes,
            ..json::Limits::default()
        }
    }

    /// The most that scores can be: what is more is refused before policies are asked.
    #[must_use]
    pub fn scores(&self) -> ScoreBounds {
        let bytes = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
        let message_bytes = bytes(self.body_bytes.max(self.reply_bytes).max(self.event_bytes));
        // what a message says in marked members and beside them, and what it is put behind
        let text_length = message_bytes.saturating_mul(2).saturating_add(bytes(self.appended_text));
        ScoreBounds { message_bytes, concepts: bytes(self.concepts.max(self.reply_concepts)), text_length }
    }

    /// The bounds of a policy set among them.
    pub(crate) fn policies(&self) -> PolicyLimits {
        PolicyLimits {
            max_file_bytes: self.policy_file_bytes,
            max_files: self.policy_files,
            max_policies: self.policies,
            max_entities_bytes: self.entities_bytes,
            max_agents: self.agents,
            max_memberships: self.policy_memberships,
            remembered_verdicts: self.policy_verdicts,
            max_budgets: self.policy_budgets,
            max_left_out_tries: self.policy_left_out_tries,
            max_line_looks: self.policy_line_looks,
            max_shadow_pairs: self.policy_shadow_pairs,
            max_route_looks: self.policy_route_looks,
            max_nesting: self.policy_nesting,
            max_policy_steps: self.policy_steps,
            max_steps: self.policies_steps,
            ..PolicyLimits::default()
        }
    }
}

/// Writes the struct of the file, its filling-in and its reading-out from one list, so that no limit can be forgotten in one.
macro_rules! file_limits {
    (durations: $($span:ident),* ; numbers: $($number:ident: $kind:ty = $low:literal..=$high:literal),* $(,)?) => {
        /// `[limits]` as written; every key may be left out.
        #[derive(Clone, Debug, Default, Deserialize, Serialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct FileLimits {
            $(#[serde(skip_serializing_if = "Option::is_none")] $number: Option<u64>,)*
            $(#[serde(skip_serializing_if = "Option::is_none")] $span: Option<Span>,)*
        }

        impl FileLimits {
            /// # Errors
            /// The first key out of its bounds.
            pub(super) fn check(&self) -> Result<Limits, ConfigFault> {
                let mut limits = Limits::default();
                $(if let Some(written) = self.$number {
                    let must = concat!("between ", $low, " and ", $high);
                    if !($low..=$high).contains(&written) {
                        return Err(ConfigFault::value(concat!("limits.", stringify!($number)), must));
                    }
                    limits.$number = <$kind>::try_from(written)
                        .map_err(|_| ConfigFault::value(concat!("limits.", stringify!($number)), must))?;
                })*
                $(if let Some(Span(written)) = self.$span {
                    // a timeout of nothing refuses everything; one of an hour is none
                    if written < Duration::from_millis(10) || written > Duration::from_secs(3600) {
                        return Err(ConfigFault::value(
                            concat!("limits.", stringify!($span)), "between 10ms and 1h"));
                    }
                    limits.$span = written;
                })*
                Ok(limits)
            }

            pub(super) fn of(limits: &Limits) -> Self {
                Self {
                    $($number: Some(limits.$number as u64),)*
                    $($span: Some(Span(limits.$span)),)*
                }
            }
        }
    };
}

file_limits! {
    durations: ping_interval, handshake_timeout, idle_timeout, header_timeout, body_timeout, write_timeout, connect_timeout, upstream_timeout,
        stream_idle, stream_time, subscription_time, upstream_idle_timeout, upstream_wait, drain_timeout, policy_poll, policy_settle, push_timeout, fetch_timeout;
    numbers:
        connections: usize = 1..=1_000_000,
        connections_per_agent: usize = 1..=1_000_000,
        requests_per_agent: usize = 1..=1_000_000,
        held_bytes: usize = 8_388_608..=1_099_511_627_776,
        header_bytes: usize = 512..=1_048_576,
        headers: usize = 4..=1024,
        streams: u32 = 1..=10_000,
        stream_resets: usize = 1..=10_000,
        stream_window: u32 = 65_535..=16_777_216,
        credentials_remembered: usize = 0..=1024,
        body_bytes: usize = 64..=67_108_864,
        inflate_ratio: usize = 1..=10_000,
        depth: usize = 4..=128,
        nodes: usize = 16..=10_000_000,
        concepts: usize = 1..=4096,
        reply_concepts: usize = 1..=16_384,
        named_ids: usize = 4..=1_000_000,
        rate_per_second: u32 = 1..=1_000_000,
        rate_burst: u32 = 1..=1_000_000,
        rate_buckets: usize = 64..=1_073_741_824,
        metered_agents: usize = 1_024..=16_777_216,
        reply_bytes: usize = 64..=67_108_864,
        event_bytes: usize = 64..=67_108_864,
        events: usize = 1..=100_000_000,
        owned: usize = 1..=16_777_216,
        owned_of_all: usize = 1..=16_777_216,
        push_targets: usize = 1..=65_536,
        subscriptions: usize = 1..=1_000_000,
        subscriptions_of_all: usize = 1..=16_777_216,
        unanswered: usize = 1..=65_536,
        learnt_sessions: usize = 1..=1_000_000,
        learnt_concepts: usize = 1..=4_096,
        appended_text: usize = 64..=67_108_864,
        list_pages: usize = 1..=65_536,
        tool_pages: usize = 0..=1_024,
        tool_list_seconds: u32 = 0..=86_400,
        open_requests: usize = 1..=65_536,
        open_requests_of_all: usize = 1..=16_777_216,
        request_ids: usize = 1..=1_000_000,
        resumable_events: usize = 0..=1_000_000,
        challenge_bytes: usize = 64..=65_536,
        metadata_bytes: usize = 64..=1_048_576,
        upstream_idle: usize = 0..=65_536,
        upstream_http2_connections: usize = 1..=1_024,
        audit_queue: usize = 1..=1_000_000,
        audit_asked_bytes: usize = 256..=32_768,
        policy_read_tries: usize = 1..=100,
        policy_faults_told: usize = 1..=1_000_000,
        policy_files: usize = 1..=1_000_000,
        policy_file_bytes: usize = 64..=1_073_741_824,
        policy_bundle_bytes: usize = 1024..=1_073_741_824,
        policies: usize = 1..=10_000_000,
        entities_bytes: usize = 64..=1_073_741_824,
        agents: usize = 1..=10_000_000,
        policy_memberships: usize = 1..=65_536,
        policy_verdicts: usize = 1..=16_777_216,
        policy_budgets: usize = 1..=1_000_000,
        policy_left_out_tries: usize = 0..=1_000_000,
        policy_line_looks: usize = 0..=1_000_000_000,
        policy_shadow_pairs: usize = 0..=1_000_000_000,
        policy_route_looks: usize = 0..=1_000_000_000,
        policy_nesting: usize = 16..=500,
        policy_steps: u64 = 1_000..=1_000_000_000_000,
        policies_steps: u64 = 1_000..=1_000_000_000_000,
        context_bytes: u64 = 1_048_576..=1_099_511_627_776,
        proposals: usize = 1..=65_536,
        proposals_of_all: usize = 1..=16_777_216,
        crl_bytes: usize = 1024..=17_179_869_184,
}
