//! Validity.

use super::Case;
use crate::tests::{DAY, Forged, NOW, World, both, instant, issuing_params, leaf_params, root_params};
use crate::{CONTEXTS_TREE, Family, Usage};

/// A root and an issuing certificate with other times than everybody's.
fn issued(root: (u64, u64), issuing: (u64, u64)) -> (Forged, Forged) {
    let mut params = root_params();
    (params.not_before, params.not_after) = (instant(root.0), instant(root.1));
    let root = Forged::root(params);
    let mut params = issuing_params(Family::Contexts, &[CONTEXTS_TREE]);
    (params.not_before, params.not_after) = (instant(issuing.0), instant(issuing.1));
    let issuing = root.issue(&params);
    (root, issuing)
}

pub(super) fn all(world: &World) -> Vec<Case> {
    let params = leaf_params(Usage::Context, both("payment"));
    let leaf = world.contexts.issue(&params);
    let case = |name, at| Case::new(name, world, Usage::Context, &leaf, &world.contexts).at(at);
    let mut all = vec![
        case("in its first second", NOW - DAY),
        case("one second before it begins", NOW - DAY - 1).refused("not_yet_valid"),
        case("one second before its last", NOW + 29 * DAY - 1),
        case("in its last second", NOW + 29 * DAY)
            .differs("RFC 5280 §4.1.2.5 includes the second `notAfter`; openssl 3.0 refuses it"),
        case("one second after its last", NOW + 29 * DAY + 1).refused("expired"),
        case("at the epoch", 0).refused("not_yet_valid"),
    ];
    let long = (NOW - 400 * DAY, NOW + 400 * DAY);
    for (name, root, issuing, fault) in [
        ("under an issuing certificate that has expired", long, (NOW - 300 * DAY, NOW - 1), "expired"),
        (
            "under an issuing certificate that is not valid yet",
            long,
            (NOW + 1, NOW + 300 * DAY),
            "not_yet_valid",
        ),
        ("under a root that has expired", (NOW - 400 * DAY, NOW - 1), long, "expired"),
        ("under a root that is not valid yet", (NOW + 1, NOW + 400 * DAY), long, "not_yet_valid"),
    ] {
        let (root, issuing) = issued(root, issuing);
        let leaf = issuing.issue(&params);
        all.push(Case::new(name, world, Usage::Context, &leaf, &issuing).root(&root).refused(fault));
    }
    let mut params = params.clone();
    params.not_after = params.not_before + time::Duration::days(90);
    let leaf = world.contexts.issue(&params);
    all.push(Case::new("a leaf of 90 days", world, Usage::Context, &leaf, &world.contexts));
    params.not_after += time::Duration::seconds(1);
    let leaf = world.contexts.issue(&params);
    all.push(
        Case::new("a leaf of 90 days and a second", world, Usage::Context, &leaf, &world.contexts)
            .refused("lifetime_too_long")
            .differs("Semgate sets this bound"),
    );
    (params.not_before, params.not_after) = (instant(NOW + DAY), instant(NOW - DAY));
    let leaf = world.contexts.issue(&params);
    all.push(
        Case::new("a leaf that ends before it begins", world, Usage::Context, &leaf, &world.contexts)
            .refused("malformed"),
    );
    all
}
