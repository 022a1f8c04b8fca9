use super::*;

const DIGEST: &str = "sha-256:00";

fn claim() -> Claim<'static> {
    Claim { urn: "urn:contexts:x:v1.0", digest: Some(DIGEST), lock: None, location: "/context" }
}

#[test]
fn a_header_that_states_no_more_than_the_message_agrees() {
    agrees("urn:contexts:x:v1.0", Some(&claim())).unwrap();
    agrees("urn:contexts:x:v1.0;digest=sha-256:00", Some(&claim())).unwrap();
    agrees("urn:contexts:x:v1.0; digest=sha-256:00 ", Some(&claim())).unwrap();
    let locked = Claim { lock: Some("l-1"), ..claim() };
    agrees("urn:contexts:x:v1.0;lock=l-1;digest=sha-256:00", Some(&locked)).unwrap();
}

#[test]
fn every_difference_is_a_fault() {
    for (header, what) in [
        ("", "differs"),
        ("urn:contexts:y:v1.0", "differs"),
        ("URN:contexts:x:v1.0", "differs"),
        ("urn:contexts:x:v1.0;digest=sha-256:01", "differs"),
        ("urn:contexts:x:v1.0;lock=l-1", "differs"),
        ("urn:contexts:x:v1.0;digest=sha-256:00;digest=sha-256:00", "twice"),
        ("urn:contexts:x:v1.0;digest=", "not an identifier"),
        ("urn:contexts:x:v1.0;Digest=sha-256:00", "neither"),
        ("urn:contexts:x:v1.0;", "neither"),
        ("urn:contexts:x:v1.0;x=1", "neither"),
    ] {
        let fault = agrees(header, Some(&claim())).unwrap_err();
        assert!(fault.what.contains(what), "{header}: {fault}");
    }
}

#[test]
fn a_header_without_a_claim_in_the_message_is_a_fault() {
    assert!(agrees("urn:contexts:x:v1.0", None).unwrap_err().what.contains("does not"));
}
