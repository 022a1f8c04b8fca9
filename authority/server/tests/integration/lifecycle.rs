//! What revoke, suspend, resume, retire and floors do, and in which order they may.

mod agreement;
use crate::support;

use std::path::Path;

use http::StatusCode;
use ring::rand::SystemRandom;
use semgate_certs::{Chain, ChainLimits, Family, Issuer, IssuingProfile, KeyPair, Suspect};
use semgate_statement::jws::MultiJws;
use semgate_statement::{RootAct, RootStatement, Statement, verify_log};
use support::*;

#[tokio::test(flavor = "multi_thread")]
async fn the_lifecycle_of_a_context_is_the_table_of_the_specification() {
    let place = Place::new();
    let running = place.start().await;
    let client = &running.client;
    let mut n = 0;
    // What leads to each state, and what each act then answers and leaves.
    for (path, rows) in [
        (
            &[][..],
            [
                ("revoke", 201, "invalid"),
                ("suspend", 201, "suspended"),
                ("resume", 409, "valid"),
                ("retire", 201, "deprecated"),
            ],
        ),
        (
            &["suspend"],
            [
                ("revoke", 201, "invalid"),
                ("suspend", 200, "suspended"),
                ("resume", 201, "valid"),
                ("retire", 201, "suspended"),
            ],
        ),
        (
            &["retire"],
            [
                ("revoke", 201, "invalid"),
                ("suspend", 201, "suspended"),
                ("resume", 409, "deprecated"),
                ("retire", 200, "deprecated"),
            ],
        ),
        (
            &["retire", "suspend"],
            [
                ("revoke", 201, "invalid"),
                ("suspend", 200, "suspended"),
                ("resume", 201, "deprecated"),
                ("retire", 200, "suspended"),
            ],
        ),
        (
            &["suspend", "resume"],
            [
                ("revoke", 201, "invalid"),
                ("suspend", 201, "suspended"),
                ("resume", 200, "valid"),
                ("retire", 201, "deprecated"),
            ],
        ),
        (
            &["revoke"],
            [
                ("revoke", 200, "invalid"),
                ("suspend", 409, "invalid"),
                ("resume", 409, "invalid"),
                ("retire", 409, "invalid"),
            ],
        ),
    ] {
        for (act, status, left) in rows {
            let urn = format!("urn:contexts:line{n}:v1.0");
            n += 1;
            let index = client.publish(&document(&urn, "")).await.json()["index"].clone();
            let mut last = serde_json::Value::Null;
            for step in path {
                last = client.act(&urn, step).await.json();
            }
            let got = client.act(&urn, act).await;
            assert_eq!(got.status.as_u16(), status, "{path:?} {act}: {got:?}");
            match status {
                409 => assert_eq!(got.code(), "transition_refused"),
                200 if path.last() == Some(&act) => assert_eq!(got.json(), last),
                _ => assert!(got.json()["index"].as_u64() < got.json()["seq"].as_u64()),
            }
            let listed = client.ok("/v1/contexts").await.json();
            let mut listed = listed["contexts"].as_array().unwrap().iter().filter(|c| c["index"] == index);
            assert_eq!(listed.next().unwrap()["status"], left, "{path:?} {act}");
        }
    }
    verify_log(&mut client.clone(), &place.follower_config(), now()).unwrap();
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_floor_rises_only_and_never_above_what_is_published() {
    let place = Place::new();
    let running = place.start().await;
    let client = &running.client;
    for version in ["v1.0", "v1.1", "v2.0"] {
        client.publish(&document(&format!("urn:contexts:payment.test:{version}"), version)).await;
    }
    let raised = client.floor("payment.test", "v1.1").await;
    assert_eq!(raised.status, StatusCode::CREATED);
    let again = client.floor("payment.test", "v1.1").await;
    assert_eq!((again.status, again.json()), (StatusCode::OK, raised.json()));
    assert_eq!(client.floor("payment.test", "v1.0").await.code(), "floor_lowered");
    assert_eq!(client.floor("payment.test", "v2.1").await.code(), "floor_unpublished");
    assert_eq!(client.floor("travel", "v1.0").await.code(), "floor_unpublished");
    let floors = client.ok("/v1/floors").await;
    assert_eq!(
        &floors.body[..],
        br#"{"authority":"semgate.test","floors":[{"line":"payment.test","min":"v1.1"}]}"#
    );
    running.stop().await;
}

const ADA: &str = "spiffe://semgate.test/ada";
const GRACE: &str = "spiffe://semgate.test/grace";
const MALLORY: &str = "spiffe://semgate.test/mallory";

const PEOPLE: &str = r#"{"agents":[
    {"id":"spiffe://semgate.test/ada","groups":["stewards"],"credentials":[]},
    {"id":"spiffe://semgate.test/grace","groups":["stewards"],"credentials":[]},
    {"id":"spiffe://semgate.test/mallory","groups":[],"credentials":[]}]}"#;

