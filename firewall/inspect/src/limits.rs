//! Bounds of an inspection, each with the reason for its value.

use semgate_contexts::json;

/// Bounds of the inspector. All apply to requests and replies alike.
#[derive(Clone, Debug)]
pub struct InspectLimits {
    /// Bounds of the strict JSON reader: 1 MiB, 32 levels and 20,000 values. Concept messages are far
    /// smaller, and reading takes far less than a millisecond.
    pub json: json::Limits,
    /// Concept instances in one request: 64, so at most 64 policy decisions.
    pub concepts: usize,
    /// Concept instances in one reply, event or notification: 4,096. A read task holds each appended piece as
    /// a part, and a model's long answer has thousands of pieces. The policy decisions take about ten
    /// milliseconds at most.
    pub reply_concepts: usize,
    /// Distinct ids of tasks, conversations and push configurations in one message: 512.
    ///
    /// A list of tasks counts the ids besides one task and one conversation for each entry. The bound is
    /// twice the stored push configurations of one agent, and exceeds the references of a long history. The
    /// caller owns the new ids, so one reply adds at most an eighth of `owned_by_one`.
    pub named_ids: usize,
    /// `ambiguous_parameter` instances of one agent in any 60-second window: 10 (F0-43).
    pub ambiguous_per_minute: usize,
    /// Agents that each meter remembers: 65,536, about 16 MiB. An active agent is never forgotten; when all
    /// are active, a new one is refused.
    pub metered_agents: usize,
    /// Rate buckets that are not full, of policies and `limits.json`: 1,048,576, some 64 MiB. Such a bucket
    /// is never forgotten; when the table is full, a new one is refused.
    pub rate_buckets: usize,
    /// Text of one artifact on one stream, one byte for each boundary included: 256 KiB, a long document. As much
    /// is judged again with each appended piece, and remembered for all artifacts of a stream.
    ///
    /// The bound also applies to joined text from several parts of one message. Policies that use the text judge
    /// it up to three times for each message.
    pub appended_text: usize,
    /// Characters of text of one message that policies may read scores of: 100,000, about 10 ms of work and as much as
    /// [`semgate_scan::MAX_CHARACTERS`]; [`semgate_scan::scored_characters`] counts them. Longer text is refused where a policy reads a
    /// score; a part of it has no score.
    pub scan_characters: usize,
    /// Tasks, conversations, push configurations and sessions that the gateway remembers for one agent: 4,096.
    /// That is over an hour of a new task and conversation every two seconds. The least recently used one is
    /// forgotten first.
    pub owned_by_one: usize,
    /// Proposals of one agent in native L8: 256, more than its maximum of concurrent requests. Answered ones
    /// are forgotten first. An open proposal that is forgotten can no longer be accepted.
    pub proposals_of_one: usize,
    /// Proposals of all agents: 65,536, some 20 MB, so that 256 agents can reach their bound. The agent that
    /// holds most loses its oldest first.
    pub proposals_of_all: usize,
    /// List pages that one agent received and may still continue: 64, as many as concurrent listings. A
    /// forgotten listing starts again. Listings of MCP tools have a bound of the same size.
    pub pages_of_one: usize,
    /// Owned things of all agents: 262,144, about 100 MiB, so that 64 agents can reach their bound.
    pub owned_by_all: usize,
    /// Push configurations of one agent whose targets are stored: 256 of up to 10 kB each, so 2.5 MB. The
    /// least recently used one is forgotten first and gets no more deliveries.
    pub deliveries_by_one: usize,
    /// Maximum age in milliseconds of a server's tool list for a call of one of its tools; none by default. With
    /// a maximum the gateway lists tools by itself, which no client asked for.
    pub tool_list_ms: Option<u64>,
    /// Open requests of one agent in MCP sessions, per direction: 256, more than its concurrent calls. The
    /// oldest is forgotten first. Its answer then passes only on its own stream.
    pub open_requests: usize,
    /// Request ids of one agent in MCP sessions that are still reserved: 4,096, some 600 kB.
    ///
    /// An id stays reserved if its answer did not pass, or may come again on a resumed stream. The bound
    /// covers over an hour of one refused answer per second. When it is reached, the least recently used
    /// session ends; an agent's only session takes no more requests.
    pub request_ids: usize,
    /// Open requests of all agents in both directions: 65,536, some 100 MB, so that 128 agents can reach
    /// their bound. Eight resumable events count as one request. The agent that holds most loses its oldest
    /// first.
    pub open_requests_of_all: usize,
    /// Events in MCP sessions that one agent received and may resume after: 1,024. That covers the events in
    /// flight when a few streams break. No stream resumes after a forgotten event.
    pub resumable_events: usize,
    /// Open subscriptions of one agent: 64, each a stream or part of a socket. That is far more topics than
    /// one agent follows.
    pub subscriptions_of_one: usize,
    /// Open subscriptions of all agents: 16,384, so that 256 agents can reach their bound.
    pub subscriptions_of_all: usize,
    /// Maximum duration of a subscription in milliseconds: one hour, as for a stream. A subscriber renews by
    /// subscribing again, which is judged again.
    pub subscription_ms: u64,
    /// Unanswered requests of one socket: 64, far above the few that an agent handles at once.
    pub unanswered: usize,
    /// Sessions with negotiated terms: 1,024, some megabytes of concepts. The agent that holds most loses the
    /// session that ends first.
    pub learnt_sessions: usize,
    /// Settled or open names in one session: 16, enough for the few words that a domain lacks.
    pub learnt_concepts: usize,
    /// Sessions of one agent that messages open, as in LDP: 64, one for each of many delegates. The least recently
    /// used one is forgotten first.
    pub dialogues_of_one: usize,
    /// Such sessions of all agents: 65,536, some 30 MB, so that 1,024 agents can reach their bound.
    pub dialogues_of_all: usize,
    /// Remembered tasks of one agent in such sessions: 1,024. A forgotten task is `not_found`.
    pub dialogue_tasks: usize,
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
            scan_characters: semgate_scan::MAX_CHARACTERS,
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
            dialogues_of_one: 64,
            dialogues_of_all: 65_536,
            dialogue_tasks: 1_024,
        }
    }
}
