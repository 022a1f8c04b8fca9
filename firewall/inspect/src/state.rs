//! Everything that outlives a message.

use crate::{
    InspectLimits, Owners, Subscriptions,
    dialogues::Dialogues,
    mcp_session::{Bounds, McpSessions},
    meter::Meters,
    negotiated_terms::NegotiatedTerms,
    once,
    push::Courses,
    scan::ScanCounts,
    tools::ToolWatch,
};
use semgate_negotiation::{ReplayMemory, Sessions};
use semgate_policies::Keep;
use std::sync::Arc;

/// Counters and memory of all agents, shared by all cores, with their bounds.
#[derive(Debug)]
pub(crate) struct State {
    pub limits: InspectLimits,
    /// Selection of policy questions to record; none unless the operator asks for it.
    pub keep: Option<Keep>,
    pub meters: Meters,
    pub sessions: Arc<Sessions>,
    pub owners: Owners,
    /// Messages that count once.
    pub once: ReplayMemory,
    /// The first second of stamps that count, since the Unix epoch.
    pub signed_since: u64,
    pub subscriptions: Subscriptions,
    pub tools: ToolWatch,
    pub courses: Courses,
    pub mcp_sessions: McpSessions,
    pub negotiated_terms: NegotiatedTerms,
    pub dialogues: Dialogues,
    pub scans: Arc<ScanCounts>,
}

impl State {
    /// An empty memory with these bounds.
    pub(crate) fn new(limits: InspectLimits) -> Self {
        Self {
            meters: Meters::new(&limits),
            sessions: Arc::new(Sessions::none()),
            owners: Owners::with_limits(&limits),
            once: ReplayMemory::bounded(once::REMEMBERED),
            signed_since: 0,
            subscriptions: Subscriptions::new(
                limits.subscriptions_of_one,
                limits.subscriptions_of_all,
                limits.subscription_ms,
            ),
            tools: ToolWatch::with_limits(&limits),
            courses: Courses::default(),
            mcp_sessions: McpSessions::new(Bounds {
                each: limits.open_requests,
                events: limits.resumable_events,
                ids: limits.request_ids,
                all: limits.open_requests_of_all,
                agents: limits.metered_agents,
            }),
            negotiated_terms: NegotiatedTerms::new(limits.learnt_sessions, limits.learnt_concepts),
            dialogues: Dialogues::new(&limits),
            keep: None,
            scans: Arc::default(),
            limits,
        }
    }
}
