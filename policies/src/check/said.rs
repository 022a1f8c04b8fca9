//! Cedar's words as they are told: without names that no policy can have.

/// A whole record in these is told as one past so many characters.
const MAX_RECORD: usize = 48;

/// What Cedar says, in words for whoever wrote the policy.
pub(super) fn plainly(why: &str) -> String {
    let mut told = whatever_action(why);
    for (internal, plain) in [
        ("Set<__cedar::internal::AnyEntity>, or __cedar::internal::AnyEntity", "an entity, or a set of them"),
        ("Set<__cedar::internal::AnyEntity>", "a set of entities"),
        ("__cedar::internal::AnyEntity", "an entity"),
        ("__cedar::internal::OpenRecord{}", "a record"),
        ("__cedar::internal::OpenRecord", "a record "),
        ("Set<__cedar::internal::Any>", "a set"),
        ("__cedar::internal::True", "Bool"),
        ("__cedar::internal::False", "Bool"),
        ("__cedar::internal::Union", "one of "),
        ("__cedar::internal::", ""),
    ] {
        told = told.replace(internal, plain);
    }
    match told.split_once(" saw {") {
        Some((before, record)) if record.len() > MAX_RECORD => format!("{before} saw a record"),
        _ => told,
    }
}

/// What is said of a member of the context record is said once, and not once for each action.
fn whatever_action(why: &str) -> String {
    let without = why.split_once(" in context for Action::\"").and_then(|(before, rest)| {
        let (_, after) = rest.split_once('"')?;
        Some(format!("{before} in context{after}"))
    });
    without.unwrap_or_else(|| why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::plainly;

    #[test]
    fn bug_internal_names_of_cedar_were_told() {
        for (why, told) in [
            ("expected __cedar::internal::AnyEntity but saw String", "expected an entity but saw String"),
            (
                "expected Set<__cedar::internal::AnyEntity>, or __cedar::internal::AnyEntity but saw Long",
                "expected an entity, or a set of them but saw Long",
            ),
            (
                "expected __cedar::internal::AnyEntity, or __cedar::internal::OpenRecord{} but saw Long",
                "expected an entity, or a record but saw Long",
            ),
            ("expected Set<__cedar::internal::Any> but saw String", "expected a set but saw String"),
            ("saw __cedar::internal::Union<a::b, c::d>", "saw one of <a::b, c::d>"),
            (
                "expected String but saw {binding: String,binding_version: String,direction: String,}",
                "expected String but saw a record",
            ),
        ] {
            assert_eq!(plainly(why), told);
        }
    }
}
