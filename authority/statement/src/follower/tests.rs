use super::*;
use crate::format::FormatFault;
use crate::head::HeadFault;
use crate::jws::{JwsFault, SigningIdentity};
use crate::statement::{Act, Statement, StatementFault};
use crate::status::Status;
use crate::testing::{Keys, MemoryAuthority, START};
use crate::tiles::ProofFault;
use crate::view::Standing;
use semgate_certs::{ChainFault, KeyPair, LeafProfile, LineScope, Usage};
use semgate_contexts::{ContextUrn, Digest, Line, Version};

mod attacks;
mod broken;
mod delta;
mod disk;
mod fuzz;
mod later;
mod memory_bounds;
mod poison;
mod references;
mod root;
mod saved_scan;
mod scan;
mod unlisted;
mod witnesses;

/// Contexts of the shipped library, which the log of [`followed`] begins with.
fn shipped() -> usize {
    semgate_contexts::library::all().len()
}

fn urn(short: &str) -> ContextUrn {
    MemoryAuthority::urn(short)
}

fn standing(follower: &Follower, short: &str, now: u64) -> Standing {
    follower.view().standing(&urn(short), now)
}

/// A follower that has seen the library, and its authority ten seconds later.
fn followed() -> (MemoryAuthority, Follower) {
    let mut authority = MemoryAuthority::with_library(START);
    let follower = authority.follower();
    authority.now += 10;
    (authority, follower)
}

/// The follower refuses the round for this reason and keeps its view.
fn refuses(authority: &mut MemoryAuthority, follower: &mut Follower, fault: FollowFault) {
    let before = follower.view();
    assert_eq!(authority.follow(follower), Err(fault.clone()));
    assert!(Arc::ptr_eq(&before, &follower.view()), "the view changed");
    assert_eq!(follower.reports().last().map(|report| report.fault.clone()), Some(fault));
}

fn only_report(follower: &mut Follower, short: &str, fault: FollowFault) {
    let reports: Vec<_> = follower.reports().into_iter().map(|r| (r.urn, r.fault)).collect();
    assert_eq!(reports, vec![(Some(urn(short)), fault)]);
}

#[test]
fn a_first_round_loads_the_library_its_status_and_its_floors() {
    let mut authority = MemoryAuthority::with_library(START);
    let mut follower = Follower::without_memory(authority.config());
    assert_eq!(standing(&follower, "payment:v1.1", START), Standing::NotCovered);
    authority.follow(&mut follower).unwrap();
    assert_eq!(follower.reports(), vec![]);
    let view = follower.view();
    assert_eq!(view.contexts().count(), shipped());
    for loaded in view.contexts() {
        assert_eq!(view.standing(&loaded.urn, START), Standing::Valid, "{}", loaded.urn);
        assert_eq!(view.context(&loaded.urn).unwrap().digest(), &loaded.digest);
    }
    assert_eq!(view.floor(&Line::parse("payment").unwrap()), Some(Version::new(1, 1)));
    assert_eq!(view.size(), authority.tree.size());
    assert_eq!(view.root(), authority.tree.root());
    assert_eq!(standing(&follower, "payment:v9.0", START), Standing::NotCovered);
}

#[test]
fn all_seven_states_are_told_apart() {
    let mut authority = MemoryAuthority::with_library(START);
    authority.change(Act::Revoke, "payment:v1.0");
    authority.change(Act::Suspend, "payment:v1.1");
    authority.change(Act::Retire, "payment:v2.0");
    let mut config = authority.config();
    config.lines = Lines::parse(&["payment", "travel", "acme.*"]).unwrap();
    let mut follower = Follower::without_memory(config);
    authority.follow(&mut follower).unwrap();
    let late = START + 600;
    assert_eq!(standing(&follower, "travel:v2.1", START), Standing::Valid);
    assert_eq!(standing(&follower, "payment:v2.0", START), Standing::Deprecated);
    assert_eq!(standing(&follower, "payment:v1.1", START), Standing::Suspended);
    assert_eq!(standing(&follower, "payment:v1.0", START), Standing::Revoked);
    assert_eq!(standing(&follower, "travel:v2.1", late), Standing::Stale);
    assert_eq!(standing(&follower, "payment:v2.0", late), Standing::Stale);
    assert_eq!(standing(&follower, "payment:v1.0", late), Standing::Revoked);
    assert_eq!(standing(&follower, "acme.logistics:v1.0", START), Standing::NotCovered);
    assert_eq!(standing(&follower, "supplyChain:v1.0", START), Standing::UnknownAuthority);
    assert!(follower.view().contexts().all(|loaded| loaded.urn.line().as_str() != "supplyChain"));
}

