//! Texts that stand in several parts of one message: who reads the message puts them together, so policies are asked about them together,
//! beside each part by itself. What may not be said in one part may not be said in several.

use crate::{
    Code, Refusal,
    conform::{Conformed, Said},
    decide::question,
    stream::TEXT,
};
use semgate_message::Instance;
use semgate_policies::{Circumstances, Policies, Question};

/// What readers put between two parts: nothing, a blank, or a line feed, as the SDKs of A2A do.
pub(crate) const BETWEEN: [&str; 3] = ["", " ", "\n"];

/// Asks about the texts of each list of parts as one text, which has the other members of the last of them. Policies that look at nothing of
/// it, nor at a score, said what they say when they were asked about the parts; without `policies` it is for others to look at.
///
/// The schema is not asked: it bounds a part, and how much is judged together has a bound of its own.
///
/// # Errors
/// `content_uninspectable` for texts that are more than may be judged together.
pub(crate) fn each<'c>(
    conformed: &Conformed<'c, '_>,
    policies: Option<&Policies>,
    around: Circumstances<'_>,
    mut ask: impl FnMut(&Said<'c>, &Instance<'_>, &Question<'_>),
) -> Result<(), Refusal> {
    let case = conformed.case();
    for together in &conformed.resolved().message().together {
        let Some((said, instance)) = conformed.said().nth(together.last) else { return Err(too_long()) };
        let asked = question(case, said, instance, around);
        if policies.is_some_and(|policies| !policies.looks_at_instance(&asked)) {
            continue;
        }
        let parts = &together.texts;
        let length = parts.iter().map(|text| text.len().saturating_add(1)).fold(0, usize::saturating_add);
        if length > case.limits.appended_text {
            return Err(too_long());
        }
        for between in BETWEEN {
            let whole = parts.join(between);
            let object = instance.object.with_text(TEXT, &whole);
            ask(said, instance, &Question { value: &object, ..asked });
        }
    }
    Ok(())
}

fn too_long() -> Refusal {
    Refusal::new(
        Code::ContentUninspectable,
        "text stands in several parts that are more than can be judged together",
    )
    .with_hint("say it in one part, or in several messages")
}
