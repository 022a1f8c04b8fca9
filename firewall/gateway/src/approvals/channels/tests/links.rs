//! Links to the confirmation page.

use semgate_approvals::{HumanId, Verdict, token_hash};

use super::*;

const TOKEN: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

async fn linked(world: &World, hold: &Hold, human: &str, verdict: Verdict) -> String {
    let token = super::super::fault::random_text().unwrap();
    let (id, human, hash) = (hold.id.clone(), HumanId::parse(human).unwrap(), token_hash(&token));
    world.desk.change(move |_, _| Ok(((), vec![Event::Linked { id, human, verdict, hash }]))).await.unwrap();
    format!("/decide/{token}")
}

/// The hidden fields of a page.
fn hidden(page: &str, name: &str) -> String {
    let start = format!("name=\"{name}\" value=\"");
    page.split_once(&start)
        .unwrap_or_else(|| panic!("no `{name}` in {page}"))
        .1
        .split('"')
        .next()
        .unwrap()
        .to_owned()
}

async fn visit(world: &World, path: &str) -> Answered {
    call(world.router(), request(Method::GET, path, &[])).await
}

async fn submit(world: &World, path: &str, page: &str, more: &[(&str, &str)]) -> Answered {
    let (form, digest) = (hidden(page, "form"), hidden(page, "digest"));
    let mut fields = vec![("form", form.as_str()), ("digest", digest.as_str())];
    fields.extend(more);
    call(world.router(), request(Method::POST, path, &fields)).await
}

#[test]
fn a_link_opens_a_page_that_asks_and_works_once() {
    with_world("", people(), |world| async move {
        let hold = world.payment(12_000).await;
        let path = linked(&world, &hold, "human://bob.sre", Verdict::Approved).await;
        let other = linked(&world, &hold, "human://bob.sre", Verdict::Denied).await;
        let page = visit(&world, &path).await;
        assert_eq!(page.status, 200);
        for shown in [
            "You answer as human://bob.sre.",
            "<dd>A large payment (p.cedar#large)</dd>",
            "12000",
            &hold.digest.to_string(),
        ] {
            assert!(page.body.contains(shown), "{shown} in {}", page.body);
        }
        for header in ["default-src 'none'; style-src 'sha256-", "no-store", "no-referrer", "nosniff", "DENY"]
        {
            assert!(page.head.contains(header), "{header} in {}", page.head);
        }
        assert!(!page.body.contains("<script") && !page.body.contains("src=") && !page.body.contains("http"));
        let done = submit(&world, &path, &page.body, &[("reason", "  as agreed ")]).await;
        assert_eq!((done.status.as_u16(), world.state(&hold.id).as_str()), (200, "APPROVED"));
        let decision = world.desk.hold(&hold.id).unwrap().decisions[0].clone();
        assert_eq!(json!(decision.factor), json!("link"));
        assert_eq!(
            (decision.factor.assurance(), decision.feedback.as_deref()),
            (Assurance::Low, Some("as agreed"))
        );
        for path in [path, other] {
            assert_eq!(visit(&world, &path).await.status, 404, "both links are used up");
            assert_eq!(submit(&world, &path, &page.body, &[]).await.status, 404);
        }
        assert_eq!(world.decided(), 1);
    });
}

#[test]
fn a2h_attack_link_followed_by_a_scanner() {
    with_world("", people(), |world| async move {
        let hold = world.payment(1).await;
        let path = linked(&world, &hold, "human://bob.sre", Verdict::Approved).await;
        let person = visit(&world, &path).await;
        for method in [Method::GET, Method::HEAD, Method::GET, Method::OPTIONS, Method::PUT] {
            call(world.router(), request(method, &path, &[])).await;
        }
        // a scanner that submits forms blindly has no token of the form
        for fields in [vec![], vec![("reason", "x")], vec![("form", TOKEN), ("digest", "x")]] {
            let answer = call(world.router(), request(Method::POST, &path, &fields)).await;
            assert_eq!(answer.status, 409);
        }
        assert_eq!((world.decided(), world.state(&hold.id).as_str()), (0, "PENDING"));
        let done = submit(&world, &path, &person.body, &[]).await;
        assert_eq!((done.status.as_u16(), world.decided()), (200, 1), "the person's own form still works");
    });
}

