//! Good chains, trust, usages and shapes.

use super::Case;
use crate::tests::{Forged, NOW, World, both, dns, issuing_params, leaf_params, purpose, root_params, uri};
use crate::{CONTEXTS_TREE, Family, Usage};
use rcgen::{CustomExtension, ExtendedKeyUsagePurpose, KeyPair, SanType};
use rustls_pki_types::CertificateDer;

const NO_PURPOSE: &str = "openssl knows no purpose for these usages";
const RETAILER: &str = "spiffe://semgate.test/agent/retailer-7";

/// Names that fit the usage.
pub(super) fn fitting(usage: Usage) -> Vec<SanType> {
    match usage {
        Usage::Context => both("payment"),
        Usage::Status | Usage::Feed | Usage::Log => vec![dns(CONTEXTS_TREE)],
        Usage::Policy => vec![dns(CONTEXTS_TREE), uri("spiffe://semgate.test/policy-signer")],
        Usage::Server => vec![uri("spiffe://semgate.test/gateway"), dns("localhost")],
        Usage::Agent => vec![uri(RETAILER)],
    }
}

pub(super) fn good(world: &World) -> Vec<Case> {
    let mut all = Vec::new();
    for (name, usage) in [
        ("a context leaf", Usage::Context),
        ("a status leaf", Usage::Status),
        ("a feed leaf", Usage::Feed),
        ("a log leaf", Usage::Log),
        ("a policy leaf", Usage::Policy),
        ("a server leaf", Usage::Server),
        ("an agent leaf", Usage::Agent),
    ] {
        let issuer = world.issuer(usage);
        all.push(Case::new(name, world, usage, &issuer.issue(&leaf_params(usage, fitting(usage))), issuer));
    }
    let lines = [both("payment"), both("acme.logistics"), both("supplyChain")].concat();
    let leaf = world.contexts.issue(&leaf_params(Usage::Context, lines));
    all.push(Case::new("a context leaf for three lines", world, Usage::Context, &leaf, &world.contexts));
    let leaf = world.contexts.issue(&leaf_params(Usage::Context, both("payment")));
    let full = [&leaf.der, &world.contexts.der, &world.root.der];
    all.push(Case::new("with the root in the chain", world, Usage::Context, &leaf, &leaf).chain(&full));
    let turned = [&leaf.der, &world.root.der, &world.tls.der, &world.contexts.der];
    all.push(
        Case::new("with others, out of order, in the chain", world, Usage::Context, &leaf, &leaf)
            .chain(&turned),
    );
    let edwards = KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
    let leaf = world.contexts.issue_for(&leaf_params(Usage::Context, both("payment")), edwards);
    all.push(Case::new("an Ed25519 leaf", world, Usage::Context, &leaf, &world.contexts));
    let mut params = leaf_params(Usage::Server, fitting(Usage::Server));
    params.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);
    let leaf = world.tls.issue(&params);
    all.push(Case::new("a gateway as a server", world, Usage::Server, &leaf, &world.tls));
    all.push(Case::new("a gateway as a client", world, Usage::Agent, &leaf, &world.tls));
    let mut params = issuing_params(Family::Tls, &[]);
    params.extended_key_usages.clear();
    params.name_constraints = None;
    let foreign = world.root.issue(&params);
    let leaf = foreign.issue(&leaf_params(Usage::Agent, fitting(Usage::Agent)));
    all.push(
        Case::new("an agent under an issuer without usages", world, Usage::Agent, &leaf, &foreign).of_peer(),
    );
    let leaf = world.root.issue(&leaf_params(Usage::Context, both("payment")));
    all.push(Case::new("straight under the root", world, Usage::Context, &leaf, &leaf).chain(&[&leaf.der]));
    all
}

