//! Extensions by where they stand and whether they are critical.

use super::Case;
use crate::tests::{Forged, World, both, issuing_params, leaf_params, root_params};
use crate::{CONTEXTS_TREE, Family, Usage};
use rcgen::{CertificateParams, CustomExtension, IsCa};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

const BAD: &str = "bad_name_constraints";
const UNKNOWN: &str = "unknown_critical_extension";
const OF_POLICIES: &str = "openssl and certtool process policies on request; Semgate does not";
const OF_CONSTRAINTS: &str =
    "RFC 5280 §4.2.1.10 allows name constraints in CA certificates only, and none that are empty";

const KEY_IDENTIFIER: &[u64] = &[2, 5, 29, 14];
const POLICIES: &[u64] = &[2, 5, 29, 32];
const CONSTRAINTS: &[u64] = &[2, 5, 29, 30];
const AUTHORITY_KEY: &[u64] = &[2, 5, 29, 35];
const POLICY_CONSTRAINTS: &[u64] = &[2, 5, 29, 36];
const INHIBIT_ANY_POLICY: &[u64] = &[2, 5, 29, 54];
const AUTHORITY_ACCESS: &[u64] = &[1, 3, 6, 1, 5, 5, 7, 1, 1];
const NOBODYS: &[u64] = &[1, 3, 6, 1, 4, 1, 55738, 96];

/// One extension by its identifier, its DER value and whether it is critical.
type Extension<'v> = (&'v [u64], &'v [u8], bool);

fn with(mut params: CertificateParams, (oid, value, critical): Extension<'_>) -> CertificateParams {
    let mut extension = CustomExtension::from_oid_content(oid, value.to_vec());
    extension.set_criticality(critical);
    params.custom_extensions.push(extension);
    params
}

fn leaf() -> CertificateParams {
    leaf_params(Usage::Context, both("payment"))
}

fn issuing() -> CertificateParams {
    issuing_params(Family::Contexts, &[CONTEXTS_TREE])
}

/// An issuing certificate without the name constraints of its profile.
fn unconstrained() -> CertificateParams {
    let mut params = issuing();
    params.name_constraints = None;
    params
}

/// The value of an extension that a certificate has.
fn value_of(from: &Forged, oid: &str) -> Vec<u8> {
    let (_, certificate) = X509Certificate::from_der(&from.der).unwrap();
    let extension = certificate.extensions().iter().find(|one| one.oid.to_id_string() == oid);
    extension.unwrap().value.to_vec()
}

fn of_leaf(name: &'static str, world: &World, params: &CertificateParams) -> Case {
    Case::new(name, world, Usage::Context, &world.contexts.issue(params), &world.contexts)
}

fn of_issuing(name: &'static str, world: &World, params: &CertificateParams) -> Case {
    let issuing = world.root.issue(params);
    Case::new(name, world, Usage::Context, &issuing.issue(&leaf()), &issuing)
}

fn of_root(name: &'static str, world: &World, params: CertificateParams) -> Case {
    let root = Forged::root(params);
    let issuing = root.issue(&issuing());
    Case::new(name, world, Usage::Context, &issuing.issue(&leaf()), &issuing).root(&root)
}

/// A critical extension that nothing here processes refuses the certificate, wherever it stands.
pub(super) fn critical(world: &World) -> Vec<Case> {
    let by_contexts = value_of(&world.contexts.issue(&leaf()), "2.5.29.35");
    let by_root = value_of(&world.contexts, "2.5.29.35");
    let without = |mut params: CertificateParams| {
        params.use_authority_key_identifier_extension = false;
        params
    };
    let mut no_ca = leaf();
    no_ca.is_ca = IsCa::NoCa;
    let key = value_of(&world.contexts.issue(&leaf()), "2.5.29.14");
    // 2.5.29.32.0, anyPolicy
    let policies: &[u8] = &[0x30, 0x08, 0x30, 0x06, 0x06, 0x04, 0x55, 0x1d, 0x20, 0x00];
    // id-ad-ocsp at http://a/
    let access: &[u8] = b"\x30\x17\x30\x15\x06\x08\x2b\x06\x01\x05\x05\x07\x30\x01\x86\x09http://a/";
    vec![
        of_leaf(
            "a leaf with a critical authority key identifier",
            world,
            &with(without(leaf()), (AUTHORITY_KEY, &by_contexts, true)),
        )
        .refused(UNKNOWN),
        of_issuing(
            "an issuer with a critical authority key identifier",
            world,
            &with(without(issuing()), (AUTHORITY_KEY, &by_root, true)),
        )
        .refused(UNKNOWN),
        of_root(
            "a root with a critical authority key identifier",
            world,
            with(without(root_params()), (AUTHORITY_KEY, &[0x30, 0], true)),
        )
        .refused(UNKNOWN),
        of_leaf(
            "a leaf with a critical subject key identifier",
            world,
            &with(no_ca, (KEY_IDENTIFIER, &key, true)),
        )
        .refused(UNKNOWN),
        of_leaf(
            "a leaf with critical authority information access",
            world,
            &with(leaf(), (AUTHORITY_ACCESS, access, true)),
        )
        .refused(UNKNOWN),
        of_issuing(
            "an issuer with what nobody knows, critical",
            world,
            &with(issuing(), (NOBODYS, &[5, 0], true)),
        )
        .refused(UNKNOWN),
        of_root(
            "a root with what nobody knows, critical",
            world,
            with(root_params(), (NOBODYS, &[5, 0], true)),
        )
        .refused(UNKNOWN),
        of_root(
            "a root with what nobody knows, not critical",
            world,
            with(root_params(), (NOBODYS, &[5, 0], false)),
        ),
        of_root(
            "a root with critical certificate policies",
            world,
            with(root_params(), (POLICIES, policies, true)),
        )
        .refused(UNKNOWN)
        .differs(OF_POLICIES),
        of_issuing(
            "an issuer that requires an explicit policy",
            world,
            &with(issuing(), (POLICY_CONSTRAINTS, &[0x30, 3, 0x80, 1, 0], true)),
        )
        .refused(UNKNOWN)
        .differs(OF_POLICIES),
        of_issuing(
            "an issuer that requires an explicit policy, not critical",
            world,
            &with(issuing(), (POLICY_CONSTRAINTS, &[0x30, 3, 0x80, 1, 0], false)),
        )
        .refused("malformed")
        .differs(OF_POLICIES),
        of_root(
            "a root that inhibits any policy",
            world,
            with(root_params(), (INHIBIT_ANY_POLICY, &[2, 1, 0], true)),
        )
        .refused(UNKNOWN)
        .differs(OF_POLICIES),
        unused(world),
    ]
}

