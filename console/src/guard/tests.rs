//! Tests of `guard`, through the router.

use super::*;
use crate::tests::Bed;
use axum::body::Body;
use http::Request;

const ACT: &str = "/standing/revoke";
const FORM: &str = "urn=urn%3Acontexts%3Apayment%3Av1.1&reason=because&sure=yes";

fn is_refused(got: &crate::tests::Got) -> bool {
    got.status() == 403 && got.text.contains("The form was refused")
}

#[tokio::test]
async fn no_page_opens_without_a_session() {
    let bed = Bed::new();
    for row in crate::roles::TABLE.iter().filter(|row| matches!(row.access, Access::Roles(..))) {
        let path = row.path.replace(['{', '}'], "x");
        let got = match row.verb {
            Verb::Get => bed.get(&path, "none").await,
            Verb::Post => bed.post(&path, "none", FORM).await,
        };
        match row.verb {
            Verb::Get => {
                assert!(got.status() == 303 && got.header(header::LOCATION).starts_with("/login"), "{path}");
            }
            Verb::Post => assert_eq!(got.status(), 401, "{path}"),
        }
    }
}

#[tokio::test]
async fn attack_a_form_of_another_origin_is_refused() {
    let bed = Bed::new();
    let (cookie, csrf) = bed.session("bob.sre");
    let form = format!("{FORM}&csrf={csrf}");
    for origin in
        ["https://evil.example", "null", "https://127.0.0.1:9480.evil.example", "http://127.0.0.1:9480"]
    {
        let mut request = bed.form(ACT, &cookie, &form);
        request.headers_mut().insert(header::ORIGIN, origin.parse().unwrap());
        assert!(is_refused(&bed.send(request, None).await), "{origin}");
    }
    let mut request = bed.form(ACT, &cookie, &form);
    request.headers_mut().remove(header::ORIGIN);
    assert!(is_refused(&bed.send(request, None).await), "no origin");
    let mut request = bed.form(ACT, &cookie, &form);
    request.headers_mut().append(header::ORIGIN, bed.app.origin.parse().unwrap());
    assert!(is_refused(&bed.send(request, None).await), "two origins");
    assert!(bed.audited().is_empty(), "nothing was tried");
}

#[tokio::test]
async fn attack_a_form_without_the_token_of_its_session_is_refused() {
    let bed = Bed::new();
    let (cookie, csrf) = bed.session("bob.sre");
    let (_, other) = bed.session("operator");
    for shown in ["", "csrf=", "csrf=AAAA", &format!("csrf={other}")] {
        let got = bed.post(ACT, &cookie, &format!("{FORM}&{shown}")).await;
        assert!(is_refused(&got), "`{shown}`: {}", got.status());
    }
    // the right one reaches the authority, which does not run
    let got = bed.post(ACT, &cookie, &format!("{FORM}&csrf={csrf}")).await;
    assert_eq!(got.status(), 502, "{}", got.text);
    let outcomes: Vec<_> = bed.audited().iter().map(|line| line["outcome"].clone()).collect();
    assert_eq!(outcomes, ["intended", "no_answer"]);
}

#[tokio::test]
async fn attack_a_stolen_cookie_of_a_certificate_session_opens_nothing_without_the_certificate() {
    let bed = Bed::new();
    let (cookie, _) = bed.session_by("bob.sre", Factor::Certificate);
    let ask = || {
        let request = Request::get("/approvals").header(header::COOKIE, format!("{COOKIE}={cookie}"));
        request.body(Body::empty()).unwrap()
    };
    assert_eq!(bed.send(ask(), None).await.status(), 303);
    let other = bed.peer("spiffe://semgate.test/human/operator");
    assert_eq!(bed.send(ask(), Some(other)).await.status(), 303);
    let own = bed.peer("spiffe://semgate.test/human/bob.sre");
    assert_eq!(bed.send(ask(), Some(own)).await.status(), 200);
}

#[tokio::test]
async fn attack_two_cookies_are_no_session() {
    let bed = Bed::new();
    let (cookie, _) = bed.session("bob.sre");
    let request = Request::get("/").header(header::COOKIE, format!("{COOKIE}={cookie}; {COOKIE}=x"));
    assert_eq!(bed.send(request.body(Body::empty()).unwrap(), None).await.status(), 303);
}

#[tokio::test]
async fn each_role_opens_exactly_its_rows() {
    let bed = Bed::new();
    for name in ["viewer", "auditor", "operator", "approver"] {
        let (cookie, csrf) = bed.session(name);
        let held = bed.app.sessions().of(&cookie, now(), true).unwrap().person.roles.clone();
        for row in crate::roles::TABLE {
            if matches!(row.access, Access::Roles(Page::Logout, _) | Access::Open(_)) {
                continue;
            }
            let path = row.path.replace(['{', '}'], "x");
            let got = match row.verb {
                Verb::Get => bed.get(&path, &cookie).await,
                Verb::Post => bed.post(&path, &cookie, &format!("csrf={csrf}")).await,
            };
            let turned = got.status() == 403 && got.text.contains("None of your roles");
            assert_eq!(!turned, admits(row.access, &held), "{name} {:?} {path}: {}", row.verb, got.status());
        }
    }
}

