//! The agents of `entities.json`.

/// One agent as `entities.json` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentEntry {
    /// The SPIFFE id, the value of the verified certificate.
    pub id: String,
    /// The one other name that `sender_id` may use.
    pub alias: Option<String>,
    /// Groups, sorted.
    pub groups: Vec<String>,
    /// Credentials, sorted.
    pub credentials: Vec<String>,
    /// A disabled agent is denied everything.
    pub disabled: bool,
    /// Digest of the entry, so that what was known of a sender can be told apart later.
    pub digest: semgate_contexts::Digest,
}