#[test]
fn a_poll_that_finds_nothing_new_costs_one_304() {
    let mut authority = MemoryAuthority::with_library(START);
    authority.deltas = true;
    let mut follower = authority.follower();
    let before = follower.view();
    authority.requests.clear();
    authority.now += 5;
    authority.follow(&mut follower).unwrap();
    assert_eq!(authority.requests, [format!("/v1/feed/deltas/{}", authority.tree.size())]);
    assert!(Arc::ptr_eq(&before, &follower.view()));
}

#[test]
fn a_renewed_head_costs_one_request_and_moves_the_time_only() {
    let mut authority = MemoryAuthority::with_library(START);
    authority.deltas = true;
    let mut follower = authority.follower();
    authority.requests.clear();
    authority.now += 300;
    authority.renew();
    authority.follow(&mut follower).unwrap();
    assert_eq!(authority.requests, [format!("/v1/feed/deltas/{}", authority.tree.size())]);
    assert_eq!(follower.view().next_update(), START + 900);
    assert_eq!(standing(&follower, "travel:v2.1", START + 899), Standing::Valid);
}

#[test]
fn a_revocation_is_seen_before_anything_else_is_fetched() {
    let mut authority = MemoryAuthority::with_library(START);
    let mut follower = authority.follower();
    authority.now += 1;
    authority.change(Act::Revoke, "travel:v2.1");
    follower.hint();
    authority.requests.clear();
    for _ in 0..10 {
        let Step::Get(request) = follower.next(authority.now) else { break };
        let answer = authority.get(&request.path, request.if_none_match.as_deref());
        let changed = follower.answer(&request.path, answer, authority.now).unwrap() == Progress::ViewChanged;
        if changed {
            assert!(request.path.starts_with("/v1/feed/shards/"), "{}", request.path);
            break;
        }
    }
    assert_eq!(standing(&follower, "travel:v2.1", authority.now), Standing::Revoked);
    assert!(authority.requests.iter().all(|path| path != "/v1/contexts" && path != "/v1/floors"));
}

#[test]
fn a_log_that_grows_past_many_tiles_is_followed_step_by_step() {
    let mut authority = MemoryAuthority::new(START);
    let mut follower = authority.follower();
    authority.batch = true;
    for step in 0..6u64 {
        for n in 0..90u64 {
            let name = format!("line{}:v1.{n}", step % 2 + 10 * (n % 3) + step * 100);
            if n % 30 == 0 {
                authority.publish(&MemoryAuthority::document(&name, "thing"));
            } else {
                let document = MemoryAuthority::document(&format!("other:v{}.{n}", step + 1), "thing");
                let context = MemoryAuthority::context(&document);
                let signer = authority.signer(context.urn().line());
                authority.publish_by(&context, &signer, &signer);
            }
        }
        authority.now += 10;
        authority.renew();
        authority.follow(&mut follower).unwrap();
        assert_eq!(follower.view().size(), 90 * (step + 1));
    }
    assert_eq!(follower.reports(), vec![]);
    assert_eq!(follower.view().contexts().count(), 540);
    assert_eq!(standing(&follower, "other:v1.1", authority.now), Standing::Valid);
}

#[test]
fn a_partial_tile_that_is_gone_is_taken_from_the_full_one() {
    let mut authority = MemoryAuthority::new(START);
    authority.batch = true;
    for n in 0..200 {
        authority.publish(&MemoryAuthority::document(&format!("other:v1.{n}"), "thing"));
    }
    authority.renew();
    // The head stays at 200 while the log grows to 256 and drops its partial tiles.
    let (head, floors, shards) =
        (authority.signed_head.clone(), authority.floors.clone(), authority.shards.clone());
    for n in 200..256 {
        authority.publish(&MemoryAuthority::document(&format!("other:v1.{n}"), "thing"));
    }
    authority.serve_instead("/v1/feed/head", head);
    authority.serve_instead("/v1/floors", floors);
    authority.shards.extend(shards);
    authority.tiles.retain(|path, _| path.width() == 256);
    let follower = authority.follower();
    assert_eq!(follower.view().size(), 200);
    assert_eq!(follower.view().contexts().count(), 200);
}

