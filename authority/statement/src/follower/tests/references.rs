//! Documents that refer to others: what is fetched for them, in what order, and what becomes of one whose reference does not hold.

use super::*;
use crate::context::ContextFault;
use semgate_contexts::DocumentFault;

fn document(short: &str) -> Vec<u8> {
    MemoryAuthority::document(short, "thing")
}

/// An authority with `money:v1.0` and `shop:v1.0`, which refers to it, and something else.
fn shop() -> MemoryAuthority {
    let mut authority = MemoryAuthority::new(START);
    authority.publish(&document("money:v1.0"));
    authority.publish(&document("else:v1.0"));
    let shop = authority.referring("shop:v1.0", &[("money:v1.0", "thing")]);
    authority.publish(&shop);
    authority
}

fn config(authority: &MemoryAuthority, lines: &[&str]) -> FollowerConfig {
    FollowerConfig { lines: Lines::parse(lines).unwrap(), ..authority.config() }
}

fn follow(authority: &mut MemoryAuthority, lines: &[&str]) -> Follower {
    let mut follower = Follower::without_memory(config(authority, lines));
    authority.follow(&mut follower).unwrap();
    follower
}

fn loaded(follower: &Follower, short: &str) -> bool {
    follower.view().context(&urn(short)).is_some()
}

fn of_reference(follower: &Follower, short: &str, now: u64) -> Option<Standing> {
    let view = follower.view();
    view.reference(&urn(short)).map(|loaded| view.standing_of(loaded, now))
}

/// The one context that failed, and why.
fn broken(follower: &mut Follower, short: &str, reference: &str, why: ReferenceFault) {
    only_report(follower, short, FollowFault::Reference { urn: urn(reference), why });
    let view = follower.view();
    let fault = view.loaded(&urn(short)).unwrap().fault.clone().unwrap();
    assert!(fault.contains(urn(reference).as_str()), "{fault}");
    assert!(!loaded(follower, short));
}

#[test]
fn a_reference_in_a_line_that_is_not_followed_is_loaded_proved_and_followed_as_a_reference_alone() {
    let mut authority = shop();
    let mut follower = follow(&mut authority, &["shop"]);
    assert_eq!(follower.reports(), vec![]);
    assert!(loaded(&follower, "shop:v1.0"));
    let view = follower.view();
    assert_eq!(view.context(&urn("shop:v1.0")).unwrap().references().len(), 1);
    assert_eq!(view.standing(&urn("money:v1.0"), START), Standing::UnknownAuthority);
    assert!(view.context(&urn("money:v1.0")).is_none() && view.contexts().count() == 1);
    assert_eq!(of_reference(&follower, "money:v1.0", START), Some(Standing::Valid));
    assert_eq!(of_reference(&follower, "money:v1.0", START + 600), Some(Standing::Stale));
    assert_eq!(of_reference(&follower, "else:v1.0", START), None);
    let documents = authority.requests.iter().filter(|path| path.contains("by-digest")).count();
    assert_eq!(documents, 2, "and nothing that nobody refers to: {:?}", authority.requests);
    authority.now += 1;
    authority.change(Act::Revoke, "money:v1.0");
    authority.follow(&mut follower).unwrap();
    assert_eq!(of_reference(&follower, "money:v1.0", authority.now), Some(Standing::Revoked));
    assert_eq!(standing(&follower, "shop:v1.0", authority.now), Standing::Valid);
}

#[test]
fn documents_are_fetched_in_the_order_of_the_log_whatever_their_names() {
    let mut authority = MemoryAuthority::new(START);
    authority.publish(&document("zebra:v1.0"));
    for (name, to) in [("middle:v1.0", "zebra:v1.0"), ("apple:v1.0", "middle:v1.0")] {
        let concept = if to.starts_with("zebra") { "thing" } else { "pair" };
        let document = authority.referring(name, &[(to, concept)]);
        authority.publish(&document);
    }
    let mut follower = follow(&mut authority, &["*"]);
    assert_eq!(follower.reports(), vec![]);
    let digest = |short: &str| authority.replay.published(&urn(short)).unwrap().digest.to_string();
    let asked: Vec<_> =
        authority.requests.iter().filter_map(|p| p.strip_prefix("/v1/contexts/by-digest/")).collect();
    assert_eq!(asked, [digest("zebra:v1.0"), digest("middle:v1.0"), digest("apple:v1.0")]);
    assert_eq!(follower.view().context(&urn("apple:v1.0")).unwrap().references().len(), 2);
}

