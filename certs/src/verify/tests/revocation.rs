//! Revocation lists: who speaks for a leaf, and until when.

use super::Case;
use super::cases::fitting;
use crate::Usage;
use crate::tests::{DAY, Forged, List, NOW, World, issuing_params, leaf_params, root_params};
use rcgen::{
    CertificateParams, CrlDistributionPoint, CrlScope, KeyUsagePurpose, RevocationReason, SerialNumber,
};

pub(super) const OURS: &str = "https://authority.test/crl/3.crl";
const OTHER: &str = "https://authority.test/crl/4.crl";

pub(super) fn with_serial(usage: Usage, serial: u64, point: Option<&str>) -> CertificateParams {
    let mut params = leaf_params(usage, fitting(usage));
    params.serial_number = Some(SerialNumber::from(serial));
    params.crl_distribution_points =
        point.map(|uri| CrlDistributionPoint { uris: vec![uri.to_owned()] }).into_iter().collect();
    params
}

/// Each usage, without and with its serial on the list, with a list that has expired, and without one.
pub(super) fn usages(world: &World) -> Vec<Case> {
    let mut all = Vec::new();
    let names = [
        (
            Usage::Context,
            [
                "a context leaf that no list holds",
                "a revoked context leaf",
                "a context leaf and an expired list",
                "a context leaf without a list",
            ],
        ),
        (
            Usage::Status,
            [
                "a status leaf that no list holds",
                "a revoked status leaf",
                "a status leaf and an expired list",
                "a status leaf without a list",
            ],
        ),
        (
            Usage::Feed,
            [
                "a feed leaf that no list holds",
                "a revoked feed leaf",
                "a feed leaf and an expired list",
                "a feed leaf without a list",
            ],
        ),
        (
            Usage::Log,
            [
                "a log leaf that no list holds",
                "a revoked log leaf",
                "a log leaf and an expired list",
                "a log leaf without a list",
            ],
        ),
        (
            Usage::Policy,
            [
                "a policy leaf that no list holds",
                "a revoked policy leaf",
                "a policy leaf and an expired list",
                "a policy leaf without a list",
            ],
        ),
        (
            Usage::Server,
            [
                "a server leaf that no list holds",
                "a revoked server leaf",
                "a server leaf and an expired list",
                "a server leaf without a list",
            ],
        ),
        (
            Usage::Agent,
            [
                "an agent leaf that no list holds",
                "a revoked agent leaf",
                "an agent leaf and an expired list",
                "an agent leaf without a list",
            ],
        ),
    ];
    for (usage, [good, revoked, expired, none]) in names {
        let issuer = world.issuer(usage);
        let leaf = issuer.issue(&with_serial(usage, 77, Some(OURS)));
        let case = |name, lists| Case::new(name, world, usage, &leaf, issuer).lists(lists);
        all.push(case(good, vec![issuer.crl(&List::of(&[78]).at(OURS))]));
        all.push(case(revoked, vec![issuer.crl(&List::of(&[77]).at(OURS))]).refused("revoked"));
        let old = List::of(&[78]).at(OURS).between(NOW - 2 * DAY, NOW - DAY);
        all.push(case(expired, vec![issuer.crl(&old)]).refused("crl_expired"));
        all.push(case(none, vec![]).refused("revocation_unknown"));
    }
    all
}