const RULES: &str = r#"@id("publish") permit (principal, action == Action::"publish", resource in Line::"acme");
@id("take-back") @four_eyes
permit (principal in Group::"stewards", action in [Action::"revoke", Action::"floor"], resource in Line::"acme");
@id("suspend") permit (principal in Group::"stewards", action == Action::"suspend", resource);
"#;

/// An authority of three publishers with every right, and policies that narrow them.
fn narrowed(place: &Place) -> semgate_authority::Config {
    let dir = place.path().join("publishers");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("rules.cedar"), RULES).unwrap();
    std::fs::write(dir.join("entities.json"), PEOPLE).unwrap();
    let mut config = place.config();
    config.publishers = [ADA, GRACE, MALLORY].map(semgate_authority::Publisher::of_everything).to_vec();
    config.policies = Some(dir);
    config
}

/// Whoever may publish everything but a tree of lines published into it in other letters.
#[tokio::test]
async fn attack_a_forbidden_tree_of_lines_in_other_letters() {
    let place = Place::new();
    let config = narrowed(&place);
    let rules = r#"permit (principal, action, resource);
        forbid (principal == Agent::"spiffe://semgate.test/mallory", action, resource in Line::"acme.pay");"#;
    std::fs::write(place.path().join("publishers").join("rules.cedar"), rules).unwrap();
    let running = place.start_with(config.clone()).await;
    let mallory = running.client_of(&place, Some(MALLORY));
    let publish =
        async |line: &str| mallory.publish(&document(&format!("urn:contexts:{line}:v1.0"), "")).await;
    assert_eq!(publish("acme.pay.in").await.code(), "not_permitted");
    for line in ["ACME.pay", "acme.Pay", "AcMe", "acme.PAY.in"] {
        let refused = publish(line).await;
        assert_eq!((refused.status.as_u16(), refused.code().as_str()), (409, "line_case_taken"), "{line}");
        assert!(refused.json()["detail"].as_str().unwrap().contains("`acme.pay`"), "{refused:?}");
    }
    // and beside what is published, whatever policies name
    assert_eq!(publish("tools.Sums").await.status, 201);
    for line in ["TOOLS", "tools.sums.x", "Tools.other"] {
        assert_eq!(publish(line).await.code(), "line_case_taken", "{line}");
    }
    assert_eq!(publish("tools.other").await.status, 201);
    assert!(attempts(&config).iter().any(|one| one["code"] == "line_case_taken"), "it is in the audit log");
    running.stop().await;
}

fn attempts(config: &semgate_authority::Config) -> Vec<serde_json::Value> {
    attempts_in(&config.audit)
}

