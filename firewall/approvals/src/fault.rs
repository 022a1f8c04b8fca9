//! Reasons why a command changes nothing.

/// The reason why the book refuses a command. Texts are for the person or agent that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalFault {
    /// No such hold, or none that this caller may see.
    #[error("there is no such request")]
    Unknown,
    /// The hold was decided, expired or withdrawn before.
    #[error("the request is closed already")]
    Closed,
    /// The digest is another one than that of the hold.
    #[error("the digest is not that of this request: look at it again")]
    OtherAction,
    /// The person is not among those who may decide.
    #[error("this person may not decide this request")]
    NotYours,
    /// The person asked for the action, or operates the agent that did.
    #[error("nobody approves a request of their own or of an agent that they operate")]
    Own,
    /// The person has decided this hold before.
    #[error("this person has decided this request before")]
    DecidedBefore,
    /// The proof of identity is too weak for this demand.
    #[error("this request needs a stronger proof of who decides")]
    WeakProof,
    /// A reason is required.
    #[error("this decision needs a reason")]
    ReasonRequired,
    /// The option was not offered.
    #[error("the option is not one of those that were offered")]
    NotOffered,
    /// The answer does not fit the kind of the request.
    #[error("the answer does not fit this kind of request")]
    Unfit,
    /// The content is longer than a person can read.
    #[error("the content is longer than a person can read")]
    TooLong,
    /// Too many open requests of one sender, or of all.
    #[error("too many requests wait for people already")]
    TooMany,
    /// The approval was used, or its time to be used is over.
    #[error("the approval was used, or its time is over")]
    Spent,
    /// The content has no canonical form.
    #[error("the content has no canonical form")]
    NotCanonical,
}
