//! Options of LDP that contradict each other stop the start.

use std::path::Path;

use super::super::Config;
use super::super::tests::GOOD;

const ROUTE: &str = "[[route]]\nname = \"delegate\"\nlisten = \"127.0.0.1:0\"\nbinding = \"ldp\"\nreceiver = \"spiffe://semgate.test/agent/courier-5\"\nupstream = \"http://127.0.0.1:8090/\"\ncontexts = [\"*\"]\n";
const CARD: &str = "identity_card = \"card.json\"\n";

fn parsed(more: &str) -> Result<Config, String> {
    Config::parse(&format!("{GOOD}{ROUTE}{more}"), Path::new("/etc/semgate"))
        .map_err(|fault| fault.to_string())
}

fn route(more: &str) -> super::super::RouteConfig {
    parsed(&format!("{CARD}{more}")).unwrap().routes.remove(2)
}

#[test]
fn a_route_without_a_pinned_card_does_not_start() {
    let fault = parsed("").unwrap_err();
    assert!(fault.contains("identity_card") && fault.contains("pinned card"), "{fault}");
    let ldp = route("").ldp;
    assert_eq!(ldp.identity_card.as_deref(), Some(Path::new("/etc/semgate/card.json")));
    assert_eq!((ldp.require_signature, ldp.session_ttl.as_secs()), (None, 3600));
    assert_eq!(ldp.min_payload_mode.as_str(), "semantic_frame", "text is a downgrade");
}

#[test]
fn secrets_have_one_agent_each_and_paths_beside_the_file() {
    let one = "{ agent = \"spiffe://semgate.test/agent/retailer-7\", file = \"ldp.secret\" }";
    let secrets = route(&format!("ldp_secrets = [{one}]\n")).ldp.ldp_secrets;
    assert_eq!(secrets[0].file, Path::new("/etc/semgate/ldp.secret"));
    let fault = parsed(&format!("{CARD}ldp_secrets = [{one}, {one}]\n")).unwrap_err();
    assert!(fault.contains("one for each agent"), "{fault}");
    let fault = parsed(&format!("{CARD}ldp_secrets = [{{ agent = \"retailer-7\", file = \"x\" }}]\n"));
    assert!(fault.unwrap_err().contains("a spiffe id"));
}

#[test]
fn text_as_the_poorest_mode_needs_a_route_that_admits_text() {
    let fault = parsed(&format!("{CARD}min_payload_mode = \"text\"\n")).unwrap_err();
    assert!(fault.contains("unless `admit` lists `text`"), "{fault}");
    assert!(parsed(&format!("{CARD}min_payload_mode = \"text\"\nadmit = [\"text\"]\n")).is_ok());
    let fault = parsed(&format!("{CARD}min_payload_mode = \"latent_capsule\"\n")).unwrap_err();
    assert!(fault.contains("`embedding_hints` or `semantic_graph`"), "{fault}");
}

#[test]
fn trust_domains_that_can_never_work_stop_the_start() {
    let own = "agents = [\"spiffe://semgate.test/agent/courier-5\"]";
    let cases = [
        ("{ name = \"a\" }".to_owned(), "one lists the receiver"),
        (format!("{{ name = \"a\", {own} }}, {{ name = \"a\" }}"), "each name once"),
        (format!("{{ name = \"a\", {own} }}, {{ name = \"b\", {own} }}"), "without a common agent"),
        (format!("{{ name = \"a\", {own}, allow_cross_domain = true }}"), "or neither"),
        (format!("{{ name = \"a\", {own}, trusted_peers = [\"a\"] }}"), "or neither"),
        (
            format!("{{ name = \"a\", {own}, allow_cross_domain = true, trusted_peers = [\"b\"] }}"),
            "are in the list too",
        ),
        ("{ name = \"a\", agents = [\"courier-5\"] }".to_owned(), "spiffe ids"),
    ];
    for (domains, why) in cases {
        let fault = parsed(&format!("{CARD}trust_domains = [{domains}]\n")).unwrap_err();
        assert!(fault.contains(why), "{fault}");
    }
    let both = format!(
        "{{ name = \"a\", {own}, allow_cross_domain = true, trusted_peers = [\"b\"] }}, {{ name = \"b\" }}"
    );
    let config = parsed(&format!("{CARD}trust_domains = [{both}]\n")).unwrap();
    assert_eq!(Config::parse(&config.effective(), Path::new("/")), Ok(config));
}
