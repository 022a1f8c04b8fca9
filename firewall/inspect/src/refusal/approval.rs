//! Refusals that people can lift.

use super::Refusal;
use crate::{Arrived, Code, approval::NeedsApproval};
use semgate_policies::Approval;

impl Refusal {
    /// Adds the demands that people must meet.
    #[must_use]
    pub(crate) fn needing(mut self, demands: Vec<Approval>) -> Self {
        self.0.demands = demands;
        self
    }

    /// Demands of policies and contexts that people decide first (`approval_required`); otherwise empty.
    pub fn demands(&self) -> &[Approval] {
        &self.0.demands
    }

    /// Adds everything that is needed to ask people.
    #[must_use]
    pub(crate) fn with_approval(mut self, needs: NeedsApproval) -> Self {
        self.0.approval = Some(Box::new(needs));
        self
    }

    /// Adds the message itself to a request for approval.
    #[must_use]
    pub(crate) fn holding(mut self, arrived: impl FnOnce() -> Arrived) -> Self {
        if let Some(needs) = &mut self.0.approval {
            needs.arrived = Some(arrived());
        }
        self
    }

    /// Takes the request for approval of a message that only people can let pass.
    pub fn take_approval(&mut self) -> Option<Box<NeedsApproval>> {
        self.0.approval.take()
    }

    /// Sets the address at which a person sees what is asked.
    #[must_use]
    pub fn with_location(mut self, location: Option<String>) -> Self {
        self.0.location = location;
        self
    }

    /// Address at which a person sees what is asked.
    pub fn location(&self) -> Option<&str> {
        self.0.location.as_deref()
    }

    /// The same refusal under another code, with another reason and hint. Facts, JSON-RPC id and protocol stay.
    #[must_use]
    pub fn become_code(mut self, code: Code, reason: &str, hint: &str) -> Self {
        (self.0.code, self.0.reason, self.0.hint) = (code, reason.to_owned(), hint.to_owned());
        self
    }
}
