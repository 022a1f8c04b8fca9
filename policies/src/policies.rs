//! The loaded policies.

use std::sync::Arc;

use semgate_contexts::{Context, Digest, Line};

use crate::{AgentEntry, LeftOut, LineUse, NoPolicy, PolicyFault, PolicyLimits, PolicySource, Question, Verdict};

/// One generation of policies, agents and typed contexts; never changes once loaded.
#[derive(Debug)]
pub struct Policies {}

impl Policies {
    /// Loads a policy directory as a whole, or says everything that is wrong with it.
    ///
    /// # Errors
    /// Every fault found, at least one.
    pub fn load(_source: &PolicySource, _contexts: &[Arc<Context>], _limits: &PolicyLimits) -> Result<Self, Vec<PolicyFault>> {
        todo!()
    }

    /// Digest over all policy files and `entities.json`: what is live.
    #[must_use]
    pub fn digest(&self) -> Digest {
        todo!()
    }

    /// The agent with this SPIFFE id.
    #[must_use]
    pub fn agent(&self, _id: &str) -> Option<&AgentEntry> {
        todo!()
    }

    /// The agent with this alias.
    #[must_use]
    pub fn by_alias(&self, _alias: &str) -> Option<&AgentEntry> {
        todo!()
    }

    /// Contexts that could not be typed beside the others, or would have made a policy invalid.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOut] {
        todo!()
    }

    /// Could any policy let this sender use any concept of this line?
    ///
    /// # Errors
    /// [`NoPolicy`]: the same answer for a line that exists and for one that does not.
    pub fn may_use_line(&self, _sender: &str, _line: &Line) -> Result<LineUse, NoPolicy> {
        todo!()
    }

    /// Answers one question.
    #[must_use]
    pub fn decide(&self, _question: &Question<'_>) -> Verdict {
        todo!()
    }
}
