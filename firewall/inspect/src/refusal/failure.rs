//! Failures that agents report by words of their own, and texts that an answer repeats.

use super::{Delivered, Refusal};
use crate::code::Code;
use semgate_protocol::{AgentFailure, Echo};

impl Refusal {
    /// The refusal for a failure that an agent reports by a word of its own. The word is repeated, the agent's text never
    /// passes.
    pub fn of_failure(failure: AgentFailure) -> Self {
        let reason = format!("the upstream agent answered with the failure `{}`", failure.code);
        let mut refusal = Self::new(Code::AgentError, reason)
            .with_hint("look up the failure in the documentation of the agent")
            .with_delivered(Delivered::Yes)
            .by_agent();
        refusal.0.failure = Some(failure);
        refusal
    }

    /// The failure of the agent, for `agent_error`.
    pub fn failure(&self) -> Option<&AgentFailure> {
        self.0.failure.as_ref()
    }

    /// Texts of the request that the answer repeats, in bindings that have them.
    pub fn echo(&self) -> Option<&Echo> {
        self.0.facts.echo.as_deref()
    }
}
