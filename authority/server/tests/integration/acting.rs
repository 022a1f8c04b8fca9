//! A console acts for people: their rights count, and the record names both.

use std::path::Path;

use http::Method;
use http::header::HeaderName;
use semgate_authority::Config;
use semgate_policies::PublisherAct;
use serde_json::Value;

use crate::support::{Client, Got, Place, document, publisher, request};

const CONSOLE: &str = "spiffe://semgate.test/console";
const ADA: &str = "spiffe://semgate.test/ada";
const GRACE: &str = "spiffe://semgate.test/grace";
const URN: &str = "urn:contexts:acme.stock:v1.0";

fn acted_for(place: &Place) -> Config {
    let mut config = place.config();
    config.consoles = vec![CONSOLE.to_owned()];
    config.publishers =
        vec![publisher(ADA, &["acme.*"], &["acme.*"], &["acme.*"]), publisher(GRACE, &[], &["acme.*"], &[])];
    config
}

async fn post(client: &Client, persons: &[&str], path: &str, body: &str) -> Got {
    let mut request = request(Method::POST, path, Some("application/json"), body);
    for person in persons {
        request.headers_mut().append(HeaderName::from_static("semgate-person"), person.parse().unwrap());
    }
    client.send(request).await
}

async fn act(client: &Client, persons: &[&str], act: &str) -> Got {
    post(client, persons, &format!("/v1/contexts/{URN}/{act}"), r#"{"reason":"a test"}"#).await
}

fn refused(got: &Got) -> (u16, String) {
    (got.status.as_u16(), got.code())
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn the_rights_of_the_person_apply_and_the_audit_names_both() {
    let place = Place::new();
    let config = acted_for(&place);
    let audit = config.audit.clone();
    let running = place.start_with(config).await;
    let console = running.client_of(&place, Some(CONSOLE));
    assert_eq!(running.client_of(&place, Some(ADA)).publish(&document(URN, "")).await.status, 201);
    assert_eq!(act(&console, &[GRACE], "suspend").await.status, 201);
    // the rights of the person, and not the union of all people
    let publish = post(&console, &[GRACE], "/v1/contexts", &document("urn:contexts:acme.x:v1.0", "")).await;
    assert_eq!(refused(&publish), (403, "not_permitted".to_owned()));
    let floor = r#"{"line":"other","min":"v1.0","reason":"a test"}"#;
    let other = post(&console, &[ADA], "/v1/floors", floor).await;
    assert_eq!(refused(&other), (403, "not_permitted".to_owned()));
    let stranger = act(&console, &["spiffe://semgate.test/eve"], "revoke").await;
    assert_eq!(refused(&stranger), (403, "not_permitted".to_owned()));
    running.stop().await;
    let acts: Vec<Value> = lines(&audit).into_iter().filter(|line| line["console"] == CONSOLE).collect();
    let by = |outcome: &dyn Fn(&str) -> bool| {
        let lines = acts.iter().filter(|line| outcome(line["outcome"].as_str().unwrap()));
        lines.map(|line| line["by"].as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(by(&|outcome| outcome == "intended"), [GRACE]);
    assert_eq!(by(&|outcome| outcome != "intended"), [GRACE, GRACE, ADA, "spiffe://semgate.test/eve"]);
    assert_eq!(lines(&audit).iter().filter(|line| line["by"] == ADA && line["console"].is_null()).count(), 2);
}

#[tokio::test]
async fn attack_somebody_else_names_a_person() {
    let place = Place::new();
    let config = acted_for(&place);
    let audit = config.audit.clone();
    let running = place.start_with(config).await;
    let ada = running.client_of(&place, Some(ADA));
    let console = running.client_of(&place, Some(CONSOLE));
    assert_eq!(ada.publish(&document(URN, "")).await.status, 201);
    // also a publisher who names itself, and a caller with no rights at all
    for (who, person) in [(Some(GRACE), ADA), (Some(ADA), ADA), (Some("spiffe://semgate.test/eve"), ADA)] {
        let client = running.client_of(&place, who);
        let got = act(&client, &[person], "revoke").await;
        assert_eq!(refused(&got), (403, "not_permitted".to_owned()), "{who:?}");
        assert!(got.json()["detail"].as_str().unwrap().contains("is no console"), "{got:?}");
    }
    let nobody = running.client_of(&place, None);
    assert_eq!(refused(&act(&nobody, &[ADA], "revoke").await), (401, "certificate_required".to_owned()));
    let alone = act(&console, &[], "revoke").await;
    assert_eq!(refused(&alone), (403, "not_permitted".to_owned()));
    assert!(alone.json()["detail"].as_str().unwrap().contains("no right of its own"), "{alone:?}");
    assert_eq!(refused(&act(&console, &[CONSOLE], "revoke").await), (403, "not_permitted".to_owned()));
    for persons in [&[ADA, GRACE][..], &[ADA, ADA], &["ada"], &[""], &["spiffe://semgate.test/ada "]] {
        let got = act(&console, persons, "revoke").await;
        let wanted = if persons == ["spiffe://semgate.test/ada "] { 201 } else { 400 };
        assert_eq!(got.status.as_u16(), wanted, "{persons:?}");
    }
    running.stop().await;
    // a refused name is nobody's act: the record names the owner of the certificate
    let refused: Vec<Value> = lines(&audit).into_iter().filter(|line| line["outcome"] == "refused").collect();
    let by_ada = refused.iter().filter(|line| line["by"] == ADA).count();
    assert_eq!(by_ada, 1, "{refused:?}");
    assert_eq!(refused[0]["by"], GRACE);
    assert_eq!(refused[0].get("console"), None);
}

#[tokio::test]
async fn the_second_person_is_a_person_and_not_a_console() {
    let place = Place::new();
    let mut config = acted_for(&place);
    config.four_eyes = vec![PublisherAct::Revoke];
    let audit = config.audit.clone();
    let running = place.start_with(config).await;
    let console = running.client_of(&place, Some(CONSOLE));
    let ada = running.client_of(&place, Some(ADA));
    assert_eq!(ada.publish(&document(URN, "")).await.status, 201);
    let proposed = act(&console, &[ADA], "revoke").await;
    assert_eq!(proposed.status, 202, "{proposed:?}");
    let id = proposed.json()["proposal"].as_str().unwrap().to_owned();
    let path = format!("/v1/proposals/{id}/approve");
    // the same person by another client is still one person
    let own = ada.post(&path, "application/json", "").await;
    assert_eq!(own.code(), "second_person_required");
    let same = post(&console, &[ADA], &path, "").await;
    assert_eq!(same.code(), "second_person_required");
    // two people at one console are two persons
    let done = post(&console, &[GRACE], &path, "").await;
    assert_eq!(done.status, 201, "{done:?}");
    let done = done.json();
    assert_eq!((&done["proposed_by"], &done["approved_by"]), (&ADA.into(), &GRACE.into()));
    running.stop().await;
    let all = lines(&audit);
    let approved = all.iter().find(|line| line["outcome"] == "approved").unwrap();
    assert_eq!(
        [&approved["by"], &approved["proposed_by"], &approved["console"]],
        [&Value::from(GRACE), &ADA.into(), &CONSOLE.into()]
    );
}

#[tokio::test]
async fn what_waits_is_listed_for_a_person_of_the_console_alone() {
    let place = Place::new();
    let running = place.start_with(acted_for(&place)).await;
    let console = running.client_of(&place, Some(CONSOLE));
    let list = async |person: Option<&str>| {
        let mut asked = request(Method::GET, "/v1/proposals", None, "");
        if let Some(person) = person {
            asked.headers_mut().insert("semgate-person", person.parse().unwrap());
        }
        console.send(asked).await.status.as_u16()
    };
    assert_eq!([list(Some(GRACE)).await, list(None).await], [200, 403]);
    running.stop().await;
}
