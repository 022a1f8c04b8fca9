//! The bounds of an inspection, each with the reason for its number.

use semgate_contexts::json;

/// Bounds of the inspector. All apply to requests and replies alike.
#[derive(Clone, Debug)]
pub struct InspectLimits {
    /// Bounds of the strict JSON reader: 1 MiB, 32 levels and 20,000 values, far above any message of concepts and far
    /// below what costs a millisecond to read.
    pub json: json::Limits,
    /// Concept instances in one request: 64, so that it costs at most 64 policy decisions.
    pub concepts: usize,
    /// Concept instances in one reply, event or notification: 4,096. Each piece that was appended to an artifact is a part of it when the task is
    /// read, and a long answer of a model is told in thousands of pieces; it costs some ten milliseconds of policy decisions at most.
    pub reply_concepts: usize,
    /// Ids of tasks, conversations and push configurations that one message names, each counted once, and that a list of tasks names beside one task and one
    /// conversation for each of its own: 512, twice the push configurations of one agent whose targets are kept, and more than a long
    /// history refers to; what is new of them its caller owns from then on, so one reply brings an eighth of `owned_by_one` at most.
    pub named_ids: usize,
    /// `ambiguous_parameter` instances in any 60-second window of one agent: 10, the number of the paper (F0-43).
    pub ambiguous_per_minute: usize,
    /// Agents that each meter remembers: 65,536, about 16 MiB. An active one is never forgotten; when all are active,
    /// a new one is refused.
    pub metered_agents: usize,
    /// Buckets of limits by policies and `limits.json` that are not full: 1,048,576, some 64 MiB should a million agents be active. One
    /// that is not full is never forgotten; when all places are taken, a new one is refused.
    pub rate_buckets: usize,
    /// Text of one artifact on one stream that a further piece may be appended to, with a byte for each boundary: 256 KiB, a long document.
    /// As much is judged again with each such piece. A stream remembers as much text of all its artifacts. Also the text in several parts of
    /// one message that policies which look at it are asked about as one, up to three times for each message.
    pub appended_text: usize,
    /// Tasks, conversations, push configurations and sessions that one agent owns and the gateway remembers: 4,096, over an
    /// hour of a new task with a conversation of its own every two seconds. The one it used least lately is forgotten first.
    pub owned_by_one: usize,
    /// Native L8: proposals that one agent made: 256, as many requests as it has waiting at once and then some. Those that were answered are
    /// forgotten first, so long as there are any; an open one that is forgotten cannot be accepted any more.
    pub proposals_of_one: usize,
    /// The same of all agents together: 65,536, some 20 MB, so that 256 agents can be full. Of the agent that holds most the oldest
    /// are forgotten first.
    pub proposals_of_all: usize,
    /// Pages of lists that one agent was told of and may still ask for: 64, which is as many lists read at once; of the oldest
    /// the list begins anew. As many of lists of tools of MCP, beside them, can go on to say that one is as signed.
    pub pages_of_one: usize,
    /// The same of all agents together: 262,144, about 100 MiB, so that 64 agents can be full.
    pub owned_by_all: usize,
    /// Push configurations of one agent whose target the gateway keeps: 256, up to 10 kB each, so 2.5 MB of an agent. The one that was
    /// used least lately is forgotten first, and nothing is delivered for it any more.
    pub deliveries_by_one: usize,
    /// How old, in milliseconds, the newest list of tools of its server may be that has a tool of MCP as it was signed, for the tool to be called: none by default,
    /// since a gateway that then lists by itself asks servers what no client did.
    pub tool_list_ms: Option<u64>,
    /// Requests under way in sessions of MCP that are remembered of one agent, in each direction: 256, as many calls as an
    /// agent has waiting at once and then some. The oldest is forgotten first and cannot be answered any more on another stream than its own.
    pub open_requests: usize,
    /// Ids of requests in sessions of MCP that one agent has, because the server did not answer them with what may pass, or may answer them once more on a stream that is
    /// resumed: 4,096, some 600 kB, over an hour of a refused answer a second. Where they are taken, its session that was used least lately ends,
    /// and in the only one no more is asked.
    pub request_ids: usize,
    /// The same of all agents together, in both directions, and as many events again for each that they were told of and may ask to go on after: 65,536, some 100 MB, so
    /// that 128 agents can be full. Of the agent that holds most the oldest are forgotten first.
    pub open_requests_of_all: usize,
    /// Events of streams in sessions of MCP that one agent was told of and may ask to go on after: 1,024, what was on its way when
    /// a few of its streams were cut. After one that is forgotten nothing is resumed.
    pub resumable_events: usize,
    /// Subscriptions that one agent holds open: 64, far more topics than one follows, each a stream or part of a socket.
    pub subscriptions_of_one: usize,
    /// The same of all agents together: 16,384, as many as 256 agents that are full.
    pub subscriptions_of_all: usize,
    /// How long a subscription lasts, in milliseconds: an hour, as a stream; who wants to go on subscribes again and is asked again.
    pub subscription_ms: u64,
    /// Requests of one socket that are unanswered: 64; what an agent thinks about at once is a handful.
    pub unanswered: usize,
    /// Sessions in which two agents settle what no context defines: 1,024, for some megabytes of concepts. Of the agent that holds most, the one that ends first is
    /// forgotten first.
    pub learnt_sessions: usize,
    /// Names that are settled, or asked about, in one session: 16, a handful of words that a domain forgot.
    pub learnt_concepts: usize,
}

impl Default for InspectLimits {
    fn default() -> Self {
        Self {
            json: json::Limits::default(),
            concepts: 64,
            reply_concepts: 4096,
            named_ids: 512,
            ambiguous_per_minute: 10,
            metered_agents: 65_536,
            rate_buckets: 1 << 20,
            appended_text: 256 * 1_024,
            owned_by_one: 4_096,
            proposals_of_one: 256,
            proposals_of_all: 65_536,
            pages_of_one: 64,
            owned_by_all: 262_144,
            deliveries_by_one: 256,
            tool_list_ms: None,
            open_requests: 256,
            open_requests_of_all: 65_536,
            request_ids: 4_096,
            resumable_events: 1_024,
            subscriptions_of_one: 64,
            subscriptions_of_all: 16_384,
            subscription_ms: 3_600_000,
            unanswered: 64,
            learnt_sessions: 1_024,
            learnt_concepts: 16,
        }
    }
}
