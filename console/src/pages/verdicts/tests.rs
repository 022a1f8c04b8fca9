//! Filters, and rows of hostile text.

use super::*;
use crate::feed::Verdict;

fn seen(direction: &str, sender: &str, receiver: &str, code: Option<&str>) -> Seen {
    let verdict = Verdict {
        time: 1_700_000_000,
        n: 1,
        decision_id: "abcdefghijklmnopqrstuvwxy2".to_owned(),
        direction: direction.to_owned(),
        verdict: if code.is_some() { "refused" } else { "allowed" }.to_owned(),
        code: code.map(str::to_owned),
        sender: Some(sender.to_owned()),
        receiver: Some(receiver.to_owned()),
        protocol: Some("l8".to_owned()),
        performative: Some("INFORM".to_owned()),
        context: Some("urn:contexts:payment:v1.1".to_owned()),
        concepts: vec!["transfer".to_owned()],
        others: 0,
    };
    Seen { number: 1, gateway: "east".into(), verdict }
}

fn filter(gateway: &str, route: &str, sender: &str, code: &str) -> Filter {
    let [gateway, route, sender, code] = [gateway, route, sender, code].map(str::to_owned);
    Filter { gateway, route, sender, code }
}

#[test]
fn a_filter_fits_by_gateway_route_sender_and_code() {
    let refused = seen("request", "spiffe://a/retailer", "spiffe://a/seller", Some("policy_denied"));
    let reply = seen("reply", "spiffe://a/seller", "spiffe://a/retailer", None);
    for fitting in [
        Filter::default(),
        filter("east", "", "", ""),
        filter("", "l8 spiffe://a/seller", "retailer", ""),
        filter("", "", "", "policy_denied"),
        filter("", "", "", "refused"),
    ] {
        assert!(fitting.fits(&refused), "{fitting:?}");
    }
    for other in [
        filter("west", "", "", ""),
        filter("", "l8 spiffe://a/retailer", "", ""),
        filter("", "", "buyer", ""),
        filter("", "", "", "allowed"),
        filter("", "", "", "schema_violation"),
    ] {
        assert!(!other.fits(&refused), "{other:?}");
    }
    assert!(filter("", "l8 spiffe://a/seller", "seller", "allowed").fits(&reply));
}

#[test]
fn a_filter_is_the_same_after_a_link() {
    let hostile = filter("e&st", "l8 a", "\"><script>", "");
    assert_eq!(hostile.query(), "gateway=e%26st&route=l8+a&sender=%22%3E%3Cscript%3E");
    assert_eq!(Filter::default().query(), "");
}

#[test]
fn attack_an_agent_writes_html_into_a_row() {
    let hostile = "<script>alert(1)</script>\u{202E}";
    let mut seen = seen("request", hostile, hostile, None);
    seen.verdict.concepts = vec![hostile.to_owned()];
    (seen.verdict.performative, seen.verdict.context) = (Some(hostile.to_owned()), Some(hostile.to_owned()));
    (seen.verdict.decision_id, seen.verdict.protocol) = (hostile.to_owned(), Some(hostile.to_owned()));
    let seen = Arc::new(seen);
    for linked in [true, false] {
        let row = RowPage { row: Row { seen: Arc::clone(&seen), linked } }.render().unwrap();
        assert!(!row.contains("<script") && !row.contains('\u{202E}'), "{row}");
        assert!(
            row.contains("&lt;script&gt;") && row.contains("<span class=\"code\">\\u{202E}</span>"),
            "{row}"
        );
    }
}

#[tokio::test]
async fn attack_one_session_opens_live_pages_until_nobody_else_can() {
    let bed = crate::tests::Bed::new();
    let (cookie, _) = bed.session("viewer");
    let (other, _) = bed.session("bob.sre");
    let session = bed.app.sessions().of(&cookie, crate::clock::now(), true).unwrap();
    let open: Vec<_> = std::iter::from_fn(|| Arc::clone(&session.streams).try_acquire_owned().ok()).collect();
    assert_eq!(open.len(), 4);
    assert_eq!(bed.get("/verdicts/stream?after=0", &cookie).await.status(), 503);
    assert_eq!(bed.get("/verdicts/stream?after=0", &other).await.status(), 200);
    drop(open);
    assert_eq!(bed.get("/verdicts/stream?after=0", &cookie).await.status(), 200);
}