pub(super) fn shards(world: &World) -> Vec<Case> {
    let issuer = &world.tls;
    let leaf = issuer.issue(&with_serial(Usage::Agent, 77, Some(OURS)));
    let bare = issuer.issue(&with_serial(Usage::Agent, 77, None));
    let case = |name, lists| Case::new(name, world, Usage::Agent, &leaf, issuer).lists(lists);
    let of_bare = |name, lists| Case::new(name, world, Usage::Agent, &bare, issuer).lists(lists);
    let list = |serials: &[u64]| List::of(serials);
    let crl = |list: List| issuer.crl(&list);
    let hundred: Vec<u64> = (1000..1100).collect();
    vec![
        case("on the list of another shard alone", vec![crl(list(&[77]).at(OTHER))])
            .refused("revocation_unknown"),
        case(
            "on the list of another shard beside its own",
            vec![crl(list(&[77]).at(OTHER)), crl(list(&[]).at(OURS))],
        ),
        case("on its own shard beside another", vec![crl(list(&[]).at(OTHER)), crl(list(&[77]).at(OURS))])
            .refused("revoked"),
        case("an empty list", vec![crl(list(&[]).at(OURS))]),
        case("a list of a hundred others", vec![crl(list(&hundred).at(OURS))]),
        case("a list of the whole issuer for a leaf that names a shard", vec![crl(list(&[78]))]),
        case("on a list of the whole issuer while it names a shard", vec![crl(list(&[77]))])
            .refused("revoked"),
        of_bare("a list of the whole issuer", vec![crl(list(&[78]))]),
        of_bare("on the list of the whole issuer", vec![crl(list(&[77]))]).refused("revoked"),
        of_bare("a shard for a leaf that names none", vec![crl(list(&[78]).at(OURS))])
            .refused("revocation_unknown"),
        case("a list for authorities only", vec![crl(list(&[]).at(OURS).scope(CrlScope::CaCertsOnly))])
            .refused("revocation_unknown"),
        case(
            "an old edition beside a new one that holds it",
            vec![crl(list(&[]).at(OURS)), crl(list(&[77]).at(OURS).number(2).between(NOW - 10, NOW + DAY))],
        )
        .refused("revoked"),
        case(
            "the new edition first",
            vec![crl(list(&[77]).at(OURS).number(2).between(NOW - 10, NOW + DAY)), crl(list(&[]).at(OURS))],
        )
        .refused("revoked"),
        case(
            "revoked for a stolen key",
            vec![crl(list(&[77]).at(OURS).why(RevocationReason::KeyCompromise))],
        )
        .refused("revoked"),
        case("on hold", vec![crl(list(&[77]).at(OURS).why(RevocationReason::CertificateHold))])
            .refused("revoked"),
        case("a list of tomorrow", vec![crl(list(&[]).at(OURS).between(NOW + DAY, NOW + 2 * DAY))])
            .refused("revocation_unknown"),
        case("a list in its last second but one", vec![crl(list(&[]).at(OURS).between(NOW - DAY, NOW + 2))]),
        case("a list one second after its end", vec![crl(list(&[]).at(OURS).between(NOW - DAY, NOW - 1))])
            .refused("crl_expired"),
    ]
}

pub(super) fn issuers(world: &World) -> Vec<Case> {
    let issuer = &world.tls;
    let leaf = issuer.issue(&with_serial(Usage::Agent, 77, Some(OURS)));
    let case = |name, lists| Case::new(name, world, Usage::Agent, &leaf, issuer).lists(lists);
    let twin = Forged::root(root_params()).issue(&issuing_params(crate::Family::Tls, &[]));
    let mut silent = issuing_params(crate::Family::Tls, &[]);
    silent.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let silent = world.root.issue(&silent);
    let below = silent.issue(&with_serial(Usage::Agent, 77, Some(OURS)));
    let mut speaks = issuing_params(crate::Family::Tls, &[]);
    speaks.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = rcgen::KeyPair::try_from(silent.key.serialized_der()).unwrap();
    let speaks = world.root.issue_for(&speaks, key);
    let list = || List::of(&[78]).at(OURS);
    vec![
        case("a list by another key of the same name", vec![twin.crl(&list())]).refused("crl_invalid"),
        case("a list of another issuer", vec![world.contexts.crl(&List::of(&[77]).at(OURS))])
            .refused("revocation_unknown"),
        case(
            "lists of two issuers",
            vec![world.contexts.crl(&List::of(&[77]).at(OURS)), issuer.crl(&list())],
        ),
        case("a list of the root", vec![world.root.crl(&List::of(&[77]).at(OURS))])
            .refused("revocation_unknown"),
        Case::new("an issuer that may not sign lists", world, Usage::Agent, &below, &silent)
            .lists(vec![speaks.crl(&list())])
            .refused("crl_invalid"),
    ]
}
