//! Clicks in Slack.

use semgate_approvals::render::{Choice, Click};

use super::*;

fn value(hold: &Hold, choice: Choice) -> String {
    Click { id: hold.id.clone(), digest: hold.digest, choice }.to_string()
}

async fn clicked(world: &World, user: &str, value: &str) -> Answered {
    call(world.router(), click(user, value, unix_now(), SECRET)).await
}

#[test]
fn a_signed_click_approves_with_the_proof_of_slack() {
    with_world("", people(), |world| async move {
        let hold = world.payment(12_000).await;
        let answer = clicked(&world, "U024BOB", &value(&hold, Choice::Approve)).await;
        assert_eq!(answer.status, 200);
        let text: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(text["response_type"], "ephemeral");
        assert_eq!(text["text"], format!("human://bob.sre approved request {}", hold.id));
        assert_eq!(world.state(&hold.id), "APPROVED");
        let decision = world.desk.hold(&hold.id).unwrap().decisions[0].clone();
        assert_eq!((decision.human_id.as_str(), json!(decision.factor)), ("human://bob.sre", json!("slack")));
        assert_eq!(decision.factor.assurance(), Assurance::Medium);
    });
}

#[test]
fn a2h_attack_click_replayed() {
    with_world("", people(), |world| async move {
        // two of two must agree, so the request is still open when the first click comes again
        let hold = world.hold(payment(1), |demand| demand.quorum = 2).await;
        let (at, value) = (unix_now(), value(&hold, Choice::Approve));
        let again = || click("U024BOB", &value, at, SECRET);
        assert_eq!(call(world.router(), again()).await.status, 200);
        assert_eq!(call(world.router(), again()).await.status, 401, "the same signature counts once");
        assert_eq!(world.decided(), 1);
        // signed once more, the same person still counts once
        let answer = call(world.router(), click("U024BOB", &value, at.saturating_sub(1), SECRET)).await;
        assert!(answer.body.contains("Nothing was decided: this person has decided this request before"));
        assert_eq!((world.decided(), world.state(&hold.id).as_str()), (1, "SEEN"));
    });
}

#[test]
fn a2h_attack_click_by_another_user() {
    let mut people = people();
    people[1].capabilities.clear();
    with_world("", people, |world| async move {
        let hold = world.payment(1).await;
        let approve = value(&hold, Choice::Approve);
        for (user, why) in [
            ("U666", "no human card names your slack user"),
            ("u024bob", "no human card names your slack user"),
            ("human://bob.sre", "no human card names your slack user"),
            ("U024ALICE", "this person may not decide this request"),
        ] {
            let answer = clicked(&world, user, &approve).await;
            assert_eq!(answer.status, 200, "{user}");
            assert!(answer.body.contains(&format!("Nothing was decided: {why}")), "{}", answer.body);
        }
        assert_eq!((world.decided(), world.state(&hold.id).as_str()), (0, "PENDING"));
    });
}

#[test]
fn a2h_attack_stale_slack_signature() {
    with_world("", people(), |world| async move {
        let hold = world.payment(1).await;
        let (now, approve) = (unix_now(), value(&hold, Choice::Approve));
        for at in [now - 301, now + 330, 0] {
            assert_eq!(
                call(world.router(), click("U024BOB", &approve, at, SECRET)).await.status,
                401,
                "{at}"
            );
        }
        for secret in ["another secret of sixteen", ""] {
            let answer = call(world.router(), click("U024BOB", &approve, now, secret)).await;
            assert_eq!(answer.status, 401);
        }
        let mut unsigned = click("U024BOB", &approve, now, SECRET);
        unsigned.headers_mut().remove("x-slack-signature");
        assert_eq!(call(world.router(), unsigned).await.status, 401);
        let mut doubled = click("U024BOB", &approve, now, SECRET);
        doubled.headers_mut().append("x-slack-request-timestamp", now.into());
        assert_eq!(call(world.router(), doubled).await.status, 401);
        let mut moved = click("U024BOB", &approve, now, SECRET);
        moved.headers_mut().insert("x-slack-request-timestamp", (now - 1).into());
        assert_eq!(call(world.router(), moved).await.status, 401, "the time is signed");
        assert_eq!((world.decided(), world.state(&hold.id).as_str()), (0, "PENDING"));
        assert_eq!(call(world.router(), click("U024BOB", &approve, now - 200, SECRET)).await.status, 200);
        assert_eq!(world.decided(), 1);
    });
}

