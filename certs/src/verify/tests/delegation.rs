//! Name constraints, path length and roles.

use super::Case;
use crate::tests::{Forged, World, both, dns, dns_tree, issuing_params, leaf_params, root_params, uri};
use crate::{CONTEXTS_TREE, Family, Usage};
use rcgen::{BasicConstraints, IsCa, KeyUsagePurpose};

const CONSTRAINED: &str = "name_constraints";

pub(super) fn constraints(world: &World) -> Vec<Case> {
    let leaf = |line: &str| world.acme.issue(&leaf_params(Usage::Context, both(line)));
    let case = |name, line| Case::new(name, world, Usage::Context, &leaf(line), &world.acme);
    let role = |names| world.acme.issue(&leaf_params(Usage::Status, names));
    let mut all = vec![
        case("a line that was delegated", "acme"),
        case("a line below one that was delegated", "acme.logistics"),
        case("a line below one that was delegated, in another case", "ACME.Logistics"),
        case("a line that was not delegated", "payment").refused(CONSTRAINED),
        case("a line that only ends like one delegated", "notacme").refused(CONSTRAINED),
        case("a line with a delegated label in the wrong place", "payment.acme").refused(CONSTRAINED),
        Case::new(
            "a status leaf for the delegated tree",
            world,
            Usage::Status,
            &role(vec![dns("acme.contexts.invalid")]),
            &world.acme,
        ),
        Case::new(
            "a status leaf for all lines from an issuer of some",
            world,
            Usage::Status,
            &role(vec![dns(CONTEXTS_TREE)]),
            &world.acme,
        )
        .refused(CONSTRAINED),
        Case::new(
            "one line delegated and one not",
            world,
            Usage::Context,
            &world.acme.issue(&leaf_params(Usage::Context, [both("acme"), both("payment")].concat())),
            &world.acme,
        )
        .refused(CONSTRAINED),
        Case::new(
            "a line outside that hides in the URI alone",
            world,
            Usage::Context,
            &world.acme.issue(&leaf_params(
                Usage::Context,
                vec![dns("acme.contexts.invalid"), uri("urn:contexts:payment")],
            )),
            &world.acme,
        )
        .refused("names_disagree")
        .differs("openssl does not compare the two forms; no constraint can cover a URN"),
        Case::new(
            "a server that claims a line",
            world,
            Usage::Server,
            &world.tls.issue(&leaf_params(Usage::Server, vec![dns("payment.contexts.invalid")])),
            &world.tls,
        )
        .refused(CONSTRAINED),
    ];
    let mut params = issuing_params(Family::Contexts, &[CONTEXTS_TREE]);
    if let Some(constraints) = &mut params.name_constraints {
        constraints.excluded_subtrees.push(dns_tree("payment.contexts.invalid"));
    }
    let issuing = world.root.issue(&params);
    for (name, line, fault) in [
        ("a line that was excluded", "payment", CONSTRAINED),
        ("a line beside one that was excluded", "travel", "ok"),
    ] {
        let leaf = issuing.issue(&leaf_params(Usage::Context, both(line)));
        all.push(Case::new(name, world, Usage::Context, &leaf, &issuing).refused(fault));
    }
    all
}

pub(super) fn roles(world: &World) -> Vec<Case> {
    let params = leaf_params(Usage::Context, both("payment"));
    let leaf = world.contexts.issue(&params);
    let case = |name, leaf: &Forged| Case::new(name, world, Usage::Context, leaf, &world.contexts);
    let mut all = Vec::new();

    let mut second = issuing_params(Family::Contexts, &[CONTEXTS_TREE]);
    second.distinguished_name.push(rcgen::DnType::OrganizationName, "Second");
    let second = world.contexts.issue(&second);
    let below = second.issue(&params);
    let chain = [&below.der, &second.der, &world.contexts.der];
    all.push(case("an issuer below an issuer of path length 0", &below).chain(&chain).refused("path_length"));

    let mut short = root_params();
    short.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let short = Forged::root(short);
    let issuing = short.issue(&issuing_params(Family::Contexts, &[CONTEXTS_TREE]));
    let under = issuing.issue(&params);
    let short_case =
        Case::new("an issuer below a root of path length 0", world, Usage::Context, &under, &issuing);
    all.push(short_case.root(&short).refused("path_length"));

    let forged = leaf.issue(&params);
    let chain = [&forged.der, &leaf.der, &world.contexts.der];
    let mut params_named = params.clone();
    params_named.distinguished_name.push(rcgen::DnType::OrganizationName, "Leaf as CA");
    let ca = world.contexts.issue(&params_named);
    let child = ca.issue(&params);
    all.push(case("signed by a leaf of its own name", &forged).chain(&chain).refused("wrong_role"));
    let chain = [&child.der, &ca.der, &world.contexts.der];
    all.push(case("signed by another leaf", &child).chain(&chain).refused("wrong_role"));

    let ca = [&world.contexts.der];
    all.push(
        case("an issuing certificate as a leaf", &leaf)
            .chain(&ca)
            .refused("wrong_role")
            .differs("openssl verifies a CA certificate like a leaf"),
    );
    for (name, usages) in [
        ("under an issuer without keyCertSign", vec![KeyUsagePurpose::CrlSign]),
        ("under an issuer without key usage", Vec::new()),
    ] {
        let mut params_ca = issuing_params(Family::Contexts, &[CONTEXTS_TREE]);
        params_ca.key_usages = usages;
        let issuing = world.root.issue(&params_ca);
        let leaf = issuing.issue(&params);
        all.push(Case::new(name, world, Usage::Context, &leaf, &issuing).refused("wrong_role"));
    }
    let mut usages = params.clone();
    usages.key_usages.push(KeyUsagePurpose::KeyCertSign);
    all.push(case("a leaf with keyCertSign", &world.contexts.issue(&usages)).refused("wrong_role"));
    for (name, key_usages) in [
        ("a leaf without digitalSignature", vec![KeyUsagePurpose::KeyAgreement]),
        ("a context leaf without key usage", Vec::new()),
    ] {
        usages.key_usages = key_usages;
        all.push(
            case(name, &world.contexts.issue(&usages))
                .refused("wrong_usage")
                .differs("openssl asks for digitalSignature only with a purpose"),
        );
    }
    all
}