pub(super) fn trust(world: &World) -> Vec<Case> {
    let params = leaf_params(Usage::Context, both("payment"));
    let leaf = world.contexts.issue(&params);
    let case = |name| Case::new(name, world, Usage::Context, &leaf, &world.contexts);
    let mut other = root_params();
    other.distinguished_name.push(rcgen::DnType::OrganizationName, "Strangers");
    let other = Forged::root(other);
    let twin = Forged::root(root_params());
    let alone = Forged::root(params.clone());
    vec![
        case("under another root").root(&other).refused("unknown_issuer"),
        case("under a root of the same name with another key").root(&twin).refused("bad_signature"),
        case("without its issuing certificate").chain(&[&leaf.der]).refused("unknown_issuer"),
        case("a self-signed leaf").chain(&[&alone.der]).refused("unknown_issuer"),
        case("with its signature altered")
            .chain(&[&last_byte_changed(&leaf.der), &world.contexts.der])
            .refused("bad_signature"),
        case("with the signature of its issuing certificate altered")
            .chain(&[&leaf.der, &last_byte_changed(&world.contexts.der)])
            .refused("bad_signature"),
        case("under the other issuing certificate")
            .chain(&[&leaf.der, &world.tls.der])
            .refused("unknown_issuer"),
    ]
}