#[test]
fn a_form_serves_once_and_only_at_its_own_link() {
    with_world("", people(), |world| async move {
        let (one, two) = (
            world.payment(1).await,
            world.hold(payment(2), |demand| demand.reason = ReasonRule::Always).await,
        );
        let first = linked(&world, &one, "human://bob.sre", Verdict::Approved).await;
        let second = linked(&world, &two, "human://bob.sre", Verdict::Approved).await;
        let (page, other) = (visit(&world, &first).await, visit(&world, &second).await);
        assert_eq!(
            submit(&world, &second, &page.body, &[("reason", "x")]).await.status,
            409,
            "the form of another link"
        );
        let again = submit(&world, &second, &other.body, &[]).await;
        assert_eq!(again.status, 422);
        assert!(again.body.contains("this decision needs a reason"));
        assert_eq!(
            submit(&world, &second, &other.body, &[("reason", "x")]).await.status,
            409,
            "a form used before"
        );
        assert_eq!(world.decided(), 0);
        assert_eq!(submit(&world, &second, &again.body, &[("reason", "x")]).await.status, 200);
        for (fields, status) in
            [(vec![("reason", "x"), ("reason", "y")], 400), (vec![("verdict", "APPROVED")], 400)]
        {
            assert_eq!(submit(&world, &first, &page.body, &fields).await.status, status);
        }
        let mut plain = request(Method::POST, &first, &[("form", &hidden(&page.body, "form"))]);
        plain.headers_mut().insert("content-type", "text/plain".parse().unwrap());
        assert_eq!(call(world.router(), plain).await.status, 400);
        assert_eq!(world.decided(), 1);
    });
}

#[test]
fn a_link_gives_only_the_answer_that_it_offered() {
    with_world("", people(), |world| async move {
        let options = ["<b>Production</b>", "Canary"];
        let hold = world.hold(clarification(&options), |_| {}).await;
        let deny = linked(&world, &hold, "human://bob.sre", Verdict::Denied).await;
        let answer = linked(&world, &hold, "human://bob.sre", Verdict::Approved).await;
        let page = visit(&world, &answer).await;
        assert!(!page.body.contains("<b>") && page.body.contains("&#60;b&#62;Production"), "{}", page.body);
        for option in ["2", "x", "-1"] {
            let wrong =
                submit(&world, &answer, &visit(&world, &answer).await.body, &[("option", option)]).await;
            assert_eq!(wrong.status, 422, "{option}");
        }
        let page = visit(&world, &answer).await;
        assert_eq!(submit(&world, &answer, &page.body, &[("option", "1")]).await.status, 200);
        let decided = world.desk.hold(&hold.id).unwrap().decisions[0].clone();
        assert_eq!(decided.selected_option.as_deref(), Some("Canary"));
        assert_eq!(visit(&world, &deny).await.status, 404);
    });
}

#[test]
fn a_link_survives_a_restart_and_only_its_hash_is_kept() {
    with_world("", people(), |world| async move {
        let hold = world.hold(payment(1), |demand| demand.quorum = 2).await;
        let bob = linked(&world, &hold, "human://bob.sre", Verdict::Denied).await;
        let alice = linked(&world, &hold, "human://alice.eng", Verdict::Approved).await;
        let journal = std::fs::read_to_string(world.dir.path().join("approvals.jsonl")).unwrap();
        assert!(!journal.contains(bob.trim_start_matches("/decide/")) && journal.contains("\"linked\""));
        // two restarts: from the events, and from the snapshot of the first restart
        let world = Rc::new(world.again(people()));
        let world = world.again(people());
        let page = visit(&world, &alice).await;
        assert_eq!(submit(&world, &alice, &page.body, &[]).await.status, 200);
        let page = visit(&world, &bob).await;
        assert_eq!(page.status, 200, "the other person's link is not used up");
        assert_eq!(submit(&world, &bob, &page.body, &[]).await.status, 200);
        assert_eq!(world.state(&hold.id), "DENIED");
        assert_eq!(visit(&world, &bob).await.status, 404);
    });
}

#[test]
fn a_link_never_decides_for_somebody_who_may_not() {
    let mut people = people();
    people[1].operates.insert("spiffe://semgate.test/agent/retailer-7".to_owned());
    with_world("", people, |world| async move {
        let hold = world.payment(1).await;
        let path = linked(&world, &hold, "human://alice.eng", Verdict::Approved).await;
        let page = visit(&world, &path).await;
        let refused = submit(&world, &path, &page.body, &[]).await;
        assert_eq!(refused.status, 409);
        assert!(refused.body.contains("nobody approves a request of their own"), "{}", refused.body);
        for path in [format!("/decide/{TOKEN}"), "/decide/".to_owned(), "/decide/x%2Fy".to_owned()] {
            assert_eq!(visit(&world, &path).await.status, 404);
        }
        assert_eq!(world.decided(), 0);
    });
}
