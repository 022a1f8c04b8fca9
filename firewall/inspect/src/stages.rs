//! The order of the stages: parse → resolve → conform → decide. [`meter`](crate::meter) follows for messages
//! that go on.

use crate::{
    Refusal,
    conform::conform,
    decide::{Decided, decide},
    inspection::{HeaderClaims, Inspection},
    parse::{Strict, parse, parsed},
    resolve::resolve,
};
use semgate_protocol::Message;

/// Judges a request.
///
/// # Errors
/// The first fault in the order of `docs/reference/refusals.md`.
pub(crate) fn judge<'c, 'j>(
    case: &'c Inspection<'c>,
    strict: &'j Strict<'_>,
    headers: &HeaderClaims<'_>,
) -> Result<Decided<'c, 'j>, Refusal> {
    decide(conform(resolve(parse(case, strict, headers)?)?)?)
}

/// Judges a reply, event or list entry that was read already.
///
/// # Errors
/// As [`judge`].
pub(crate) fn judged<'c, 'j>(
    case: &'c Inspection<'c>,
    message: Message<'j>,
) -> Result<Decided<'c, 'j>, Refusal> {
    decide(conform(resolve(parsed(case, message, &HeaderClaims::default())?)?)?)
}