#[test]
fn a2h_attack_option_never_offered() {
    with_world("", people(), |world| async move {
        let options = ["deployment.yaml (Production)", "deployment-canary.yaml (Canary)"];
        let hold = world.hold(clarification(&options), |_| {}).await;
        for (choice, why) in [
            (Choice::Option(2), "this option was not offered"),
            (Choice::Approve, "the option is not one of those that were offered"),
        ] {
            let answer = clicked(&world, "U024BOB", &value(&hold, choice)).await;
            assert!(answer.body.contains(why), "{}", answer.body);
        }
        assert_eq!(world.decided(), 0);
        clicked(&world, "U024BOB", &value(&hold, Choice::Option(0))).await;
        let hold = world.desk.hold(&hold.id).unwrap();
        assert_eq!(hold.decisions[0].selected_option.as_deref(), Some(options[0]));
        let plain = world.payment(1).await;
        let answer = clicked(&world, "U024BOB", &value(&plain, Choice::Option(0))).await;
        assert!(answer.body.contains("this request has no options"), "{}", answer.body);
    });
}

#[test]
fn a2h_attack_a_click_on_the_card_of_another_action() {
    with_world("", people(), |world| async move {
        let (small, large) = (world.payment(1).await, world.payment(1_000_000).await);
        let click = Click { id: large.id.clone(), digest: small.digest, choice: Choice::Approve };
        let answer = clicked(&world, "U024BOB", &click.to_string()).await;
        assert!(answer.body.contains("the digest is not that of this request"), "{}", answer.body);
        assert_eq!(world.decided(), 0);
    });
}

#[test]
fn a_click_does_not_replace_a_certificate_or_a_reason() {
    with_world("", people(), |world| async move {
        let strong = world.hold(payment(1), |demand| demand.assurance = Assurance::High).await;
        let answer = clicked(&world, "U024BOB", &value(&strong, Choice::Approve)).await;
        assert!(answer.body.contains("this request needs a stronger proof"), "{}", answer.body);
        let reasoned = world.hold(payment(2), |demand| demand.reason = ReasonRule::Deny).await;
        let answer = clicked(&world, "U024BOB", &value(&reasoned, Choice::Deny)).await;
        assert!(answer.body.contains("this decision needs a reason"), "{}", answer.body);
        assert_eq!(world.decided(), 0);
    });
}

#[test]
fn other_payloads_are_refused_after_the_signature() {
    with_world("", people(), |world| async move {
        let signed = |body: &str| {
            let (at, key) = (unix_now(), hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes()));
            let tag = hmac::sign(&key, format!("v0:{at}:{body}").as_bytes());
            Request::post("/slack/actions")
                .header("x-slack-request-timestamp", at.to_string())
                .header("x-slack-signature", format!("v0={}", data_encoding::HEXLOWER.encode(tag.as_ref())))
                .body(Body::from(body.to_owned()))
                .unwrap()
        };
        for body in [
            "",
            "payload=",
            "payload={}",
            "payload=%7B%22type%22%3A%22view_submission%22%2C%22user%22%3A%7B%22id%22%3A%22U024BOB%22%7D%2C%22actions%22%3A%5B%5D%7D",
            "payload=%7B%22type%22%3A%22block_actions%22%2C%22user%22%3A%7B%22id%22%3A%22U666%22%2C%22id%22%3A%22U024BOB%22%7D%2C%22actions%22%3A%5B%5D%7D",
            "payload={}&payload={}",
        ] {
            assert_eq!(call(world.router(), signed(body)).await.status, 400, "{body}");
        }
        assert_eq!(world.decided(), 0);
    });
}