#[test]
fn an_authority_that_moves_on_under_a_round_is_followed_without_a_fault() {
    for (asked, change) in [("/v1/floors", 0), ("/v1/feed/shards/", 1), ("/tile/", 1)] {
        let mut authority = MemoryAuthority::with_library(START);
        let mut follower = authority.follower();
        authority.now += 1;
        authority.publish(&MemoryAuthority::document("payment:v3.0", "transfer"));
        authority.floor("payment", "v2.0");
        // two more entries that hold 0 may leave the bytes of the list as they were
        authority.change(Act::Retire, "travel:v2.1");
        follower.hint();
        let mut moved = false;
        while let Step::Get(request) = follower.next(authority.now) {
            if request.path.starts_with(asked) && !moved {
                moved = true;
                if change == 0 {
                    authority.floor("payment", "v3.0");
                } else {
                    // What belonged to the older head is gone.
                    authority.tiles.clear();
                    authority.shards.clear();
                    let lost = authority.get(&request.path, None);
                    assert_eq!(lost.status, 404);
                    follower.answer(&request.path, lost, authority.now).unwrap();
                    authority.rebuild_tiles();
                    authority.renew();
                    continue;
                }
            }
            let answer = authority.get(&request.path, request.if_none_match.as_deref());
            follower.answer(&request.path, answer, authority.now).unwrap();
        }
        assert!(moved, "{asked}");
        assert_eq!(follower.reports(), vec![]);
        assert_eq!(follower.view().size(), authority.tree.size());
        assert_eq!(standing(&follower, "payment:v3.0", authority.now), Standing::Valid);
    }
}

#[test]
fn faults_are_waited_after_longer_each_time_and_hints_wait_for_a_second() {
    let authority = MemoryAuthority::with_library(START);
    let mut follower = Follower::without_memory(authority.config());
    let mut now = START;
    for wait in [1, 2, 4, 8, 16, 30, 30] {
        let Step::Get(request) = follower.next(now) else { panic!("due") };
        assert_eq!(follower.unreachable(&request.path, now), Err(FollowFault::Unreachable));
        assert_eq!(follower.next(now), Step::Idle { until: now + wait });
        now += wait;
    }
    // However many come, one round a second is what they are worth.
    for _ in 0..5 {
        let Step::Get(request) = follower.next(now) else { panic!("due") };
        assert_eq!(follower.unreachable(&request.path, now), Err(FollowFault::Unreachable));
        follower.hint();
        follower.hint();
        assert_eq!(follower.next(now), Step::Idle { until: now + 1 });
        now += 1;
    }
}

/// Follows until there is nothing to fetch; every request takes a second.
fn follow_slowly(
    authority: &mut MemoryAuthority,
    follower: &mut Follower,
    mut each: impl FnMut(&mut MemoryAuthority, &mut Follower, &str),
) {
    for _ in 0..2000 {
        let Step::Get(request) = follower.next(authority.now) else { return };
        let answer = authority.get(&request.path, request.if_none_match.as_deref());
        authority.now += 1;
        each(authority, follower, &request.path);
        follower.answer(&request.path, answer, authority.now).unwrap();
    }
    panic!("the load never ends");
}

#[test]
fn a_revocation_in_the_middle_of_a_long_load_does_not_wait_for_its_end() {
    let mut authority = MemoryAuthority::new(START);
    authority.batch = true;
    for n in 0..60 {
        authority.publish(&MemoryAuthority::document(&format!("other:v{}.0", n + 1), "thing"));
    }
    authority.renew();
    authority.batch = false;
    let mut follower = Follower::without_memory(authority.config());
    let (mut documents, mut revoked_at, mut seen_at) = (0, None, None);
    follow_slowly(&mut authority, &mut follower, |authority, follower, path| {
        documents += usize::from(path.contains("by-digest"));
        if documents == 20 && revoked_at.is_none() {
            authority.change(Act::Revoke, "other:v60.0");
            revoked_at = Some(authority.now);
            follower.hint();
        }
        if seen_at.is_none() && standing(follower, "other:v60.0", authority.now) == Standing::Revoked {
            seen_at = Some((authority.now, documents));
        }
    });
    let (seen, documents) = seen_at.expect("the revocation is seen during the load");
    assert!(documents < 30, "{documents} documents were fetched first");
    assert!(seen - revoked_at.unwrap() < 10);
    assert!(
        follower.view().contexts().all(|loaded| loaded.context.is_some()),
        "and the load comes to its end"
    );
    assert_eq!(follower.reports(), vec![]);
}

