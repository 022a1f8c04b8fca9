//! Proofs: an approved action, and an approval that was used.

use semgate_policies::Approval;

use crate::{ActionDigest, HoldId};

/// Proof that people approved exactly this action. Only [`Book::ask`](crate::Book::ask) gives one.
///
/// ```compile_fail,E0451
/// # fn forge(id: semgate_approvals::HoldId, digest: semgate_approvals::ActionDigest) -> semgate_approvals::Approved {
/// semgate_approvals::Approved { id, digest, demands: Vec::new() }
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Approved {
    pub(crate) id: HoldId,
    pub(crate) digest: ActionDigest,
    pub(crate) demands: Vec<Approval>,
}

impl Approved {
    /// The hold.
    pub fn id(&self) -> &HoldId {
        &self.id
    }

    /// Digest of the approved action.
    pub fn digest(&self) -> ActionDigest {
        self.digest
    }

    /// Returns true if the approval answers these demands about this action.
    pub fn covers(&self, digest: ActionDigest, demands: &[Approval]) -> bool {
        self.digest == digest && demands.iter().all(|demand| self.demands.contains(demand))
    }
}

/// Proof that the use of an approval is on disk, so that the action may be forwarded. Only [`Book::used`](crate::Book::used)
/// gives one. It cannot be cloned.
#[derive(Debug)]
pub struct Used {
    pub(crate) id: HoldId,
    pub(crate) digest: ActionDigest,
}

impl Used {
    /// The hold.
    pub fn id(&self) -> &HoldId {
        &self.id
    }

    /// Digest of the approved action.
    pub fn digest(&self) -> ActionDigest {
        self.digest
    }
}
