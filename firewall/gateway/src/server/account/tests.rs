use std::time::Duration;

use super::*;

fn accounts(limits: Limits) -> Accounts {
    Accounts::new(&limits)
}

fn at(ms: u64) -> Now {
    Now { unix: 0, monotonic_ms: ms }
}

fn of(accounts: &Accounts, name: &str) -> Arc<Account> {
    accounts.of(&name.into(), at(0)).unwrap()
}

#[test]
fn an_agent_at_its_bound_waits_for_one_to_end_and_another_agent_does_not() {
    let accounts = accounts(Limits { connections_per_agent: 2, requests_per_agent: 1, ..Limits::default() });
    let (one, two) = (of(&accounts, "one"), of(&accounts, "two"));
    let first = one.connect(0).unwrap();
    let _second = one.connect(0).unwrap();
    assert!(one.connect(0).is_err());
    assert!(two.connect(0).is_ok());
    drop(first);
    assert!(one.connect(0).is_ok());
    let charge = Charge::new(&one);
    charge.enter().unwrap();
    let socket = charge.clone();
    drop(charge);
    assert_eq!(Charge::new(&one).enter(), Err(TooMany));
    assert!(Charge::new(&two).enter().is_ok());
    drop(socket);
    assert!(Charge::new(&one).enter().is_ok());
}

#[test]
fn attack_false_addresses_take_an_eighth_before_an_address_must_prove_itself() {
    let limits = Limits { connections_per_agent: 16, held_bytes: SHARE * 1_600, ..Limits::default() };
    let accounts = accounts(limits);
    for buffers in [0, 100] {
        let one = of(&accounts, "address 192.0.2.1");
        let first = one.connect(buffers).unwrap();
        assert!(!one.is_busy());
        let second = one.connect(buffers).unwrap();
        assert!(one.is_busy());
        assert!(!of(&accounts, "address 192.0.2.2").is_busy());
        drop((first, second));
        let wide = one.connect(200).unwrap();
        assert!(one.is_busy(), "its bytes count too");
        drop(wide);
        assert!(!one.is_busy());
    }
}

#[test]
fn a_connection_that_finds_no_room_for_its_buffers_is_not_counted() {
    let accounts =
        accounts(Limits { connections_per_agent: 1, held_bytes: SHARE * 1_000, ..Limits::default() });
    let one = of(&accounts, "one");
    assert!(one.connect(1_001).is_err());
    let connection = one.connect(1_000).unwrap();
    assert!(connection.buffer(1).is_err());
    drop(connection);
    assert_eq!(accounts.held(), 0);
    assert!(one.connect(1_000).is_ok());
}

#[test]
fn attack_one_agent_holds_its_share_of_the_bytes_and_leaves_the_rest() {
    let accounts = accounts(Limits { held_bytes: SHARE * 1_000, ..Limits::default() });
    let (greedy, modest) = (of(&accounts, "greedy"), of(&accounts, "modest"));
    let charges: Vec<Charge> = (0..10).map(|_| Charge::new(&greedy)).collect();
    charges.iter().for_each(|charge| charge.hold(100).unwrap());
    assert_eq!(charges[0].hold(1), Err(NoRoom));
    assert!(Charge::new(&modest).hold(1_000).is_ok());
    charges[0].hold_only(50).unwrap();
    assert_eq!((charges[0].held(), accounts.held()), (50, 950));
    charges[1].hold(50).unwrap();
    assert_eq!(charges[0].hold_only(51), Err(NoRoom));
    drop(charges);
    assert_eq!(accounts.held(), 0);
    assert!(Charge::new(&greedy).hold(1_000).is_ok());
}

#[test]
fn the_shares_of_many_agents_end_at_the_sum_of_all() {
    let accounts = accounts(Limits { held_bytes: SHARE * 1_000, ..Limits::default() });
    let each: Vec<_> = (0..SHARE).map(|n| Charge::new(&of(&accounts, &n.to_string()))).collect();
    each.iter().for_each(|charge| charge.hold(1_000).unwrap());
    let late = of(&accounts, "late");
    assert_eq!(Charge::new(&late).hold(1), Err(NoRoom));
    assert_eq!(accounts.held(), SHARE * 1_000);
}