#[test]
fn an_authority_that_speaks_all_the_time_keeps_no_load_from_its_end() {
    let mut authority = MemoryAuthority::new(START);
    authority.batch = true;
    for n in 0..60 {
        authority.publish(&MemoryAuthority::document(&format!("other:v{}.0", n + 1), "thing"));
    }
    authority.renew();
    authority.batch = false;
    let mut follower = Follower::without_memory(authority.config());
    let mut asked = 0;
    follow_slowly(&mut authority, &mut follower, |authority, follower, _| {
        authority.renew();
        follower.hint();
        asked += 1;
        // it never rests, so neither does the follower: the load is over when every document is here
        if follower.view().contexts().filter(|l| l.context.is_some()).count() == 60 {
            follower.schedule.begin();
        }
    });
    assert!(asked < 400, "{asked} requests for 60 documents");
    assert!(follower.view().contexts().all(|loaded| loaded.context.is_some()));
}

#[test]
fn a_clock_that_is_set_back_does_not_stop_the_polls() {
    let mut authority = MemoryAuthority::with_library(START);
    let mut follower = authority.follower();
    let earlier = START - 86_400;
    let Step::Idle { until } = follower.next(earlier) else { panic!("due at once") };
    assert!(until <= earlier + 30);
}

#[test]
fn certificates_that_no_known_statement_needs_are_not_kept() {
    let mut authority = MemoryAuthority::with_library(START);
    for _ in 0..20 {
        let stranger = authority.keys.signer(&["other"]);
        authority.trust.insert(stranger.chain);
    }
    let follower = authority.follower();
    let lines: std::collections::BTreeSet<_> =
        follower.view().contexts().map(|c| c.urn.line().clone()).collect();
    assert_eq!(follower.state.trust.chains().count(), lines.len(), "one for each line");
}

#[test]
fn an_answer_to_nothing_that_was_asked_is_refused() {
    let authority = MemoryAuthority::with_library(START);
    let mut follower = Follower::without_memory(authority.config());
    let answer = Answer { status: 200, etag: None, body: Vec::new() };
    assert_eq!(follower.answer("/v1/feed/head", answer.clone(), START), Err(FollowFault::Unasked));
    let _ = follower.next(START);
    assert_eq!(follower.answer("/v1/floors", answer, START), Err(FollowFault::Unasked));
}

#[test]
fn a_document_that_failed_is_fetched_again_later() {
    let mut authority = MemoryAuthority::with_library(START);
    let path =
        format!("/v1/contexts/by-digest/{}", authority.replay.published(&urn("travel:v2.1")).unwrap().digest);
    authority.lies.insert(path.clone(), Answer { status: 503, etag: None, body: Vec::new() });
    let mut follower = authority.follower();
    assert_eq!(
        follower.reports().into_iter().map(|r| (r.urn, r.fault)).collect::<Vec<_>>(),
        vec![(Some(urn("travel:v2.1")), FollowFault::HttpStatus { what: "signed context", status: 503 })]
    );
    assert!(follower.view().context(&urn("travel:v2.1")).is_none());
    assert!(follower.view().loaded(&urn("travel:v2.1")).unwrap().fault.is_some());
    authority.lies.clear();
    authority.now += 60;
    authority.follow(&mut follower).unwrap();
    assert!(follower.view().context(&urn("travel:v2.1")).is_some());
}

#[test]
fn lines_are_read_as_patterns() {
    let lines = Lines::parse(&["payment", "acme.*"]).unwrap();
    let holds = |name: &str| lines.holds(&Line::parse(name).unwrap()).is_some();
    assert!(holds("payment") && holds("acme.logistics") && holds("acme.a.b"));
    assert!(!holds("acme") && !holds("acmelogistics") && !holds("Payment") && !holds("payment.x"));
    assert_eq!(Lines::parse(&["a", "*"]).unwrap(), Lines::All);
    assert!(Lines::parse(&["a*"]).is_err());
}
