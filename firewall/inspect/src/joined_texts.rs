//! Texts in several parts of one message. Readers join the parts, so policies judge the joined text besides
//! each part. Text forbidden in one part is therefore forbidden across several.

use crate::{
    Code, Refusal,
    conform::{Conformed, Definition},
    decide::question,
    stream::TEXT,
};
use semgate_policies::{Circumstances, Policies, Question};
use semgate_protocol::Instance;

/// An instance with its definition.
pub(crate) type Part<'p, 'c, 'j> = (&'p Definition<'c>, &'p Instance<'j>);

/// Separators that readers put between two parts: nothing, a space, or a line feed, as the A2A SDKs do.
pub(crate) const BETWEEN: [&str; 3] = ["", " ", "\n"];

/// Asks about each list of parts as one text, in the instance of its last part.
///
/// With `policies`, skips questions whose answer cannot differ from that for the parts. The schema is not
/// checked: it bounds a part, and joined text has its own bound.
///
/// # Errors
/// `content_uninspectable` if the joined text exceeds its bound.
pub(crate) fn each<'c>(
    conformed: &Conformed<'c, '_>,
    policies: Option<&Policies>,
    around: Circumstances<'_>,
    mut ask: impl FnMut(usize, Part<'_, 'c, '_>, &Question<'_>),
) -> Result<(), Refusal> {
    let case = conformed.case();
    for together in &conformed.resolved().message().joined_texts {
        let Some((definition, instance)) = conformed.instances().nth(together.last) else {
            return Err(too_long());
        };
        let asked = question(case, definition, instance, around);
        if policies.is_some_and(|policies| !policies.looks_at_instance(&asked)) {
            continue;
        }
        let parts = &together.texts;
        let length = parts.iter().map(|text| text.len().saturating_add(1)).fold(0, usize::saturating_add);
        if length > case.state.limits.appended_text {
            return Err(too_long());
        }
        for between in BETWEEN {
            let whole = parts.join(between);
            let object = instance.object.with_text(TEXT, &whole);
            ask(together.last, (definition, instance), &Question { value: &object, ..asked });
        }
    }
    Ok(())
}

fn too_long() -> Refusal {
    Refusal::new(Code::ContentUninspectable, "the text of several parts is more than can be judged together")
        .with_hint("send it in one part, or in several messages")
}
