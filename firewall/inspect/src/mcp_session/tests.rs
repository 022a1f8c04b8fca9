//! The bound over all agents.

use super::*;

fn tell(open: &mut Open, agent: &str, events: usize) {
    open.of.entry(Arc::from(agent)).or_default();
    open.change(agent, |one| {
        for n in one.delivered.len()..events {
            let key = SessionKey::new(&Scope::new("r", None), None);
            one.delivered.push_back(DeliveredEvent { key, event: n.to_string().into(), at: 0 });
        }
    });
}

#[test]
fn attack_one_agent_that_fills_what_all_share_forgets_its_own() {
    let mut open = Open::default();
    for quiet in ["a", "b"] {
        tell(&mut open, quiet, 10);
    }
    tell(&mut open, "flood", 1_000);
    assert_eq!(open.weight, 1_020);
    open.fit(100);
    assert!(open.weight <= 100, "{}", open.weight);
    let held = |agent: &str| open.of.get(agent).map(|one| one.delivered.len());
    assert_eq!((held("a"), held("b")), (Some(10), Some(10)));
    // the newest are kept
    assert_eq!(open.of["flood"].delivered.back().map(|delivered| &*delivered.event), Some("999"));
    open.fit(0);
    assert_eq!(open.weight, 0);
}
