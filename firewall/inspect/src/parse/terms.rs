//! Names that the message's context does not define.

use super::Target;
use crate::{generation::Named, inspection::Inspection};
use semgate_protocol::{Message, Otherwise};

/// Gives each instance whose name the context does not define to the vocabulary that judges it then. True if there is one.
pub(super) fn settle_terms(case: &Inspection<'_>, target: &Target<'_>, message: &mut Message<'_>) -> bool {
    let mut any = false;
    for Otherwise { instance, of, term } in std::mem::take(&mut message.otherwise) {
        let Some(instance) = message.instances.get_mut(instance) else { continue };
        let defines = |named: &Named| {
            !case.generation.is_house(named.urn()) && named.context().term(instance.name).is_some()
        };
        if !matches!(target, Target::Known(named) if defines(named)) {
            (instance.of, instance.name) = (of, term);
            any = true;
        }
    }
    any
}