#[tokio::test]
async fn policies_narrow_rights_and_two_persons_revoke_over_a_restart() {
    let place = Place::new();
    let config = narrowed(&place);
    let running = place.start_with(config.clone()).await;
    let as_of = |running: &Running, id| running.client_of(&place, Some(id));
    let (ada, mallory) = (as_of(&running, ADA), as_of(&running, MALLORY));
    let urn = "urn:contexts:acme.stock:v1.0";
    assert_eq!(ada.publish(&document(urn, "")).await.status, 201);
    // the rights are there, the policies are not: another line, another person, another act
    assert_eq!(ada.publish(&document("urn:contexts:other:v1.0", "")).await.code(), "not_permitted");
    assert_eq!(mallory.act(urn, "revoke").await.code(), "not_permitted");
    assert_eq!(ada.act(urn, "retire").await.code(), "not_permitted");
    assert_eq!(ada.act(urn, "suspend").await.status, 201);

    // one person proposes, and cannot agree with herself
    let proposed = ada.act(urn, "revoke").await;
    assert_eq!(proposed.status, 202, "{proposed:?}");
    let id = proposed.json()["proposal"].as_str().unwrap().to_owned();
    assert_eq!(ada.act(urn, "revoke").await.code(), "second_person_required");
    let approve = async |client: &Client, id: &str| {
        client.post(&format!("/v1/proposals/{id}/approve"), "application/json", "").await
    };
    assert_eq!(approve(&ada, &id).await.code(), "second_person_required");
    // nor with somebody whom the policies do not let do it
    assert_eq!(approve(&mallory, &id).await.code(), "not_permitted");
    assert_eq!(approve(&ada, "0123").await.code(), "proposal_unknown");
    assert_eq!(running.client_of(&place, None).get("/v1/proposals").await.code(), "certificate_required");
    assert_eq!(ada.ok("/v1/contexts").await.json()["contexts"][0]["status"], "suspended");
    running.stop().await;

    let running = place.start_with(config.clone()).await;
    let (ada, grace) = (as_of(&running, ADA), as_of(&running, GRACE));
    let waits = grace.ok("/v1/proposals").await.json();
    assert_eq!(
        (&waits["proposals"][0]["proposal"], &waits["proposals"][0]["by"]),
        (&id.clone().into(), &ADA.into())
    );
    let done = approve(&grace, &id).await;
    assert_eq!(done.status, 201, "{done:?}");
    assert_eq!((&done.json()["proposed_by"], &done.json()["approved_by"]), (&ADA.into(), &GRACE.into()));
    assert_eq!(ada.ok("/v1/contexts").await.json()["contexts"][0]["status"], "invalid");
    assert_eq!(approve(&grace, &id).await.code(), "proposal_unknown");
    // what was done is answered at once
    assert_eq!(ada.act(urn, "revoke").await.status, 200);
    // a floor too; a proposal whose maker lost the right since is not carried out
    assert_eq!(ada.publish(&document("urn:contexts:acme.stock:v1.1", "")).await.status, 201);
    let floor = ada.floor("acme.stock", "v1.1").await;
    assert_eq!(floor.status, 202);
    let rules = place.path().join("publishers").join("entities.json");
    std::fs::write(
        &rules,
        PEOPLE.replacen(r#""credentials":[]}"#, r#""credentials":[],"disabled":true}"#, 1),
    )
    .unwrap();
    hangup();
    until_refused(&ada).await;
    let id = floor.json()["proposal"].as_str().unwrap().to_owned();
    // who agrees may not either: it waits on; whose it is may not: it does not
    let mallory = as_of(&running, MALLORY);
    assert_eq!(approve(&mallory, &id).await.code(), "not_permitted");
    assert_eq!(approve(&grace, &id).await.code(), "not_permitted");
    assert_eq!(approve(&grace, &id).await.code(), "proposal_unknown");
    running.stop().await;
    every_attempt_is_recorded(&attempts(&config));
}

fn every_attempt_is_recorded(lines: &[serde_json::Value]) {
    let numbers: Vec<u64> = lines.iter().map(|line| line["n"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=lines.len() as u64).collect::<Vec<_>>());
    let of = |outcome: &str, act: &str| {
        lines.iter().filter(|l| l["outcome"] == outcome && l["act"] == act).collect::<Vec<_>>()
    };
    let approved = of("approved", "revoke");
    assert_eq!(
        (approved.len(), &approved[0]["by"], &approved[0]["proposed_by"]),
        (1, &GRACE.into(), &ADA.into())
    );
    assert_eq!(approved[0]["policies"], serde_json::json!(["rules.cedar#take-back"]));
    assert!(
        approved[0]["index"].is_u64()
            && approved[0]["policy_digest"].is_string()
            && approved[0]["reason"] == "a test"
    );
    let proposed = of("proposed", "revoke");
    assert_eq!((proposed.len(), &proposed[0]["proposal"]), (1, &approved[0]["proposal"]));
    let codes: Vec<_> =
        of("refused", "revoke").iter().map(|l| l["code"].as_str().unwrap().to_owned()).collect();
    assert_eq!(codes, ["not_permitted", "second_person_required", "not_permitted"]);
    assert!(of("refused", "approve").iter().any(|l| l["code"] == "second_person_required"));
    assert!(of("refused", "publish").iter().any(|l| l["on"] == "urn:contexts:other:v1.0" && l["by"] == ADA));
    assert!(lines.iter().all(|line| line["by"].is_string()), "strangers are counted elsewhere");
}

fn hangup() {
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::HUP).unwrap();
}

