//! One slip that Cedar finds at several places is told at the first of them.

use std::collections::{HashMap, HashSet};

use cedar_policy::ValidationError;

use super::meant::is_of_several;
use crate::parse::offset;

/// Where in a policy what was told already.
#[derive(Debug, Default)]
pub(super) struct Told {
    places: HashMap<String, Vec<usize>>,
    /// Where a value could not be made: of what type it is is not told besides.
    made: HashSet<usize>,
}

/// These by their place, and at one place by what they say: Cedar finds them in another order each time.
pub(super) fn in_order(errors: &mut [&ValidationError]) {
    let is_made = |error: &ValidationError| !matches!(error, ValidationError::NonLitExtConstructor(_));
    errors.sort_by_cached_key(|error| (offset(*error), is_made(error), error.to_string()));
}

impl Told {
    /// Whether the same was said already of this part of a condition, where a value is of another type than is asked for: both sides of a
    /// sum, or each of several that are held against one member. If not, it is noted.
    pub fn again(&mut self, text: &str, error: &ValidationError, hint: Option<&str>) -> bool {
        let typed = matches!(
            error,
            ValidationError::UnexpectedType(_)
                | ValidationError::IncompatibleTypes(_)
                | ValidationError::UnrecognizedEntityType(_)
        );
        if let (ValidationError::NonLitExtConstructor(_), Some(at)) = (error, offset(error)) {
            self.made.insert(at);
        }
        if typed && offset(error).is_some_and(|at| self.made.contains(&at)) {
            return true;
        }
        let (Some(hint), Some(at), true) = (hint, offset(error), typed) else { return false };
        let several = is_of_several(hint);
        let parts = |c: char| matches!(c, ';' | '{' | '}') || (!several && matches!(c, '&' | '|'));
        let places = self.places.entry(hint.to_owned()).or_default();
        let between = |before: usize| text.get(before.min(at)..before.max(at)).unwrap_or_default();
        let again = places.iter().any(|before| !between(*before).contains(parts));
        if !again {
            places.push(at);
        }
        again
    }
}
