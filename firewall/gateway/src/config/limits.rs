//! Every limit of the gateway, with the reason for its default.

use std::time::Duration;

use semgate_contexts::json;
use semgate_policies::PolicyLimits;
use serde::{Deserialize, Serialize};

use super::fault::ConfigFault;
use super::span::Span;

/// Limits of one gateway. `Default` equals an empty `[limits]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open connections on one listener; further ones wait in the kernel's backlog. 4096: about 100 MB with default buffers,
    /// if each sends a full head and nothing else.
    pub connections: usize,
    /// Connections of one agent, on all TLS listeners and cores together. 512: an eighth of `connections`, so that seven
    /// compromised agents leave room for the others. An honest agent's pool is far smaller. A plain listener has only one
    /// agent.
    pub connections_per_agent: usize,
    /// Bytes that messages of all agents hold: connection buffers, bodies as received and inflated, replies and events. 1
    /// GiB; one agent may hold an eighth of it. Contexts and policies use further memory.
    pub held_bytes: usize,
    /// Requests of one agent in flight, on all TLS listeners and cores together, including streams and sockets. Each may hold
    /// an upstream connection. 4096: a sixteenth of the shipped unit's 65,536 descriptors. Seven compromised agents then
    /// leave more than half, and an honest agent has far fewer open.
    pub requests_per_agent: usize,
    /// Time for a whole TLS handshake. 5 s: three round trips at the worst mobile latency.
    pub handshake_timeout: Duration,
    /// Silence before a kept connection is closed. 75 s: nginx's default.
    pub idle_timeout: Duration,
    /// Time from the first byte of a head to its end. 10 s: a head is one or two packets; anything slower is slowloris.
    pub header_timeout: Duration,
    /// Time from the end of the head to the end of the body. 20 s: 1 MiB at 50 kB/s.
    pub body_timeout: Duration,
    /// Time that a reply may stay unread in the socket. 20 s, as for the body.
    pub write_timeout: Duration,
    /// Bytes of request line and headers. 16 KiB: twice nginx's default, since callers may send large trace headers.
    pub header_bytes: usize,
    /// Number of header lines. 64: a long proxy chain adds about twenty.
    pub headers: usize,
    /// HTTP/2: requests open at once on a connection. 100: the minimum that RFC 9113 §6.5.2 advises.
    pub streams: u32,
    /// HTTP/2: early resets by a caller, and streams with protocol errors, before the connection ends (CVE-2023-44487 and
    /// similar). 20: an honest caller resets far fewer at once.
    pub stream_resets: usize,
    /// HTTP/2: bytes that a caller may send on a stream ahead of the gateway; a connection has four times that. 256 KiB: most
    /// messages in one go, and 1 MiB of memory for an unread connection.
    pub stream_window: u32,
    /// HTTP/2: interval of pings to a silent peer, in both directions. 30 s: well before a router on the path forgets the
    /// connection.
    pub ping_interval: Duration,
    /// Verified credential tokens remembered on one connection. 8: an agent has one token and renews it now and then.
    pub credentials_remembered: usize,
    /// Bytes of a request's body, compressed or inflated. 1 MiB: the paper's messages are under 2 kB, and a book chapter
    /// fits.
    pub body_bytes: usize,
    /// Inflated bytes for each compressed byte, checked past 64 KiB. 100: only a bomb approaches deflate's maximum of about
    /// 1000.
    pub inflate_ratio: usize,
    /// Nesting depth of JSON. 32: a concept in the history of an A2A task is at level 8.
    pub depth: usize,
    /// JSON values in a message. 20,000: 1 MiB of small numbers would be 500,000 values and disproportionately costly.
    pub nodes: usize,
    /// Concepts in a request. 64: the paper's largest has three; each costs one policy decision.
    pub concepts: usize,
    /// Concepts in a reply, event or notification. 4,096: a task has a part for each piece appended to its artifact, and a
    /// long model answer has thousands of pieces.
    pub reply_concepts: usize,
    /// Ids of tasks, conversations and push configurations in one message. 512: twice `push_targets`, and more than a long
    /// history refers to; an eighth of `owned`.
    pub named_ids: usize,
    /// Units a second for the arrivals of one agent, on all routes together. A message costs one unit, one more for each 4
    /// KiB of body, and one more for each 500 JSON values. 1000: at 25 µs each, a fortieth of a core, so tens of agents share
    /// one.
    pub rate_per_second: u32,
    /// Burst of units from one agent. 2000: two seconds of `rate_per_second`.
    pub rate_burst: u32,
    /// Partly used buckets of limits by policies and `limits.json`, of all agents together. 1,048,576: about 64 MiB if a
    /// million agents are active at once.
    pub rate_buckets: usize,
    /// Agents with an account. 65,536: about 16 MiB. An active agent keeps its account; if all are active, a new agent is
    /// refused.
    pub metered_agents: usize,
    /// Time to connect to the agent, including TLS. 2 s: the agent is near.
    pub connect_timeout: Duration,
    /// Time from the written request to the last byte of the reply. 30 s: agents need time to think.
    pub upstream_timeout: Duration,
    /// Bytes of a reply. 1 MiB, as for the request.
    pub reply_bytes: usize,
    /// Silence before a stream of events ends. 2 min: agents that think longer send keep-alives, every 15 s in the common
    /// libraries.
    pub stream_idle: Duration,
    /// Duration of a stream of events. 1 h: a caller that wants more subscribes again and is judged again.
    pub stream_time: Duration,
    /// Bytes of one event. 1 MiB, as for a reply.
    pub event_bytes: usize,
    /// Events in a stream. 100,000: 28 a second for an hour.
    pub events: usize,
    /// Tasks, conversations, push configurations and sessions remembered for one agent. 4,096: more than an hour of a new
    /// task and conversation every two seconds. The least recently used is forgotten first.
    pub owned: usize,
    /// The same for all agents. 262,144: about 100 MiB, so that 64 agents can reach their maximum.
    pub owned_of_all: usize,
    /// A2A: push configurations of one agent with a kept target. 256: up to 10 kB each, so 2.5 MB an agent. The least
    /// recently used is forgotten first, and its deliveries stop.
    pub push_targets: usize,
    /// Native L8: subscriptions that one agent holds open, all routes together. 64: each is a stream or part of a socket, and
    /// few follow so many topics.
    pub subscriptions: usize,
    /// Native L8: the same for all agents. 16,384: enough for 256 agents at their maximum.
    pub subscriptions_of_all: usize,
    /// Native L8: unanswered requests of one socket. 64: an agent works on a handful at once.
    pub unanswered: usize,
    /// Sessions in which two agents settle terms that no context defines. 1,024: a few megabytes of concepts. The agent with
    /// the most loses its session that ends first.
    pub learnt_sessions: usize,
    /// Names settled or under negotiation in one session. 16: a domain omits only a handful of words.
    pub learnt_concepts: usize,
    /// Native L8: held proposals of one agent. 256: more than an agent's concurrent requests. A forgotten proposal cannot be
    /// accepted; answered ones are forgotten first.
    pub proposals: usize,
    /// Native L8: the same for all agents. 65,536: about 20 MB, so that 256 agents can reach their maximum. The agent with
    /// the most loses its oldest first.
    pub proposals_of_all: usize,
    /// Native L8: duration of a subscription. 1 h, as for a stream: a caller that wants more subscribes again and is judged
    /// again.
    pub subscription_time: Duration,
    /// A2A: bytes of text on one stream, or for one push target, to which later text may be appended. 256 KiB: a long document. The
    /// gateway judges this much again with each appended piece. Past it the artifact extended least lately is forgotten.
    ///
    /// A2A and MCP: bytes of text in several parts of one message, which policies on text judge as one.
    pub appended_text: usize,
    /// A2A: pages of lists that one agent was told of and may still ask for; MCP: pages of lists of tools that were begun and can say that one
    /// is as signed. 64: as many lists read at once.
    pub list_pages: usize,
    /// MCP: pages of a tool list that the gateway reads itself after the server reports a change. 16: a thousand tools at 64
    /// a page. Calls are refused for a longer list until the caller reads it whole, since a later page may differ.
    pub tool_pages: usize,
    /// MCP: maximum age in seconds of a list that showed a tool as signed, at a call of the tool. If it is older, the gateway
    /// first lists the tools for the caller. 0 disables the limit: otherwise servers get list requests that no client made.
    pub tool_list_seconds: u32,
    /// MCP: pending requests in the sessions of one agent, in each direction. 256: more than an agent's concurrent calls. The
    /// oldest is forgotten first; then only its own stream can answer it.
    pub open_requests: usize,
    /// MCP: the same for all agents, in both directions. Eight resumable events count as one. 65,536: about 100 MB. The agent
    /// with the most loses its oldest first.
    pub open_requests_of_all: usize,
    /// MCP: request ids of one agent's sessions without a permitted answer, or whose answer may come again. 4,096: more than
    /// an hour of one refused answer a second. At the limit, the agent's least recently used session ends; if it has only
    /// one, further requests are refused.
    pub request_ids: usize,
    /// MCP: events after which one agent may resume a stream. 1,024: enough for the events in transit when a few streams
    /// break.
    pub resumable_events: usize,
    /// MCP: bytes of a server's `WWW-Authenticate`, and of a DPoP nonce. 4 KiB: a challenge has about 300.
    pub challenge_bytes: usize,
    /// MCP: bytes of the metadata of a protected resource. 64 KiB: a hundred scopes take 4.
    pub metadata_bytes: usize,
    /// Kept connections to one agent on one core. 64: more hardly help a single-threaded runtime.
    pub upstream_idle: usize,
    /// Time that such a connection is kept unused. 4 s: Node.js and uvicorn close theirs after 5 s, so messages rarely meet a
    /// closing connection.
    pub upstream_idle_timeout: Duration,
    /// HTTP/2: connections to one agent on one core. 4: each carries as many messages as the agent allows, mostly 100. More
    /// would only bypass the agent's own limit.
    pub upstream_http2_connections: usize,
    /// HTTP/2: time that an unsent message waits for a free stream before it is refused. 5 s: with `upstream_timeout` this
    /// stays within `drain_timeout`. An agent that frees no stream in this time is overloaded.
    pub upstream_wait: Duration,
    /// Audit records in the write queue. 8192: about a second of full load; a full queue refuses messages.
    pub audit_queue: usize,
    /// Bytes of one record for policy inputs, if `[audit_values]` keeps them. 16 KiB: about fifty questions, or a few with
    /// long values. A larger input leaves only its size.
    pub audit_asked_bytes: usize,
    /// Time from the signal to the end, for messages in flight. 35 s: just past `upstream_timeout`.
    pub drain_timeout: Duration,
    /// Poll interval for the policy directory. 2 s: a poll reads a few small files.
    pub policy_poll: Duration,
    /// Time that a changed policy directory must stay unchanged before it is read. 200 ms: an editor or a copy writes one
    /// file in less.
    pub policy_settle: Duration,
    /// Further reads of the policy directory if it changes during a read. 5: swapping links takes microseconds, so after five
    /// tries the directory never settles.
    pub policy_read_tries: usize,
    /// Faults of a rejected set, or warnings of a live one, in the log and `/status`; the rest are only counted. 256: more
    /// than an operator corrects at once, while each of 10,000 policies can have one.
    pub policy_faults_told: usize,
    /// Policy files. 1000: a file for each of many teams.
    pub policy_files: usize,
    /// Bytes of one policy file. 1 MiB: about 5,000 policies.
    pub policy_file_bytes: usize,
    /// Bytes of a signed policy bundle, in memory before its signature is checked. 32 MiB: 10,000 policies and 80,000 agents.
    pub policy_bundle_bytes: usize,
    /// Policies in all files together. 10,000: the number that loads within five seconds.
    pub policies: usize,
    /// Bytes of `entities.json`. 16 MiB: about 80,000 agents.
    pub entities_bytes: usize,
    /// Agents in `entities.json`.
    pub agents: usize,
    /// Groups of one agent in `entities.json`, and credentials of one agent. 256: a policy that uses them checks each.
    pub policy_memberships: usize,
    /// Remembered verdicts, rounded up to a power of two. 16,384: below 2 MB, for 64 agents times 256 kinds of message.
    pub policy_verdicts: usize,
    /// Costs in `limits.json`, its budgets, and items in each list of a budget. 1,024: every message of an agent checks each
    /// of its budgets.
    pub policy_budgets: usize,
    /// Retries of loading without a context, if policies do not validate with all of them. 512: a try takes about 20 ms.
    pub policy_left_out_tries: usize,
    /// Comparisons of a context line with a policy about every type, in one load. 100,000: ten such policies with ten
    /// thousand lines within half a minute. Past it, such a policy is a fault.
    pub policy_line_looks: usize,
    /// How deep a policy may nest ([`PolicyLimits::max_nesting`]).
    pub policy_nesting: usize,
    /// Bytes that compiled contexts take in memory, of all authorities together, each an equal part; of one line a quarter of its
    /// authority's. 256 MiB: thousands of documents as people write them.
    pub context_bytes: u64,
    /// Time to deliver one push notification: name lookup, connection and head of the answer. 10 s: receivers are far away,
    /// and the agent waits.
    pub push_timeout: Duration,
    /// Time of one request to the authority. 10 s: the largest answer is a tile of a few hundred kB.
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
            policy_nesting: 500,
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
            max_depth: self.depth,
            max_nodes: self.nodes,
            ..json::Limits::default()
        }
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
            max_nesting: self.policy_nesting,
            ..PolicyLimits::default()
        }
    }
}

/// Generates the file's struct, its defaults and its readers from one list, so that none omits a limit.
macro_rules! file_limits {
    (durations: $($span:ident),* ; numbers: $($number:ident: $kind:ty = $low:literal..=$high:literal),* $(,)?) => {
        /// `[limits]` as written; every key is optional.
        #[derive(Clone, Debug, Default, Deserialize, Serialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct FileLimits {
            $(#[serde(skip_serializing_if = "Option::is_none")] $number: Option<u64>,)*
            $(#[serde(skip_serializing_if = "Option::is_none")] $span: Option<Span>,)*
        }

        impl FileLimits {
            /// # Errors
            /// Refuses the first key out of bounds.
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
                    // a zero timeout refuses everything; more than an hour is no timeout
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
        policy_nesting: usize = 16..=500,
        context_bytes: u64 = 1_048_576..=1_099_511_627_776,
        proposals: usize = 1..=65_536,
        proposals_of_all: usize = 1..=16_777_216,
        crl_bytes: usize = 1024..=17_179_869_184,
}
