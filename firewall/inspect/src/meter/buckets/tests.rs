use super::*;

fn charge(buckets: &Buckets, who: &str, rate: &str, cost: u64) -> Charge {
    let rate = Rate::parse(rate).unwrap();
    Charge {
        key: buckets.key((who, rate)),
        rate,
        cost,
        name: Arc::from(who),
        by: Arc::from(who),
        kind: "budget",
        per: RateKey::default(),
        hint: None,
    }
}

fn spend(buckets: &Buckets, who: &str, rate: &str, now_ms: u64) -> Result<u64, Duration> {
    let left = |quotas: Vec<Quota>| quotas[0].left.unwrap().units;
    buckets.take(&[charge(buckets, who, rate, 1)], now_ms).map(left).map_err(|exhausted| exhausted.wait)
}

#[test]
fn a_bucket_holds_its_burst_and_fills_evenly() {
    let buckets = Buckets::new(64);
    for n in 0..10 {
        assert_eq!(spend(&buckets, "a", "10/minute", 0), Ok(9 - n));
    }
    assert_eq!(spend(&buckets, "a", "10/minute", 0), Err(Duration::from_secs(6)));
    assert_eq!(spend(&buckets, "a", "10/minute", 5_999), Err(Duration::from_millis(1)));
    assert_eq!(spend(&buckets, "a", "10/minute", 6_000), Ok(0));
    assert_eq!(spend(&buckets, "a", "10/minute", 66_000), Ok(9), "full again after a minute");
}

#[test]
fn one_agent_exhausts_its_bucket_and_the_other_is_untouched() {
    let buckets = Buckets::new(64);
    while spend(&buckets, "a", "10/minute", 0).is_ok() {}
    for n in 0..10 {
        assert_eq!(spend(&buckets, "b", "10/minute", 0), Ok(9 - n));
    }
}

#[test]
fn several_buckets_pay_together_or_none_does() {
    let buckets = Buckets::new(64);
    let both =
        || vec![charge(&buckets, "wide", "100/minute", 30), charge(&buckets, "narrow", "10/minute", 3)];
    for n in 1..=3 {
        let quotas = buckets.take(&both(), 0).unwrap();
        let left: Vec<u64> = quotas.iter().map(|quota| quota.left.unwrap().units).collect();
        assert_eq!(left, [100 - 30 * n, 10 - 3 * n]);
    }
    let exhausted = buckets.take(&both(), 0).unwrap_err();
    assert_eq!((exhausted.short, exhausted.never), (vec![0, 1], false));
    // the narrow one alone is short of two, the wide one would have paid
    let uneven = vec![charge(&buckets, "wide", "100/minute", 10), charge(&buckets, "narrow", "10/minute", 3)];
    for _ in 0..100 {
        let exhausted = buckets.take(&uneven, 0).unwrap_err();
        assert_eq!(exhausted.short, [1]);
        assert_eq!(exhausted.wait, Duration::from_secs(12));
        assert_eq!(exhausted.quotas[0].left, None, "what did not stop it says nothing of when to come back");
        assert_eq!(exhausted.quotas[1].left, Some(Left { units: 1, more_in: Some(6) }));
    }
    let wide = buckets.take(&[charge(&buckets, "wide", "100/minute", 10)], 0).unwrap();
    assert_eq!(wide[0].left.unwrap().units, 0, "a hundred refusals cost nothing");
}

#[test]
fn what_is_given_back_can_be_spent_again() {
    let buckets = Buckets::new(64);
    let all = [charge(&buckets, "a", "10/minute", 10)];
    buckets.take(&all, 0).unwrap();
    assert!(buckets.take(&all, 0).is_err());
    buckets.give_back(&all);
    buckets.take(&all, 0).unwrap();
}

#[test]
fn more_than_a_full_bucket_holds_never_passes() {
    let buckets = Buckets::new(64);
    let exhausted = buckets.take(&[charge(&buckets, "a", "10/minute burst 5", 6)], 0).unwrap_err();
    assert!(exhausted.never);
}

#[test]
fn a_million_agents_fill_no_more_than_the_table_and_give_the_victim_no_fresh_budget() {
    let room = 16_384;
    let buckets = Buckets::new(room);
    while spend(&buckets, "victim", "10/hour", 0).is_ok() {}
    let mut refused = 0;
    for n in 0..1_000_000_u32 {
        let one = [charge(&buckets, &format!("agent-{n}"), "10/hour", 1)];
        if buckets.take(&one, u64::from(n) / 10_000).is_err() {
            refused += 1;
        }
    }
    assert!(buckets.len() <= room + SHARDS, "{}", buckets.len());
    assert!(
        refused >= 1_000_000 - room - SHARDS,
        "{refused}: a newcomer that there is no room for is refused"
    );
    assert!(spend(&buckets, "victim", "10/hour", 100).is_err(), "the crowd gave the victim a fresh budget");
    // six minutes later the crowd's buckets are full, and there is room again
    assert!(spend(&buckets, "newcomer", "10/hour", 400_000).is_ok());
    assert_eq!(
        spend(&buckets, "victim", "10/hour", 400_000),
        Ok(0),
        "and the victim has what came back, no more"
    );
}

#[test]
fn a_million_agents_one_after_the_other_are_forgotten_as_their_buckets_fill() {
    let room = 16_384;
    let buckets = Buckets::new(room);
    for n in 0..1_000_000_u32 {
        // a thousand a millisecond, each bucket full again after one
        let one = [charge(&buckets, &format!("agent-{n}"), "1000/second", 1)];
        let now_ms = u64::from(n) * 10;
        assert!(buckets.take(&one, now_ms).is_ok(), "{n}");
    }
    assert!(buckets.len() <= room + SHARDS, "{}", buckets.len());
}

#[test]
fn threads_together_get_no_more_than_one() {
    let buckets = Arc::new(Buckets::new(64));
    let threads: Vec<_> = (0..8)
        .map(|n| {
            let buckets = Arc::clone(&buckets);
            std::thread::spawn(move || {
                let (mut shared, own) = (
                    [charge(&buckets, "all", "100/day", 1), charge(&buckets, &format!("{n}"), "1000/day", 1)],
                    n % 2,
                );
                if own == 1 {
                    shared.reverse();
                }
                (0..100).filter(|_| buckets.take(&shared, 0).is_ok()).count()
            })
        })
        .collect();
    let passed: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(passed, 100);
}
