//! One slip that Cedar finds at several places is told at the first of them.

use std::collections::HashMap;

use cedar_policy::ValidationError;
use miette::Diagnostic as _;

use super::meant::is_of_several;

/// Where in each policy what was told already.
#[derive(Debug, Default)]
pub(super) struct Told<'a> {
    places: HashMap<(&'a str, String), Vec<usize>>,
}

/// These by their place, and at one place by what they say: Cedar finds them in another order each time.
pub(super) fn in_order(errors: &mut [&ValidationError]) {
    errors.sort_by_cached_key(|error| (offset(error), error.to_string()));
}

fn offset(error: &ValidationError) -> Option<usize> {
    error.labels().and_then(|mut labels| labels.next()).map(|label| label.offset())
}

impl<'a> Told<'a> {
    /// Whether the same was said already of this part of a condition, where a value is of another type than is asked for: both sides of a
    /// sum, or each of several that are held against one member. If not, it is noted.
    pub fn again(
        &mut self,
        policy: &'a str,
        text: &str,
        error: &ValidationError,
        hint: Option<&str>,
    ) -> bool {
        let typed = matches!(
            error,
            ValidationError::UnexpectedType(_)
                | ValidationError::IncompatibleTypes(_)
                | ValidationError::UnrecognizedEntityType(_)
        );
        let (Some(hint), Some(at), true) = (hint, offset(error), typed) else { return false };
        let several = is_of_several(hint);
        let parts = |c: char| matches!(c, ';' | '{' | '}') || (!several && matches!(c, '&' | '|'));
        let places = self.places.entry((policy, hint.to_owned())).or_default();
        let between = |before: usize| text.get(before.min(at)..before.max(at)).unwrap_or_default();
        let again = places.iter().any(|before| !between(*before).contains(parts));
        if !again {
            places.push(at);
        }
        again
    }
}