#[test]
fn references_of_references_are_followed_each_fetched_once() {
    let mut authority = shop();
    let mall = authority.referring("mall:v1.0", &[("shop:v1.0", "pair"), ("else:v1.0", "thing")]);
    authority.publish(&mall);
    let mut follower = follow(&mut authority, &["mall"]);
    assert_eq!(follower.reports(), vec![]);
    assert!(loaded(&follower, "mall:v1.0"));
    for reference in ["shop:v1.0", "money:v1.0", "else:v1.0"] {
        assert_eq!(of_reference(&follower, reference, START), Some(Standing::Valid), "{reference}");
    }
    assert_eq!(authority.requests.iter().filter(|path| path.contains("by-digest")).count(), 4);
    assert_eq!(authority.requests.iter().filter(|path| *path == "/v1/contexts").count(), 1);
}

#[test]
fn a_reference_to_what_was_never_published_leaves_the_one_that_refers_to_it_failed() {
    for lines in [&["*"][..], &["shop", "other"]] {
        let mut authority = MemoryAuthority::new(START);
        authority.pretend(&document("money:v1.0"));
        let shop = authority.referring("shop:v1.0", &[("money:v1.0", "thing")]);
        authority.publish(&shop);
        authority.publish(&document("other:v1.0"));
        let mut follower = follow(&mut authority, lines);
        broken(&mut follower, "shop:v1.0", "money:v1.0", ReferenceFault::Unpublished);
        assert!(loaded(&follower, "other:v1.0"), "the rest goes on");
    }
}

#[test]
fn a_reference_to_what_was_published_later_or_with_another_digest_does_not_hold() {
    let mut authority = MemoryAuthority::new(START);
    authority.pretend(&document("money:v1.0"));
    let shop = authority.referring("shop:v1.0", &[("money:v1.0", "thing")]);
    let mut other = authority.clone();
    authority.publish(&shop);
    authority.publish(&document("money:v1.0"));
    for lines in [&["*"][..], &["shop"]] {
        let mut follower = follow(&mut authority, lines);
        broken(&mut follower, "shop:v1.0", "money:v1.0", ReferenceFault::PublishedLater);
    }
    // money is published as another document than the one that the shop means
    let context = other.checked(&shop);
    other.publish(&MemoryAuthority::document("money:v1.0", "coin"));
    let signer = other.signer(context.urn().line());
    other.publish_by(&context, &signer, &signer);
    let mut follower = follow(&mut other, &["shop"]);
    broken(&mut follower, "shop:v1.0", "money:v1.0", ReferenceFault::Digest);
    let mut follower = follow(&mut other, &["*"]);
    let fault = DocumentFault::ReferenceDigest { urn: urn("money:v1.0") };
    only_report(&mut follower, "shop:v1.0", FollowFault::Document(ContextFault::Document(fault)));
}

#[test]
fn a_document_whose_reference_failed_is_tried_again_with_it() {
    for lines in [&["*"][..], &["shop"]] {
        let mut authority = shop();
        let digest = authority.replay.published(&urn("money:v1.0")).unwrap().digest;
        let path = format!("/v1/contexts/by-digest/{digest}");
        authority.serve_instead(&path, "{}");
        let mut follower = follow(&mut authority, lines);
        let reports = follower.reports();
        let failed: Vec<_> = reports.iter().map(|r| (r.urn.clone().unwrap(), r.fault.as_str())).collect();
        assert_eq!(failed, [(urn("money:v1.0"), "document"), (urn("shop:v1.0"), "reference")]);
        let why = follower.view().loaded(&urn("shop:v1.0")).unwrap().fault.clone().unwrap();
        assert!(why.contains("`urn:contexts:money:v1.0`, which the document refers to, failed: "), "{why}");
        authority.lies.clear();
        authority.now += 60;
        authority.follow(&mut follower).unwrap();
        assert!(loaded(&follower, "shop:v1.0"), "{:?}", follower.reports());
    }
}

#[test]
fn a_reference_that_shows_when_nothing_else_is_new_is_looked_up_in_the_listing() {
    let mut authority = shop();
    let digest = authority.replay.published(&urn("shop:v1.0")).unwrap().digest;
    authority.serve_instead(&format!("/v1/contexts/by-digest/{digest}"), "{}");
    let mut follower = follow(&mut authority, &["shop"]);
    assert_eq!(follower.reports().len(), 1);
    authority.lies.clear();
    authority.requests.clear();
    authority.now += 60;
    authority.follow(&mut follower).unwrap();
    assert_eq!(follower.reports(), vec![]);
    assert!(loaded(&follower, "shop:v1.0"));
    assert_eq!(authority.requests.iter().filter(|path| *path == "/v1/contexts").count(), 1);
}

