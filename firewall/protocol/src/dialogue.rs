//! Sessions that two agents open, use and close by messages of their protocol.

/// The richness of a payload, from the poorest on. A poorer mode than agreed is a downgrade.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PayloadMode {
    /// Mode 0: free text.
    Text,
    /// Mode 1: an object with named members.
    #[default]
    SemanticFrame,
    /// Mode 2: a frame with embeddings.
    EmbeddingHints,
    /// Mode 3: a graph.
    SemanticGraph,
}

impl PayloadMode {
    /// All of them, the poorest first.
    pub const ALL: [Self; 4] = [Self::Text, Self::SemanticFrame, Self::EmbeddingHints, Self::SemanticGraph];

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::SemanticFrame => "semantic_frame",
            Self::EmbeddingHints => "embedding_hints",
            Self::SemanticGraph => "semantic_graph",
        }
    }

    /// Reads the word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text)
    }
}

/// The part of a message that concerns its session and its sender, in bindings whose messages state them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dialogue<'j> {
    /// The step in the session.
    pub step: SessionStep<'j>,
    /// The signed text and the signature.
    pub seal: Option<crate::Seal<'j>>,
    /// True if the receiver may be named by an address of the route.
    pub to_address: bool,
}

/// The step of a message in a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SessionStep<'j> {
    /// Needs no session.
    #[default]
    Outside,
    /// Proposes a session.
    Propose(SessionTerms<'j>),
    /// Accepts the proposal under the id of the session.
    Accept {
        /// The id, which its acceptor chooses.
        id: &'j str,
        /// The payload mode of the session.
        mode: PayloadMode,
    },
    /// Begins a task under an id of the caller's choice.
    Submit(Submission<'j>),
    /// Asks about a task, or cancels it. The session may stay unnamed.
    Follow,
    /// States the result of a task.
    Result(Usage),
    /// Speaks in a session, about no task.
    Speak,
    /// Closes the session.
    Close,
}

/// The terms of a proposed session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionTerms<'j> {
    /// The id that the proposer chose, if it chose one.
    pub session: Option<&'j str>,
    /// The payload modes that the proposer takes.
    pub modes: Vec<PayloadMode>,
    /// The longest time without use, in seconds.
    pub ttl: Option<u64>,
    /// The trust domain that the proposer claims to belong to.
    pub trust_domain: Option<&'j str>,
    /// The trust domain that the proposer requires of the other agent.
    pub required_domain: Option<&'j str>,
}

/// The beginning of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission<'j> {
    /// The id of the task.
    pub task: &'j str,
    /// The skill that the task needs.
    pub skill: &'j str,
    /// The payload mode.
    pub mode: PayloadMode,
    /// The bounds of the delegation.
    pub bounds: Option<Bounds>,
}

/// Bounds of a delegated task. Each holds whatever the contract says about failures: a violation is a refusal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The last instant at which a result counts, in milliseconds since the Unix epoch.
    pub deadline_ms: Option<u64>,
    /// The most delegations after the first.
    pub depth: Option<u64>,
    /// The most tokens.
    pub tokens: Option<u64>,
    /// The most that it may cost, in millionths of a US dollar.
    pub micro_usd: Option<u64>,
}

/// The use of resources that a result reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The payload mode of the result.
    pub mode: PayloadMode,
    /// Tokens used.
    pub tokens: Option<u64>,
    /// The cost in millionths of a US dollar, rounded up.
    pub micro_usd: Option<u64>,
    /// Delegations after the first: the length of the reported chain.
    pub depth: u64,
}

/// The session and task that a message names, before it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionRef<'j> {
    /// The session; none if the message names none.
    pub session: Option<&'j str>,
    /// The task.
    pub task: Option<&'j str>,
}