/// A certificate in no path refuses nothing by its extensions.
fn unused(world: &World) -> Case {
    let mut params = with(issuing(), (NOBODYS, &[5, 0], true));
    params.distinguished_name.push(rcgen::DnType::OrganizationName, "Unused");
    let unused = world.root.issue(&params);
    let leaf = world.contexts.issue(&leaf());
    let chain = [&leaf.der, &unused.der, &world.contexts.der];
    Case::new("beside an unused issuer with what nobody knows, critical", world, Usage::Context, &leaf, &leaf)
        .chain(&chain)
}

/// Name constraints belong in issuers, and hold a subtree.
pub(super) fn constraints(world: &World) -> Vec<Case> {
    let full = value_of(&world.contexts, "2.5.29.30");
    // the same list, with an empty list of excluded subtrees after it
    let mut and_empty = full.clone();
    and_empty[1] += 2;
    and_empty.extend([0xa1, 0]);
    let (absent, both_empty, empty) =
        (&[0x30, 0][..], &[0x30, 4, 0xa0, 0, 0xa1, 0][..], &[0x30, 2, 0xa0, 0][..]);
    let in_leaf = |critical| with(leaf(), (CONSTRAINTS, &full, critical));
    let in_issuing = |value: &[u8], critical| with(unconstrained(), (CONSTRAINTS, value, critical));
    let in_root = |value: &[u8], critical| with(root_params(), (CONSTRAINTS, value, critical));
    vec![
        of_leaf("a leaf with name constraints", world, &in_leaf(true)).refused(BAD).differs(OF_CONSTRAINTS),
        of_leaf("a leaf with name constraints, not critical", world, &in_leaf(false))
            .refused(BAD)
            .differs(OF_CONSTRAINTS),
        of_leaf("a leaf with empty name constraints", world, &with(leaf(), (CONSTRAINTS, absent, false)))
            .refused(BAD)
            .differs(OF_CONSTRAINTS),
        of_issuing("an issuer with name constraints of neither kind", world, &in_issuing(absent, true))
            .refused(BAD)
            .differs(OF_CONSTRAINTS),
        of_issuing(
            "an issuer with name constraints of neither kind, not critical",
            world,
            &in_issuing(absent, false),
        )
        .refused(BAD)
        .differs(OF_CONSTRAINTS),
        of_issuing(
            "an issuer with two empty lists of name constraints",
            world,
            &in_issuing(both_empty, true),
        )
        .refused(BAD)
        .differs(OF_CONSTRAINTS),
        of_issuing("an issuer with one empty list of name constraints", world, &in_issuing(empty, true))
            .refused(BAD)
            .differs(OF_CONSTRAINTS),
        of_issuing(
            "an issuer with an empty list of name constraints after a full one",
            world,
            &in_issuing(&and_empty, true),
        )
        .refused(BAD)
        .differs(OF_CONSTRAINTS),
        of_root("a root with name constraints of neither kind", world, in_root(absent, true))
            .refused(BAD)
            .differs(OF_CONSTRAINTS),
        of_root("a root with two empty lists of name constraints", world, in_root(both_empty, false))
            .refused(BAD)
            .differs(OF_CONSTRAINTS),
        of_issuing("an issuer with name constraints, not critical", world, &in_issuing(&full, false)),
        of_root("a root with name constraints", world, in_root(&full, true)),
    ]
}
