//! Credentials in the upstream agent's certificate count in its replies, as a caller's count in its requests.

use crate::common;

use common::agent::tls_agent;
use common::{Gateway, House, RETAILER, WHOLESALER, message, route, wait};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, CustomExtension, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, SanType,
};
use semgate_policies::PolicySource;
use std::io::Write as _;
use std::sync::Arc;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

const RULES: &str = r#"
@id("asks") permit (principal in Group::"partners", action, resource is supplyChain::current_decision) when { context.direction == "request" };
@id("holds") permit (principal in Group::"repliers", action, resource is supplyChain::current_decision)
when { context.direction == "reply" && principal.credentials.contains("cert:policy:1.2.3.5") };
"#;

/// Certificate policy 1.2.3.5.
fn marked(mut params: CertificateParams) -> CertificateParams {
    let policies = vec![0x30, 7, 0x30, 5, 6, 3, 0x2a, 3, 5];
    params.custom_extensions.push(CustomExtension::from_oid_content(&[2, 5, 29, 32], policies));
    params
}

fn issues(kind: BasicConstraints) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.use_authority_key_identifier_extension = true;
    params.is_ca = IsCa::Ca(kind);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

/// A server by a certificate with that policy, or without it, and its root among those of the trust domain.
fn server(house: &House, marks: bool) -> Arc<ServerConfig> {
    let mark = |params| if marks { marked(params) } else { params };
    let key = || KeyPair::generate().unwrap();
    let root = CertifiedIssuer::self_signed(issues(BasicConstraints::Unconstrained), key()).unwrap();
    let mut issuing = mark(issues(BasicConstraints::Constrained(0)));
    issuing.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    issuing.distinguished_name.push(rcgen::DnType::CommonName, "desk");
    let issuing = CertifiedIssuer::signed_by(issuing, key(), &root).unwrap();
    let mut leaf = mark(CertificateParams::default());
    leaf.use_authority_key_identifier_extension = true;
    leaf.is_ca = IsCa::ExplicitNoCa;
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    leaf.subject_alt_names = vec![SanType::URI(WHOLESALER.try_into().unwrap())];
    let own = key();
    let leaf = leaf.signed_by(&own, &issuing).unwrap();
    let mut roots = std::fs::OpenOptions::new().append(true).open(house.path("tls-roots.pem")).unwrap();
    roots.write_all(root.pem().as_bytes()).unwrap();
    let chain: Vec<CertificateDer<'static>> = vec![leaf.der().clone(), issuing.der().clone()];
    let key = PrivateKeyDer::try_from(own.serialize_der()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    Arc::new(config.with_no_client_auth().with_single_cert(chain, key).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_about_the_certificate_of_who_replies_applies() {
    let mut house = House::new();
    house.remember();
    let mut policies = PolicySource::shipped();
    policies.files = vec![("own.cedar".to_owned(), RULES.to_owned())];
    house.write_policies(&policies);
    let mut routes = String::new();
    for (name, marks) in [("marked", true), ("plain", false)] {
        let port = tls_agent(server(&house, marks)).await;
        let more = format!("plain_sender = \"{RETAILER}\"");
        routes += &route(name, "l8", &format!("https://127.0.0.1:{port}/l8"), &more);
    }
    let gateway = Gateway::start(house.config(&routes, ""));
    let body = message().to_string();
    let post = |route: &'static str| gateway.post(route, "", body.as_bytes());
    let (holds, holds_not) = tokio::task::block_in_place(|| (post("marked"), post("plain")));
    assert_eq!(holds.status, 200, "{holds:?}");
    assert_eq!(holds_not.problem(), (502, "reply_refused".to_owned()));
    let told = || house.audit().into_iter().map(|record| record.to_string()).collect::<String>();
    wait("the record of what passed", || told().contains("own.cedar#holds"));
}
