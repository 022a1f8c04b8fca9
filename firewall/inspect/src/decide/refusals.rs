//! Refusals by policies.

use crate::{
    Code, Refusal,
    conform::{Definition, Origin},
};
use semgate_policies::{Obligation, Policies, Texts};
use semgate_protocol::Instance;

/// The denial of an instance; `how` says in which form the text was read, if not as written.
pub(super) fn denied(
    definition: &Definition<'_>,
    instance: &Instance<'_>,
    notices: &Texts,
    how: &str,
) -> Refusal {
    let reason = format!(
        "policy does not permit this sender to send `{}` with {} to this receiver{how}",
        definition.term.name(),
        instance.performative.as_str()
    );
    let hint = match notices.iter().next() {
        Some(notice) => notice.to_owned(),
        None => "ask the operator and quote the decision id".to_owned(),
    };
    Refusal::new(Code::PolicyDenied, reason).with_hint(hint)
}

/// The refusal of a reply that passes only without members that cannot be removed here.
pub(crate) fn unmet(obligation: &Obligation) -> Refusal {
    Refusal::new(Code::PolicyError, "a policy demands a redaction that is not possible in this reply")
        .with_hint("ask the operator and quote the decision id")
        .with_detail(format!("policy `{}` demands a redaction that is not possible here", obligation.policy))
}

/// The refusal for a policy error. It is `status_stale` for a context newer than the compiled policies: the
/// gateway catches up by itself.
pub(super) fn errored(policies: &Policies, definition: &Definition<'_>, why: &str) -> Refusal {
    if definition.origin == Origin::Signed && policies.awaits(definition.context) {
        return Refusal::new(Code::StatusStale, "the policies are not compiled with this context yet")
            .with_hint("try again in a moment: the gateway is compiling them")
            .with_detail(format!(
                "`{}` came after the live policies were compiled",
                definition.context.urn()
            ));
    }
    Refusal::new(Code::PolicyError, "a policy could not be evaluated")
        .with_hint("ask the operator and quote the decision id")
        .with_detail(why)
}

/// Reason why policies cannot represent a value exactly (`docs/spec/policy-types.md`), with the hint for the
/// sender.
pub(super) fn bounds(rule: &str) -> (&'static str, &'static str) {
    match rule {
        "decimal" => {
            ("at most four decimal places, below 922337203685477.5808", "send a number within these bounds")
        }
        "date-time" => {
            ("no leap second, nothing finer than a millisecond", "send an instant in whole milliseconds")
        }
        "duration" => {
            ("no years or months, below 2^63 milliseconds", "send weeks, days, hours, minutes and seconds")
        }
        _ => ("policies cannot represent it exactly", "send a value of the type that the schema names"),
    }
}