/// Policies that were reloaded know this person no more.
async fn until_refused(client: &Client) {
    for _ in 0..600 {
        if client.publish(&document("urn:contexts:acme.stock:v1.1", "")).await.status == 403 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the policies were not reloaded");
}

#[tokio::test]
async fn policies_are_reloaded_as_a_whole_or_not_at_all() {
    let place = Place::new();
    let config = narrowed(&place);
    let rules = config.policies.clone().unwrap().join("rules.cedar");
    let running = place.start_with(config.clone()).await;
    let ada = running.client_of(&place, Some(ADA));
    std::fs::write(
        &rules,
        format!("{RULES} permit (principal, action, resource) when {{ resource.majr > 1 }};"),
    )
    .unwrap();
    hangup();
    // one that is right, after it: where this one shows, the wrong one was refused before
    assert_eq!(ada.publish(&document("urn:contexts:acme.stock:v1.0", "")).await.status, 201);
    assert_eq!(ada.publish(&document("urn:contexts:other:v1.0", "")).await.code(), "not_permitted");
    std::fs::write(&rules, RULES.replace("acme", "other")).unwrap();
    hangup();
    until_refused(&ada).await;
    assert_eq!(ada.publish(&document("urn:contexts:other:v1.0", "")).await.status, 201);
    running.stop().await;
    // nor does an authority start with a directory that is wrong
    std::fs::write(&rules, "permit (principal, action == Action::\"delete\", resource);").unwrap();
    let fault = semgate_authority::run(config, Vec::new(), |_| panic!("it runs"), std::future::pending())
        .await
        .unwrap_err();
    assert!(fault.to_string().contains("rules.cedar:1:"), "{fault}");
}

#[tokio::test]
async fn attack_a_publisher_whose_entry_is_deleted_goes_on_because_a_policy_names_it() {
    let place = Place::new();
    let config = narrowed(&place);
    let dir = config.policies.clone().unwrap();
    let hers = |id: &str, act: &str| {
        format!(
            "@id(\"{id}\") permit (principal == Agent::\"{ADA}\", action == Action::\"{act}\", resource);\n"
        )
    };
    std::fs::write(dir.join("hers.cedar"), hers("hers", "publish")).unwrap();
    let running = place.start_with(config.clone()).await;
    let ada = running.client_of(&place, Some(ADA));
    assert_eq!(ada.publish(&document("urn:contexts:other:v1.0", "")).await.status, 201);
    let without =
        PEOPLE.replace(r#"{"id":"spiffe://semgate.test/ada","groups":["stewards"],"credentials":[]},"#, "");
    assert_ne!(without, PEOPLE);
    std::fs::write(dir.join("entities.json"), without).unwrap();
    hangup();
    until_refused(&ada).await;
    running.stop().await;
    // a start is strict: the policy names somebody who has no entry
    let run = semgate_authority::run(config, Vec::new(), |_| panic!("it runs"), std::future::pending());
    let fault = run.await.unwrap_err().to_string();
    assert!(fault.contains("policy `hers.cedar#hers`"), "{fault}");
}

/// Without a directory, the configuration may ask for two persons; an override is one of the acts.
#[tokio::test]
async fn two_persons_may_be_asked_for_by_the_configuration_alone() {
    let place = Place::new();
    let mut config = place.config();
    config.publishers = [ADA, GRACE].map(semgate_authority::Publisher::of_everything).to_vec();
    config.four_eyes = vec![semgate_policies::PublisherAct::Revoke];
    config.limits.proposals = 1;
    let running = place.start_with(config).await;
    let (ada, grace) = (running.client_of(&place, Some(ADA)), running.client_of(&place, Some(GRACE)));
    for minor in 0..2 {
        assert_eq!(ada.publish(&document(&format!("urn:contexts:acme:v1.{minor}"), "")).await.status, 201);
    }
    assert_eq!(ada.act("urn:contexts:acme:v1.0", "suspend").await.status, 201);
    let first = ada.act("urn:contexts:acme:v1.0", "revoke").await;
    assert_eq!(first.status, 202);
    // another person who asks for the same is shown what waits; one more than may wait is told
    let same = grace.act("urn:contexts:acme:v1.0", "revoke").await;
    assert_eq!((same.status.as_u16(), &same.json()["proposal"]), (202, &first.json()["proposal"]));
    assert_eq!(grace.act("urn:contexts:acme:v1.1", "revoke").await.code(), "proposals_full");
    // what cannot be done is said at once and proposes nothing
    assert_eq!(grace.act("urn:contexts:acme:v9.0", "revoke").await.code(), "context_unknown");
    running.stop().await;
}

/// One person resumed it alone, and the agreement to the proposal of before would have ended the next suspension.
#[tokio::test]
async fn a_resumption_that_was_proposed_ends_no_later_suspension() {
    let place = Place::new();
    let config = narrowed(&place);
    let rules = format!(
        r#"permit (principal, action in [Action::"publish", Action::"suspend"], resource);
        permit (principal == Agent::"{GRACE}", action == Action::"resume", resource);
        @four_eyes permit (principal == Agent::"{ADA}", action == Action::"resume", resource);"#
    );
    std::fs::write(place.path().join("publishers").join("rules.cedar"), rules).unwrap();
    let running = place.start_with(config.clone()).await;
    let (ada, grace) = (running.client_of(&place, Some(ADA)), running.client_of(&place, Some(GRACE)));
    let urn = "urn:contexts:acme.stock:v1.0";
    assert_eq!(ada.publish(&document(urn, "")).await.status, 201);
    assert_eq!(ada.act(urn, "suspend").await.status, 201);
    let first = ada.act(urn, "resume").await;
    assert_eq!(first.status, 202, "{first:?}");
    assert_eq!(grace.act(urn, "resume").await.status, 201);
    assert_eq!(ada.act(urn, "suspend").await.status, 201);
    let path = |got: &Got| format!("/v1/proposals/{}/approve", got.json()["proposal"].as_str().unwrap());
    let refused = grace.post(&path(&first), "application/json", "").await;
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (409, "transition_refused"));
    assert!(refused.json()["detail"].as_str().unwrap().contains("suspended again"), "{refused:?}");
    assert_eq!(ada.ok("/v1/contexts").await.json()["contexts"][0]["status"], "suspended");
    // what is proposed of the suspension that there is is agreed to, also after a restart
    let second = ada.act(urn, "resume").await;
    assert_eq!(second.status, 202, "{second:?}");
    running.stop().await;
    let running = place.start_with(config).await;
    let grace = running.client_of(&place, Some(GRACE));
    assert_eq!(grace.post(&path(&second), "application/json", "").await.status, 201);
    assert_eq!(grace.ok("/v1/contexts").await.json()["contexts"][0]["status"], "valid");
    running.stop().await;
}

fn pem_pair(name: &std::path::Path) -> (Chain, KeyPair) {
    let read = |end: &str| std::fs::read_to_string(name.with_extension(end)).unwrap();
    let key = KeyPair::from_pem(&read("key"), &SystemRandom::new()).unwrap();
    (Chain::from_pem(&read("pem"), &ChainLimits::default()).unwrap(), key)
}

/// The compromise of the issuing certificate of `old`, signed by the root.
fn stolen(place: &Place, old: &Chain) -> String {
    let suspect = Suspect::of(&old.certificates()[0], &ChainLimits::default()).unwrap();
    let act = RootAct::Compromised { key: suspect.certificate, spki: Some(suspect.key), from: 0 };
    let said =
        RootStatement { authority: "semgate.test".to_owned(), number: 1, act, reason: "stolen".to_owned() };
    let payload = Statement::Root(Box::new(said)).to_bytes().unwrap();
    let mut jws = MultiJws::draft(&payload, semgate_statement::statement::TYPE);
    let (root, key) = pem_pair(&place.path().join("offline/root"));
    jws.sign(&key, &root.thumbprint(), &SystemRandom::new()).unwrap();
    jws.to_text().unwrap()
}

/// Another issuing certificate of the same root, valid from then, in the place of the first.
fn issuing_from(place: &Place, from: u64) {
    let (chain, key) = pem_pair(&place.path().join("offline/root"));
    let (root, random) = (Issuer::from_parts(chain, key).unwrap(), SystemRandom::new());
    let profile = IssuingProfile::new("next", Family::Contexts, from);
    let next = root.issuing(&profile, KeyPair::generate(&random).unwrap(), &random).unwrap();
    let issuing = place.state().join("keys/context-issuing");
    std::fs::write(issuing.with_extension("pem"), next.chain().to_pem()).unwrap();
    std::fs::write(issuing.with_extension("key"), next.key().pem().unwrap()).unwrap();
}

/// The leaves that an authority makes are backdated; its issuing certificate may be younger than that.
#[tokio::test(flavor = "multi_thread")]
async fn an_issuing_certificate_of_this_second_serves_at_once_and_after_the_old_one_was_stolen() {
    let place = Place::new();
    let (old, _) = pem_pair(&place.state().join("keys/context-issuing"));
    issuing_from(&place, now());
    let running = place.start().await;
    let client = &running.client;
    let works = async |client: &Client, urn: &str| {
        let published = client.publish(&document(urn, "")).await;
        assert_eq!(published.status, StatusCode::CREATED, "{published:?}");
        let revoked = client.act(urn, "revoke").await;
        assert_eq!(revoked.status, StatusCode::CREATED, "{revoked:?}");
    };
    works(client, "urn:contexts:acme:v1.0").await;
    let said = client.post("/v1/trust", "application/jose+json", &stolen(&place, &old)).await;
    assert_eq!(said.status, StatusCode::CREATED, "{said:?}");
    works(client, "urn:contexts:acme:v2.0").await;
    assert_eq!(running.admin("/readyz").await.0, StatusCode::OK);
    verify_log(&mut client.clone(), &place.follower_config(), now()).unwrap();
    running.stop().await;
    let running = place.start().await;
    works(&running.client, "urn:contexts:acme:v3.0").await;
    running.stop().await;
}

/// A signer is judged once a second; what the root says of it counts for the next document all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_stolen_signer_signs_nothing_more_in_the_same_second() {
    let place = Place::new();
    let running = place.start().await;
    let client = &running.client;
    assert_eq!(client.publish(&document("urn:contexts:acme:v1.0", "")).await.status, StatusCode::CREATED);
    let (minted, _) = pem_pair(&place.state().join("signers/acme"));
    assert_eq!(client.publish(&document("urn:contexts:acme:v2.0", "")).await.status, StatusCode::CREATED);
    let said = client.post("/v1/trust", "application/jose+json", &stolen(&place, &minted)).await;
    assert_eq!(said.status, StatusCode::CREATED, "{said:?}");
    let published = client.publish(&document("urn:contexts:acme:v3.0", "")).await;
    assert_eq!(published.status, StatusCode::CREATED, "{published:?}");
    assert_ne!(pem_pair(&place.state().join("signers/acme")).0, minted);
    running.stop().await;
}

