//! Free version numbers.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use semgate_contexts::Version;

/// The first free number from `next` on. A major that has versions is skipped, because a breaking version cannot stand beside them. `None`
/// at the end of the numbers.
#[must_use]
pub fn first_free_version(taken: &BTreeSet<Version>, mut next: Version) -> Option<Version> {
    while next.minor == 0 && taken.iter().any(|one| one.major == next.major) {
        next.major = next.major.checked_add(1)?;
    }
    while taken.contains(&next) {
        next.minor = next.minor.checked_add(1)?;
    }
    Some(next)
}
