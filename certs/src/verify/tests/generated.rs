//! Cases that are made from lists of elements: subtrees and lines, times of each certificate, path lengths, usages, reasons. All of them can
//! be judged by stock tools, so all three judges must agree on each.

use rcgen::{BasicConstraints, CertificateParams, CustomExtension, IsCa, KeyPair, RevocationReason};
use rustls_pki_types::CertificateDer;

use super::Case;
use super::cases::last_byte_changed;
use super::revocation::{OURS, with_serial};
use crate::tests::{
    DAY, Forged, List, NOW, World, both, dns_tree, instant, issuing_params, leaf_params, root_params,
};
use crate::{CONTEXTS_TREE, Family, Usage};

pub(super) fn all(world: &World) -> Vec<Case> {
    let mut all = subtrees(world);
    all.extend(levels(world));
    all.extend(times(world));
    all.extend(usages(world));
    all.extend(reasons(world));
    all
}

/// The DNS tree of a line and of all below it; of the empty one, of all lines.
fn tree(line: &str) -> String {
    line.split('.')
        .rev()
        .filter(|label| !label.is_empty())
        .map(|label| format!("{label}."))
        .collect::<String>()
        + CONTEXTS_TREE
}

fn within(line: &str, tree: &str) -> bool {
    tree.is_empty() || line == tree || line.strip_prefix(tree).is_some_and(|rest| rest.starts_with('.'))
}

const LINES: [&str; 5] = ["acme", "acme.logistics", "acme.logistics.sea", "acmeX", "travel"];

/// What an issuing certificate may sign for, and what not.
const SUBTREES: [(&[&str], &[&str]); 7] = [
    (&["acme"], &[]),
    (&["acme.logistics"], &[]),
    (&["acme.logistics.sea", "travel"], &[]),
    (&["travel", "acme", "pay"], &[]),
    (&[""], &["acme"]),
    (&[""], &["acme.logistics", "travel"]),
    (&["acme"], &["acme.logistics.sea"]),
];

fn constrained(permitted: &[&str], excluded: &[&str]) -> CertificateParams {
    let mut params = issuing_params(Family::Contexts, &[]);
    if let Some(constraints) = &mut params.name_constraints {
        constraints.permitted_subtrees = permitted.iter().map(|line| dns_tree(&tree(line))).collect();
        constraints.excluded_subtrees = excluded.iter().map(|line| dns_tree(&tree(line))).collect();
    }
    params
}

fn subtrees(world: &World) -> Vec<Case> {
    let mut all = Vec::new();
    for (permitted, excluded) in SUBTREES {
        let issuing = world.root.issue(&constrained(permitted, excluded));
        for line in LINES {
            let leaf = issuing.issue(&leaf_params(Usage::Context, both(line)));
            let may = permitted.iter().any(|tree| within(line, tree))
                && !excluded.iter().any(|tree| within(line, tree));
            let (all_of, none_of) = (described(permitted), described(excluded));
            let name = format!("`{line}` under an issuer of {all_of} but {none_of}");
            let case = Case::new(name.leak(), world, Usage::Context, &leaf, &issuing);
            all.push(if may { case } else { case.refused("name_constraints") });
        }
    }
    all
}

fn described(lines: &[&str]) -> String {
    match lines {
        [] => "nothing".to_owned(),
        [""] => "all lines".to_owned(),
        lines => lines.iter().map(|line| format!("`{line}`")).collect::<Vec<_>>().join(" and "),
    }
}

/// An issuing certificate between the root and the one that issues: its path length and its names bind what is below.
fn levels(world: &World) -> Vec<Case> {
    let mut all = Vec::new();
    let chained = |name: String, between: &Forged, line: &str| {
        let issuing = between.issue(&constrained(&[""], &[]));
        let leaf = issuing.issue(&leaf_params(Usage::Context, both(line)));
        let chain = [&leaf.der, &issuing.der, &between.der];
        Case::new(name.leak(), world, Usage::Context, &leaf, &issuing).chain(&chain)
    };
    let above = |permitted: &[&str], excluded: &[&str], length: Option<u8>| {
        let mut params = constrained(permitted, excluded);
        params.distinguished_name.push(rcgen::DnType::OrganizationName, "Between");
        params.is_ca =
            IsCa::Ca(length.map_or(BasicConstraints::Unconstrained, BasicConstraints::Constrained));
        world.root.issue(&params)
    };
    for length in [Some(0), Some(1), Some(2), Some(3), None] {
        let described = length.map_or_else(|| "any".to_owned(), |length| length.to_string());
        let name = format!("two issuers, the upper one of path length {described}");
        let case = chained(name, &above(&[""], &[], length), "acme");
        all.push(if length == Some(0) { case.refused("path_length") } else { case });
    }
    for (permitted, excluded) in SUBTREES {
        let between = above(permitted, excluded, Some(1));
        for line in ["acme.logistics", "travel"] {
            let may = permitted.iter().any(|tree| within(line, tree))
                && !excluded.iter().any(|tree| within(line, tree));
            let (all_of, none_of) = (described(permitted), described(excluded));
            let name = format!("`{line}` below two issuers, the upper one of {all_of} but {none_of}");
            let case = chained(name, &between, line);
            all.push(if may { case } else { case.refused("name_constraints") });
        }
    }
    all
}