#[test]
fn attack_a_chain_of_references_past_the_limit_is_given_up() {
    let mut authority = shop();
    for n in 1..6 {
        let before = if n == 1 { "shop:v1.0".to_owned() } else { format!("chain{}:v1.0", n - 1) };
        let document = authority.referring(&format!("chain{n}:v1.0"), &[(&before, "pair")]);
        authority.publish(&document);
    }
    let mut config = config(&authority, &["chain5"]);
    config.documents.max_references = 3;
    let mut follower = Follower::without_memory(config);
    authority.follow(&mut follower).unwrap();
    assert!(!loaded(&follower, "chain5:v1.0"));
    let why = follower.view().loaded(&urn("chain5:v1.0")).unwrap().fault.clone().unwrap();
    assert!(why.contains("more than 3 referenced contexts"), "{why}");
    assert_eq!(authority.requests.iter().filter(|path| path.contains("by-digest")).count(), 4);
}

#[test]
fn attack_nothing_is_fetched_for_a_document_that_is_not_the_published_one() {
    let mut authority = shop();
    let digest = authority.replay.published(&urn("else:v1.0")).unwrap().digest;
    let shop = authority.replay.published(&urn("shop:v1.0")).unwrap().digest;
    let poison = authority.documents[&shop].clone();
    authority.serve_instead(&format!("/v1/contexts/by-digest/{digest}"), poison);
    let mut follower = follow(&mut authority, &["else"]);
    only_report(&mut follower, "else:v1.0", FollowFault::Digest);
    assert_eq!(of_reference(&follower, "money:v1.0", START), None);
}

#[test]
fn a_restart_has_the_reference_too_and_forgets_what_nothing_refers_to_any_more() {
    let mut authority = shop();
    let dir = tempfile::tempdir().unwrap();
    let mut follower = Follower::open(authority.config(), dir.path(), START).unwrap();
    authority.follow(&mut follower).unwrap();
    let open = |lines: &[&str]| Follower::open(config(&authority, lines), dir.path(), START).unwrap();
    let mut narrow = open(&["shop"]);
    assert_eq!(narrow.reports(), vec![]);
    assert!(loaded(&narrow, "shop:v1.0"));
    assert_eq!(of_reference(&narrow, "money:v1.0", START), Some(Standing::Valid));
    assert_eq!(of_reference(&narrow, "else:v1.0", START), None);
    // it is on disk because it is referred to, also after everything else was put away
    authority.now += 10;
    authority.renew();
    authority.follow(&mut narrow).unwrap();
    let left = std::fs::read_dir(dir.path().join("contexts")).unwrap().count();
    assert_eq!(left, 2);
    let mut again = Follower::open(config(&authority, &["shop"]), dir.path(), authority.now).unwrap();
    assert_eq!(again.reports(), vec![]);
    assert!(loaded(&again, "shop:v1.0"));
}

#[test]
fn a_restart_without_the_document_that_is_referred_to_fetches_it_and_goes_on() {
    for lines in [&["*"][..], &["shop"]] {
        let mut authority = shop();
        let dir = tempfile::tempdir().unwrap();
        let mut follower = Follower::open(config(&authority, lines), dir.path(), START).unwrap();
        authority.follow(&mut follower).unwrap();
        let digest = authority.replay.published(&urn("money:v1.0")).unwrap().digest;
        std::fs::write(dir.path().join("contexts").join(digest.hex()), b"damaged").unwrap();
        let mut again = Follower::open(config(&authority, lines), dir.path(), START).unwrap();
        let faults: Vec<_> = again.reports().into_iter().map(|report| report.fault).collect();
        assert_eq!(faults, [FollowFault::Damaged { part: "contexts" }]);
        assert!(!loaded(&again, "shop:v1.0"));
        authority.follow(&mut again).unwrap();
        assert_eq!(again.reports(), vec![]);
        assert!(loaded(&again, "shop:v1.0"));
    }
}

#[test]
fn a_reference_that_was_seen_revoked_in_a_refused_head_stays_revoked_after_a_restart() {
    let mut authority = shop();
    let dir = tempfile::tempdir().unwrap();
    let mut follower = Follower::open(config(&authority, &["shop"]), dir.path(), START).unwrap();
    authority.follow(&mut follower).unwrap();
    authority.now += 1;
    authority.change(Act::Revoke, "money:v1.0");
    authority.floor("else", "v1.0");
    authority.serve_instead("/v1/floors", "{}");
    assert!(authority.follow(&mut follower).is_err());
    assert_eq!(of_reference(&follower, "money:v1.0", authority.now), Some(Standing::Revoked));
    let again = Follower::open(config(&authority, &["shop"]), dir.path(), authority.now).unwrap();
    assert_eq!(of_reference(&again, "money:v1.0", authority.now), Some(Standing::Revoked));
}
