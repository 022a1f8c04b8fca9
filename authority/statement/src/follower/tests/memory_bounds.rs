//! Memory of compiled documents: the bound, and what gives it back.

use super::*;
use serde_json::json;

/// A document of this name with so many patterns of its own: some tens of kilobytes each.
fn patterned(short: &str, patterns: usize) -> Vec<u8> {
    let members: serde_json::Map<String, serde_json::Value> = (0..patterns)
        .map(|n| {
            let pattern = format!("^([a-z]{{10}}[0-9]{{9}}x{n}){{20}}$");
            (format!("m{n}"), json!({"type": "string", "maxLength": 500, "pattern": pattern}))
        })
        .collect();
    let concepts = json!({"thing": {"type": "object", "properties": members}});
    json!({"context": format!("urn:contexts:{short}"), "concepts": concepts}).to_string().into_bytes()
}

/// A follower with room for four times what `share` documents of forty patterns take.
fn with_room(authority: &mut MemoryAuthority, share: u64) -> Follower {
    let each = MemoryAuthority::context(&patterned("greedy:v1.0", 40)).compiled_bytes();
    let mut config = authority.config();
    config.limits.max_compiled_bytes = 4 * (share * each + each / 2);
    Follower::without_memory(config)
}

fn left_out(follower: &Follower) -> Vec<String> {
    let mut all: Vec<String> = follower.view().left_out().map(|loaded| loaded.urn.short()).collect();
    all.sort();
    all
}

#[test]
fn attack_a_line_that_fills_its_share_leaves_the_room_of_others() {
    let mut authority = MemoryAuthority::new(START);
    for minor in 0..6 {
        authority.publish(&patterned(&format!("greedy:v1.{minor}"), 40));
    }
    authority.publish(&patterned("modest:v1.0", 40));
    let mut follower = with_room(&mut authority, 2);
    authority.follow(&mut follower).unwrap();
    // the first that were published stay, and the other line has what it says
    assert_eq!(left_out(&follower), ["greedy:v1.2", "greedy:v1.3", "greedy:v1.4", "greedy:v1.5"]);
    let view = follower.view();
    assert!(view.context(&urn("modest:v1.0")).is_some() && view.context(&urn("greedy:v1.1")).is_some());
    let loaded = view.loaded(&urn("greedy:v1.2")).unwrap();
    assert!(loaded.context.is_none() && loaded.fault.as_deref().unwrap().contains("its line"), "{loaded:?}");
    let faults: Vec<_> = follower.reports().into_iter().map(|report| report.fault).collect();
    assert!(faults.len() == 4 && faults.iter().all(|fault| fault.as_str() == "no_room"), "{faults:?}");
    // nobody asks for them again and again
    authority.requests.clear();
    authority.now += 3_600;
    authority.renew();
    authority.follow(&mut follower).unwrap();
    assert!(authority.requests.iter().all(|path| !path.contains("greedy")), "{:?}", authority.requests);
}

#[test]
fn a_revocation_gives_its_room_back_and_keeps_the_types() {
    let mut authority = MemoryAuthority::new(START);
    for minor in 0..3 {
        authority.publish(&patterned(&format!("greedy:v1.{minor}"), 40));
    }
    let mut follower = with_room(&mut authority, 2);
    authority.follow(&mut follower).unwrap();
    assert_eq!(left_out(&follower), ["greedy:v1.2"]);
    let before = follower.view().compiled_bytes();
    authority.change(Act::Revoke, "greedy:v1.0");
    authority.now += 10;
    authority.follow(&mut follower).unwrap();
    authority.now += 10;
    authority.renew();
    authority.follow(&mut follower).unwrap();
    assert_eq!(left_out(&follower), Vec::<String>::new());
    let view = follower.view();
    let revoked = view.context(&urn("greedy:v1.0")).unwrap();
    assert!(revoked.is_retired() && revoked.term("thing").is_some());
    assert!(revoked.compiled_bytes() * 4 < before, "{} of {before}", revoked.compiled_bytes());
    assert!(!view.context(&urn("greedy:v1.2")).unwrap().is_retired());
    assert_eq!(standing(&follower, "greedy:v1.0", authority.now), Standing::Revoked);
}

#[test]
fn what_refers_to_a_revoked_document_gives_its_room_back_too() {
    let mut authority = MemoryAuthority::new(START);
    authority.publish(&patterned("base:v1.0", 4));
    let referring = authority.referring("user:v1.0", &[("base:v1.0", "thing")]);
    authority.publish(&referring);
    let mut follower = authority.follower();
    assert!(!follower.view().context(&urn("user:v1.0")).unwrap().is_retired());
    authority.change(Act::Revoke, "base:v1.0");
    authority.now += 10;
    authority.follow(&mut follower).unwrap();
    let view = follower.view();
    let user = view.context(&urn("user:v1.0")).unwrap();
    assert!(user.is_retired() && user.references().iter().all(|other| other.is_retired()));
}