#[test]
fn arrivals_are_limited_by_agent_and_come_back_with_time() {
    let accounts = accounts(Limits { rate_per_second: 10, rate_burst: 3, ..Limits::default() });
    let (one, two) = (of(&accounts, "one"), of(&accounts, "two"));
    (0..3).for_each(|_| one.arrive(at(0)).unwrap());
    assert_eq!(one.arrive(at(0)), Err(TooOften { wait: Duration::from_millis(100) }));
    two.arrive(at(0)).unwrap();
    one.arrive(at(100)).unwrap();
    assert!(one.arrive(at(150)).is_err());
}

#[test]
fn a_large_message_is_owed_and_the_next_arrivals_wait_for_it() {
    let accounts = accounts(Limits { rate_per_second: 10, rate_burst: 3, ..Limits::default() });
    let one = of(&accounts, "one");
    one.arrive(at(0)).unwrap();
    let charge = Charge::new(&one);
    charge.owe(12, at(0));
    assert_eq!(one.arrive(at(0)), Err(TooOften { wait: Duration::from_millis(1_100) }));
    charge.owe(12, at(0));
    assert_eq!(one.arrive(at(0)), Err(TooOften { wait: Duration::from_millis(1_100) }), "charged once");
    one.arrive(at(1_100)).unwrap();
}

#[test]
fn the_cost_of_a_message_grows_with_its_bytes_and_values() {
    assert_eq!(cost(4_095, 499), 0);
    assert_eq!(cost(4_096, 500), 2);
    assert_eq!(cost(1 << 20, 20_000), 256 + 40);
}

#[test]
fn the_first_ten_refusals_of_a_code_are_recorded_and_then_one_a_second_with_a_count() {
    let accounts = accounts(Limits::default());
    let one = of(&accounts, "one");
    let each =
        |count: u64, ms| (0..count).map(|_| one.refusal(Code::PolicyDenied, at(ms))).collect::<Vec<_>>();
    assert!(each(10, 0).iter().all(|how| *how == Recording::Whole { others: 0 }));
    assert!(each(500, 10).iter().all(|how| *how == Recording::Counted));
    assert_eq!(one.refusal(Code::Malformed, at(20)), Recording::Whole { others: 0 }, "another code");
    assert_eq!(each(1, 1_000), [Recording::Whole { others: 500 }]);
    assert_eq!(each(2, 1_500), [Recording::Counted, Recording::Counted]);
    assert_eq!(accounts.unrecorded(at(1_600)), []);
    assert_eq!(accounts.unrecorded(at(2_000)), [("one".into(), Code::PolicyDenied, 2)]);
    assert_eq!(accounts.unrecorded(at(9_000)), []);
    assert_eq!(each(1, 60_000), [Recording::Whole { others: 0 }], "a new minute");
}

#[test]
fn an_account_is_forgotten_once_nothing_is_charged_to_it_and_an_active_one_never() {
    let mut accounts = accounts(Limits { rate_per_second: 1, ..Limits::default() });
    accounts.room = 1;
    // one for each shard, so that each new agent of a shard needs the room of the one before
    let names: Vec<Arc<str>> = (0..1_000).map(|n| format!("agent {n}").into()).collect();
    let held = accounts.of(&names[0], at(0)).unwrap();
    held.arrive(at(0)).unwrap();
    drop(held);
    let kept = names.iter().filter(|name| accounts.of(name, at(500)).is_ok()).count();
    assert_eq!(kept, 1_000 - refused(&accounts, &names), "only the shard of the active agent refuses");
    let later = names.iter().filter(|name| accounts.of(name, at(1_000)).is_ok()).count();
    assert_eq!(later, 1_000);
}

/// Agents that share a shard with the first, which is active.
fn refused(accounts: &Accounts, names: &[Arc<str>]) -> usize {
    let shard = |name: &Arc<str>| accounts.hasher.hash_one(name) % (SHARDS as u64);
    names.iter().skip(1).filter(|name| shard(name) == shard(&names[0])).count()
}

#[test]
fn attack_keys_to_register_flood_the_log() {
    let one = of(&accounts(Limits::default()), "one");
    let alone = (0..1_000).filter(|_| one.filing(at(0)) != Recording::Counted).count();
    assert_eq!(alone, 10);
    assert_eq!(one.filing(at(2_000)), Recording::Whole { others: 990 });
}