#[tokio::test]
async fn forms_are_closed_and_bounded() {
    let bed = Bed::new();
    let (cookie, csrf) = bed.session("bob.sre");
    let twice = bed.post(ACT, &cookie, &format!("csrf={csrf}&csrf={csrf}")).await;
    assert_eq!(twice.status(), 422);
    let large = format!("csrf={csrf}&reason={}", "x".repeat(MAX_FORM));
    assert_eq!(bed.post(ACT, &cookie, &large).await.status(), 413);
    let mut json = bed.form(ACT, &cookie, "{}");
    json.headers_mut().insert(header::CONTENT_TYPE, "application/json".parse().unwrap());
    assert_eq!(bed.send(json, None).await.status(), 415);
}

#[tokio::test]
async fn a_link_logs_in_once_by_a_form_and_never_by_a_get() {
    let bed = Bed::new();
    let person = bed.app.human("human://bob.sre").unwrap();
    let secret = bed.app.sessions().link(person, now()).unwrap();
    for _ in 0..2 {
        let shown = bed.get(&format!("/login?link={secret}"), "none").await;
        assert_eq!((shown.status(), shown.header(header::SET_COOKIE)), (200, ""));
        assert!(shown.text.contains("This link logs you in once."), "{}", shown.text);
    }
    let mut other = bed.form("/login", "none", &format!("link={secret}"));
    other.headers_mut().insert(header::ORIGIN, "https://evil.example".parse().unwrap());
    assert_eq!(bed.send(other, None).await.status(), 403);
    let begun = bed.post("/login", "none", &format!("link={secret}")).await;
    assert_eq!((begun.status(), begun.header(header::LOCATION)), (303, "/"));
    let cookie = begun.header(header::SET_COOKIE);
    for part in [COOKIE, "; Secure", "; HttpOnly", "; SameSite=Strict", "; Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Domain"), "{cookie}");
    let again = bed.post("/login", "none", &format!("link={secret}")).await;
    assert_eq!((again.status(), again.header(header::SET_COOKIE)), (403, ""));
    let value = cookie.split(['=', ';']).nth(1).unwrap();
    assert_eq!(bed.get("/approvals", value).await.status(), 200);
    let outcomes: Vec<_> = bed.audited().iter().map(|line| line["outcome"].clone()).collect();
    assert_eq!(outcomes, ["done", "refused"]);
}

#[tokio::test]
async fn a_certificate_logs_in_whom_it_names_and_nobody_else() {
    let bed = Bed::new();
    let stranger = bed.peer("spiffe://semgate.test/agent/retailer-7");
    assert_eq!(bed.send(bed.form("/login", "none", ""), Some(stranger)).await.status(), 403);
    assert_eq!(bed.send(bed.form("/login", "none", ""), None).await.status(), 403);
    let own = bed.peer("spiffe://semgate.test/human/approver");
    let begun = bed.send(bed.form("/login", "none", ""), Some(own)).await;
    assert_eq!((begun.status(), begun.header(header::LOCATION)), (303, "/approvals"));
}

#[tokio::test]
async fn logout_ends_the_session() {
    let bed = Bed::new();
    let (cookie, csrf) = bed.session("viewer");
    assert_eq!(bed.post("/logout", &cookie, &format!("csrf={csrf}")).await.status(), 303);
    assert_eq!(bed.get("/", &cookie).await.header(header::LOCATION), "/login");
}

#[tokio::test]
async fn a_login_leads_to_the_wanted_page_of_this_console_and_to_no_other() {
    let bed = Bed::new();
    let wanted = bed.get("/approvals/7?gateway=one", "none").await;
    assert_eq!(wanted.header(header::LOCATION), "/login?to=%2Fapprovals%2F7%3Fgateway%3Done");
    for (to, expected) in [
        ("%2Fapprovals%2F7", "/approvals/7"),
        ("https%3A%2F%2Fevil.example", "/"),
        ("%2F%2Fevil.example", "/"),
        ("%2F%5Cevil.example", "/"),
        ("%2Fa%0D%0Aset-cookie%3Ax", "/"),
    ] {
        let person = bed.app.human("human://bob.sre").unwrap();
        let secret = bed.app.sessions().link(person, now()).unwrap();
        let begun = bed.post("/login", "none", &format!("link={secret}&to={to}")).await;
        assert_eq!(begun.header(header::LOCATION), expected, "{to}");
    }
}

#[tokio::test]
async fn a_page_that_refreshes_itself_leaves_for_the_login_and_keeps_no_session_alive() {
    let bed = Bed::new();
    let mut request = Request::get("/").body(Body::empty()).unwrap();
    request.headers_mut().insert("hx-request", "true".parse().unwrap());
    let got = bed.send(request, None).await;
    assert_eq!((got.status(), got.head.headers["hx-redirect"].to_str().unwrap()), (401, "/login"));
}