/// A feed key that the root took back and that cannot be replaced signs heads that count for nobody, and the authority says so.
#[tokio::test(flavor = "multi_thread")]
async fn an_authority_whose_heads_count_for_nobody_is_not_ready() {
    let place = Place::new();
    issuing_from(&place, now() + 3600);
    let running = place.start().await;
    assert_eq!(running.admin("/readyz").await.0, StatusCode::OK);
    let refused = running.client.publish(&document("urn:contexts:acme:v1.0", "")).await;
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (503, "signer_unavailable"));
    assert!(refused.json()["detail"].as_str().unwrap().contains("issuing certificate"), "{refused:?}");
    let feed = pem_pair(&place.state().join("keys/feed")).0;
    let said = running.client.post("/v1/trust", "application/jose+json", &stolen(&place, &feed)).await;
    assert_eq!(said.status, StatusCode::CREATED, "{said:?}");
    let (status, why) = running.admin("/readyz").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(why.contains("no head is valid: the feed certificate"), "{why}");
    running.stop().await;
}

/// Issue 5: what could not be recorded is not done, not even once.
#[tokio::test]
async fn an_act_that_the_audit_log_cannot_take_is_not_carried_out_and_one_whose_caller_left_is_on_record() {
    let place = Place::new();
    let mut config = place.config();
    config.publishers = vec![semgate_authority::Publisher::of_everything(ADA)];
    let (link, file) = (place.path().join("audit.link"), place.path().join("audit.jsonl"));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    config.audit = link.clone();
    let running = place.start_with(config.clone()).await;
    let ada = running.client_of(&place, Some(ADA));
    let publish =
        async |minor: u32| ada.publish(&document(&format!("urn:contexts:acme.stock:v1.{minor}"), "")).await;
    assert_eq!(publish(0).await.status, 201);
    let (intended, allowed) = (&attempts(&config)[0], &attempts(&config)[1]);
    assert_eq!((&intended["outcome"], &allowed["outcome"]), (&"intended".into(), &"allowed".into()));
    assert_eq!(allowed["intended"], intended["n"]);
    assert_eq!((&intended["on"], &intended["by"]), (&"urn:contexts:acme.stock:v1.0".into(), &ADA.into()));
    // a volume that takes no more, which nobody found out yet
    point(&link, Path::new("/dev/full"));
    hangup();
    let mut refused = publish(0).await;
    for minor in 1.. {
        refused = publish(minor).await;
        if refused.status != 201 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (507, "storage_full"));
    let listed = ada.ok("/v1/contexts").await.json()["contexts"].as_array().unwrap().len();
    let recorded = attempts_in(&file).iter().filter(|line| line["outcome"] == "intended").count();
    assert_eq!(listed, recorded, "each that is published is on record, also the last one before it was full");
    // as soon as lines are taken again, so are acts
    point(&link, &file);
    hangup();
    let mut minor = 1000;
    while publish(minor).await.status != 201 {
        minor += 1;
        assert!(minor < 1600, "it does not go on");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    running.stop().await;
    let numbers: Vec<u64> = attempts_in(&file).iter().map(|line| line["n"].as_u64().unwrap()).collect();
    assert!(numbers.windows(2).all(|two| two[0] < two[1]), "{numbers:?}");
}

/// Lets a link lead elsewhere at once: a signal is for all authorities of this process, and an audit log that is not there is made.
fn point(link: &Path, to: &Path) {
    let next = link.with_extension("next");
    std::os::unix::fs::symlink(to, &next).unwrap();
    std::fs::rename(next, link).unwrap();
}

fn attempts_in(file: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