/// Each certificate of a chain ends and begins by itself.
fn times(world: &World) -> Vec<Case> {
    const WIDE: (u64, u64) = (NOW - 40 * DAY, NOW + 40 * DAY);
    const SHORT: (u64, u64) = (NOW - 10 * DAY, NOW + 10 * DAY);
    let mut all = Vec::new();
    for (place, element) in ["the leaf", "the issuing certificate", "the root"].into_iter().enumerate() {
        let dated = |mut params: CertificateParams, at: usize| {
            let (from, to) = if at == place { SHORT } else { WIDE };
            (params.not_before, params.not_after) = (instant(from), instant(to));
            params
        };
        let root = Forged::root(dated(root_params(), 2));
        let issuing = root.issue(&dated(issuing_params(Family::Contexts, &[CONTEXTS_TREE]), 1));
        let leaf = issuing.issue(&dated(leaf_params(Usage::Context, both("payment")), 0));
        for (moment, at, ours) in [
            ("a second before it begins", SHORT.0 - 1, "not_yet_valid"),
            ("as it begins", SHORT.0, "ok"),
            ("in the middle", NOW, "ok"),
            ("a second before its last", SHORT.1 - 1, "ok"),
            ("a second after its last", SHORT.1 + 1, "expired"),
            ("long after", SHORT.1 + 20 * DAY, "expired"),
        ] {
            let name = format!("{element} is the shortest: {moment}");
            let case = Case::new(name.leak(), world, Usage::Context, &leaf, &issuing).root(&root).at(at);
            all.push(if ours == "ok" { case } else { case.refused(ours) });
        }
    }
    all
}

const USAGES: [(&str, Usage); 7] = [
    ("a context", Usage::Context),
    ("a status", Usage::Status),
    ("a feed", Usage::Feed),
    ("a log", Usage::Log),
    ("a policy", Usage::Policy),
    ("a server", Usage::Server),
    ("an agent", Usage::Agent),
];

/// Of each usage: the other algorithm, altered bytes, another root, what nobody knows, and lists.
fn usages(world: &World) -> Vec<Case> {
    let twin = Forged::root(root_params());
    let stranger = World::other();
    let mut unknown = CustomExtension::from_oid_content(&[1, 3, 6, 1, 4, 1, 55738, 97], vec![5, 0]);
    unknown.set_criticality(true);
    let mut all = Vec::new();
    for (told, usage) in USAGES {
        let issuer = world.issuer(usage);
        let params = with_serial(usage, 77, Some(OURS));
        let leaf = issuer.issue(&params);
        let edwards = issuer.issue_for(&params, KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap());
        let mut critical = params.clone();
        critical.custom_extensions.push(unknown.clone());
        let critical = issuer.issue(&critical);
        let altered = last_byte_changed(&leaf.der);
        let crl =
            |serials: &[u64], from: u64, to: u64| issuer.crl(&List::of(serials).at(OURS).between(from, to));
        let case = |what: &str, leaf: &Forged| {
            Case::new(format!("{told} leaf {what}").leak(), world, usage, leaf, issuer)
        };
        let chain: [&CertificateDer<'static>; 2] = [&altered, &issuer.der];
        all.extend([
            case("with an Ed25519 key", &edwards),
            case("with its signature altered", &leaf).chain(&chain).refused("bad_signature"),
            case("under a root of the same name", &leaf).root(&twin).refused("bad_signature"),
            case("under the root of strangers", &leaf).root(&stranger.root).refused("unknown_issuer"),
            case("with what nobody knows, critical", &critical).refused("unknown_critical_extension"),
            case("beside others that are revoked", &leaf).lists(vec![crl(&[76, 78], NOW - DAY, NOW + DAY)]),
            case("among others that are revoked", &leaf)
                .lists(vec![crl(&[76, 77, 78], NOW - DAY, NOW + DAY)])
                .refused("revoked"),
            case("and a list of this second", &leaf).lists(vec![crl(&[], NOW, NOW + DAY)]),
        ]);
    }
    all
}

/// Whatever the reason, what is on a list does not count.
fn reasons(world: &World) -> Vec<Case> {
    let leaf = world.tls.issue(&with_serial(Usage::Agent, 77, Some(OURS)));
    let reasons = [
        ("because another took its place", RevocationReason::Superseded),
        ("because it is no longer needed", RevocationReason::CessationOfOperation),
        ("because its names changed", RevocationReason::AffiliationChanged),
        ("because a right was withdrawn", RevocationReason::PrivilegeWithdrawn),
        ("because an authority was broken into", RevocationReason::CaCompromise),
    ];
    let case = |(why, reason): (&str, RevocationReason)| {
        let name = format!("revoked {why}").leak();
        let list = world.tls.crl(&List::of(&[77]).at(OURS).why(reason));
        Case::new(name, world, Usage::Agent, &leaf, &world.tls).lists(vec![list]).refused("revoked")
    };
    reasons.into_iter().map(case).collect()
}
