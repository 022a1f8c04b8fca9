//! A route of which nothing could ever come was taken, and told to be good.

use std::path::Path;

use super::super::tests::GOOD;
use crate::config::Config;

/// What is wrong with the file, with this on the A2A route, which is the last one; nothing where it is taken.
fn wrong(file: &str, more: &str) -> Option<String> {
    Config::parse(&format!("{file}{more}\n"), Path::new("/etc/semgate")).err().map(|fault| fault.to_string())
}

#[test]
fn a_version_of_a2a_beside_transports_that_do_not_carry_it_was_taken_and_carried_nothing() {
    let http2 = "upstream_http2 = true\n";
    for (versions, transports, key) in [
        ("\"0.3\"", "\"grpc\"", Some("versions")),
        ("\"0.3\"", "\"rest\"", Some("versions")),
        ("\"1.0\", \"0.3\"", "\"rest\", \"grpc\"", Some("versions")),
        ("\"0.3\"", "\"jsonrpc\", \"rest\"", Some("transports")),
        ("\"0.3\"", "\"jsonrpc\", \"grpc\"", Some("transports")),
        ("\"0.3\"", "\"jsonrpc\"", None),
        ("\"1.0\", \"0.3\"", "\"jsonrpc\", \"rest\", \"grpc\"", None),
        ("\"1.0\"", "\"rest\", \"grpc\"", None),
    ] {
        let more = format!("{http2}versions = [{versions}]\ntransports = [{transports}]");
        let said = wrong(GOOD, &more);
        match key {
            None => assert_eq!(said, None, "{more}"),
            Some(key) => {
                let said = said.unwrap_or_else(|| panic!("{more}"));
                assert!(said.starts_with(&format!("`route `a2a`: {key}` must be without `")), "{said}");
            }
        }
    }
    let said = wrong(GOOD, &format!("{http2}versions = [\"0.3\"]\ntransports = [\"grpc\"]")).unwrap();
    assert_eq!(
        said,
        "`route `a2a`: versions` must be without `0.3` unless `transports` lists `jsonrpc`: 0.3 needs that transport"
    );
}

#[test]
fn a_route_that_wants_locks_which_nobody_could_get_was_taken() {
    let handshake = "handshake = { certificate = \"a.pem\", key = \"a.key\" }";
    for asks in ["require_lock = true", "undefined = \"disambiguate\""] {
        let said = wrong(GOOD, asks).unwrap();
        let name = asks.split(' ').next().unwrap();
        assert!(said.starts_with("`route `a2a`: handshake` is missing") && said.contains(name), "{said}");
        assert_eq!(wrong(GOOD, &format!("{asks}\n{handshake}")), None);
        assert_eq!(wrong(&format!("lock_secret = \"fleet.secret\"\n{GOOD}"), asks), None);
    }
}

#[test]
fn embedding_models_are_named_in_their_form_and_for_an_agent_that_does_not_negotiate_itself() {
    let handshake = |more: &str| {
        wrong(GOOD, &format!("handshake = {{ certificate = \"a.pem\", key = \"a.key\", {more} }}"))
    };
    assert_eq!(handshake("embeddings = [\"acme/mini\", \"acme/large\"]"), None);
    for bad in ["[]", "[\"a b\"]", "[\"m\", \"m\"]", "[\"\"]"] {
        let said = handshake(&format!("embeddings = {bad}")).unwrap_or_else(|| panic!("{bad}"));
        assert!(said.contains("1 to 32 names of embedding models"), "{said}");
    }
    let said = handshake("agent = true, embeddings = [\"acme/mini\"]").unwrap();
    assert!(said.starts_with("`route `a2a`: handshake` must be without `embeddings`"), "{said}");
}

#[test]
fn a_concept_for_content_without_a_name_needs_its_context_and_excludes_unread_data() {
    let context = "default_context = \"urn:contexts:payment:v1.1\"";
    let said = wrong(GOOD, "untyped = \"transfer\"").unwrap();
    assert!(said.starts_with("`route `a2a`: default_context` is missing: `untyped` names"), "{said}");
    assert_eq!(wrong(GOOD, &format!("untyped = \"transfer\"\n{context}")), None);
    let said = wrong(GOOD, &format!("untyped = \"transfer\"\n{context}\nadmit = [\"data\"]")).unwrap();
    assert!(said.starts_with("`route `a2a`: untyped` must be left out if `admit` lists `data`"), "{said}");
    let said = wrong(GOOD, &format!("untyped = \"urn:contexts:a#b\"\n{context}")).unwrap();
    assert!(said.contains("1 to 64 letters"), "{said}");
}

#[test]
fn a_route_to_contexts_of_no_authority_was_taken_and_let_nothing_pass() {
    let file = |lines: &str| GOOD.replace("lines = [\"*\"]", &format!("lines = [{lines}]"));
    let said = wrong(&file("\"acme.*\", \"a2a\""), "").unwrap();
    assert!(said.starts_with("`route `l8`: contexts` must be of a line of an"), "{said}");
    // one of them is enough: the others may come later
    for lines in ["\"payment\"", "\"travel\", \"acme\""] {
        assert_eq!(wrong(&file(lines), ""), None, "{lines}");
    }
}