pub(super) fn last_byte_changed(der: &CertificateDer<'static>) -> CertificateDer<'static> {
    let mut bytes = der.to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    bytes.into()
}

pub(super) fn usages(world: &World) -> Vec<Case> {
    let with = |usage: Usage, purposes: Vec<ExtendedKeyUsagePurpose>| {
        let mut params = leaf_params(usage, fitting(usage));
        params.extended_key_usages = purposes;
        world.issuer(usage).issue(&params)
    };
    let case = |name, usage, leaf: &Forged| Case::new(name, world, usage, leaf, world.issuer(usage));
    let any = ExtendedKeyUsagePurpose::Any;
    let mut all = vec![
        case(
            "a status leaf as a context signer",
            Usage::Context,
            &with(Usage::Context, vec![purpose(Usage::Status)]),
        )
        .refused("wrong_usage")
        .differs(NO_PURPOSE),
        case(
            "a context leaf as a feed signer",
            Usage::Feed,
            &with(Usage::Feed, vec![purpose(Usage::Context)]),
        )
        .refused("wrong_usage")
        .differs(NO_PURPOSE),
        case("a context leaf of any usage", Usage::Context, &with(Usage::Context, vec![any.clone()]))
            .refused("wrong_usage")
            .differs(NO_PURPOSE),
        case("a context leaf without usage", Usage::Context, &with(Usage::Context, Vec::new()))
            .refused("wrong_usage")
            .differs(NO_PURPOSE),
        case("an agent leaf without usage", Usage::Agent, &with(Usage::Agent, Vec::new()))
            .refused("wrong_usage")
            .differs("openssl accepts a leaf without EKU for every purpose"),
        case("an agent leaf of any usage", Usage::Agent, &with(Usage::Agent, vec![any]))
            .refused("wrong_usage"),
        case("an agent leaf as a server", Usage::Server, &with(Usage::Server, vec![purpose(Usage::Agent)]))
            .refused("wrong_usage"),
        case("a server leaf as an agent", Usage::Agent, &with(Usage::Agent, vec![purpose(Usage::Server)]))
            .refused("wrong_usage"),
        case(
            "a context leaf that is a status leaf too",
            Usage::Context,
            &with(Usage::Context, vec![purpose(Usage::Context), purpose(Usage::Status)]),
        )
        .refused("usage_not_alone")
        .differs(NO_PURPOSE),
        case(
            "a context leaf that is a server leaf too",
            Usage::Context,
            &with(Usage::Context, vec![purpose(Usage::Context), ExtendedKeyUsagePurpose::ServerAuth]),
        )
        .refused("usage_not_alone")
        .differs(NO_PURPOSE),
        case(
            "an agent leaf that is a context leaf too",
            Usage::Agent,
            &with(Usage::Agent, vec![purpose(Usage::Agent), purpose(Usage::Context)]),
        )
        .refused("usage_not_alone")
        .differs("openssl ignores further usages"),
    ];
    for (name, purposes, fault) in [
        ("under an issuer of another usage", vec![purpose(Usage::Status)], "wrong_usage"),
        ("under an issuer without usages", Vec::new(), "wrong_usage"),
        (
            "under an issuer of both families",
            vec![purpose(Usage::Context), ExtendedKeyUsagePurpose::ServerAuth],
            "families_mixed",
        ),
    ] {
        let mut params = issuing_params(Family::Contexts, &[CONTEXTS_TREE]);
        params.extended_key_usages = purposes;
        let issuing = world.root.issue(&params);
        let leaf = issuing.issue(&leaf_params(Usage::Context, both("payment")));
        all.push(Case::new(name, world, Usage::Context, &leaf, &issuing).refused(fault).differs(NO_PURPOSE));
    }
    let mut params = issuing_params(Family::Tls, &[]);
    params.extended_key_usages.push(purpose(Usage::Context));
    let issuing = world.root.issue(&params);
    let leaf = issuing.issue(&leaf_params(Usage::Agent, fitting(Usage::Agent)));
    all.push(
        Case::new("an agent under an issuer of both families", world, Usage::Agent, &leaf, &issuing)
            .of_peer()
            .refused("families_mixed")
            .differs("openssl ignores further usages"),
    );
    all
}

pub(super) fn shapes(world: &World) -> Vec<Case> {
    let params = || leaf_params(Usage::Context, both("payment"));
    let leaf = world.contexts.issue(&params());
    let case = |name, leaf: &Forged| Case::new(name, world, Usage::Context, leaf, &world.contexts);
    let mut critical = params();
    let mut extension = CustomExtension::from_oid_content(&[1, 3, 6, 1, 4, 1, 55738, 99], vec![5, 0]);
    extension.set_criticality(true);
    critical.custom_extensions.push(extension.clone());
    let mut harmless = params();
    extension.set_criticality(false);
    harmless.custom_extensions.push(extension);
    let big = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).unwrap();
    let names: Vec<SanType> = (0..65).flat_map(|n| both(&format!("line{n}"))).collect();
    let mut huge = params();
    huge.custom_extensions.push(CustomExtension::from_oid_content(
        &[1, 3, 6, 1, 4, 1, 55738, 98],
        [&[4, 0x82, 0x42, 0x68][..], &vec![0; 0x4268]].concat(),
    ));
    let trailing = CertificateDer::from([leaf.der.as_ref(), &[0]].concat());
    let cut = CertificateDer::from(leaf.der[..leaf.der.len() - 3].to_vec());
    let strangers = [&leaf.der, &world.contexts.der, &world.acme.der, &world.tls.der, &world.root.der];
    let long = "Semgate sets this bound";
    vec![
        case("with an unknown extension that is not critical", &world.contexts.issue(&harmless)),
        case("with an unknown critical extension", &world.contexts.issue(&critical))
            .refused("unknown_critical_extension"),
        case("a leaf with a P-384 key", &world.contexts.issue_for(&params(), big))
            .refused("unsupported_algorithm")
            .differs("Semgate takes P-256 and Ed25519 leaves only"),
        case("a chain of five", &leaf).chain(&strangers).refused("too_long").differs(long),
        case("a leaf of 130 names", &world.contexts.issue(&leaf_params(Usage::Context, names)))
            .refused("too_long")
            .differs(long),
        case("a leaf of 17 kB", &world.contexts.issue(&huge)).refused("too_long").differs(long),
        case("with a byte after its end", &leaf)
            .chain(&[&trailing, &world.contexts.der])
            .refused("malformed")
            .differs("openssl ignores the bytes after the certificate"),
        case("cut short", &leaf).chain(&[&cut, &world.contexts.der]).refused("malformed"),
        case("not a certificate at all", &leaf)
            .chain(&[&CertificateDer::from(b"\x30\x03\x02\x01\x00".to_vec())])
            .refused("malformed"),
        case("three centuries later", &leaf).at(NOW + 100_000 * 86_400).refused("expired"),
    ]
}
