use super::*;

const MINUTE_MS: u64 = 60_000;

fn agent(name: &str) -> Arc<str> {
    Arc::from(name)
}

#[test]
fn steps_are_counted_for_each_sender_and_session_alone() {
    let steps = Steps::new(100);
    let (a, b) = (agent("a"), agent("b"));
    let own = steps.of_session(&a, "lock 1");
    for n in 0..50 {
        assert_eq!(steps.count(&own, n), n);
        steps.add(&own, n);
    }
    for other in [
        steps.of_session(&b, "lock 1"),
        steps.of_session(&a, "lock 2"),
        steps.of_route(&a, "lock 1"),
        steps.of_route(&a, "r"),
    ] {
        assert_eq!(steps.count(&other, 50), 0);
    }
    steps.take_back(&own, 51);
    assert_eq!(steps.count(&own, 51), 49);
}

#[test]
fn attack_waiting_a_little_does_not_end_the_count_of_a_session() {
    let steps = Steps::new(100);
    let own = steps.of_session(&agent("a"), "s");
    for n in 0..10 {
        steps.add(&own, n * 59 * MINUTE_MS);
    }
    assert_eq!(steps.count(&own, 9 * 59 * MINUTE_MS), 10);
    let last = 9 * 59 * MINUTE_MS;
    assert_eq!(steps.count(&own, last + HOUR_MS - 1), 10);
    assert_eq!(steps.count(&own, last + HOUR_MS), 0, "an hour without a step ends it");
    steps.add(&own, last + HOUR_MS);
    assert_eq!(steps.count(&own, last + HOUR_MS), 1);
}

#[test]
fn without_a_session_an_hour_counts_from_the_first_step() {
    let steps = Steps::new(100);
    let own = steps.of_route(&agent("a"), "r");
    steps.add(&own, 0);
    steps.add(&own, 59 * MINUTE_MS);
    assert_eq!(steps.count(&own, HOUR_MS - 1), 2);
    assert_eq!(steps.count(&own, HOUR_MS), 0);
}

#[test]
fn an_approval_begins_the_count_again_unless_its_message_does_not_pass() {
    let steps = Steps::new(100);
    let own = steps.of_session(&agent("a"), "s");
    (0..7).for_each(|n| steps.add(&own, n));
    let before = steps.reset(&own, 8);
    assert_eq!((before, steps.count(&own, 8)), (7, 0));
    steps.add(&own, 9);
    steps.restore(&own, before, 10);
    assert_eq!(steps.count(&own, 10), 8);
}

#[test]
fn attack_many_sessions_and_many_agents_take_no_more_memory_and_fail_closed() {
    let steps = Steps::new(1);
    let one = agent("a");
    let first = steps.of_session(&one, "0");
    steps.add(&first, 0);
    for n in 1..1_000_u64 {
        steps.add(&steps.of_session(&one, &n.to_string()), n);
    }
    let kept =
        (0..1_000_u64).filter(|n| steps.count(&steps.of_session(&one, &n.to_string()), 1_000) > 0).count();
    assert_eq!((kept, steps.count(&first, 1_000)), (SESSIONS, 0), "the oldest went");
    // one agent for each of the shards: some other name falls into a full one
    let others: Vec<u64> = (0..1_000)
        .map(|n| {
            let own = steps.of_session(&agent(&format!("agent {n}")), "s");
            steps.add(&own, 1_000);
            steps.count(&own, 1_000)
        })
        .collect();
    assert!(others.contains(&u64::MAX) && others.contains(&1), "no room asks, and never counts nothing");
    assert!(!others.contains(&0));
    let late = steps.of_session(&agent("agent 999"), "s");
    steps.add(&late, 2 * HOUR_MS);
    assert_eq!(steps.count(&late, 2 * HOUR_MS), 1, "idle agents make room");
}
