//! Numbers of versions that nobody has yet.

use std::collections::BTreeSet;

use semgate_contexts::Version;

/// The first number from `next` on that is not taken; a major that has versions is not the next one, since whatever breaks would have to
/// pass beside them. Nothing where the numbers are at their end.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_number_is_one_that_nobody_has() {
        let v = |text: &str| Version::parse(text).unwrap();
        let taken = BTreeSet::from(["v1.0", "v1.1", "v2.1"].map(v));
        assert_eq!(first_free_version(&taken, v("v1.1")), Some(v("v1.2")));
        assert_eq!(first_free_version(&taken, v("v1.2")), Some(v("v1.2")));
        assert_eq!(
            first_free_version(&taken, v("v2.0")),
            Some(v("v3.0")),
            "what breaks begins a major of its own"
        );
        assert_eq!(first_free_version(&BTreeSet::new(), v("v1.1")), Some(v("v1.1")));
        let last = Version::new(u32::MAX, 0);
        assert_eq!(first_free_version(&BTreeSet::from([last]), last), None, "it went on for ever");
    }
}
