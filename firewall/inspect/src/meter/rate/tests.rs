use super::*;

fn meter(per_second: u32, burst: u32, agents: usize) -> RateMeter {
    RateMeter::new(NonZeroU32::new(per_second).unwrap(), NonZeroU32::new(burst).unwrap(), agents)
}

#[test]
fn a_burst_passes_and_then_the_rate_holds() {
    let meter = meter(10, 5, 100);
    let agent: Arc<str> = Arc::from("a");
    for _ in 0..5 {
        assert_eq!(meter.admit(&agent, 1_000), Ok(()));
    }
    let wait = meter.admit(&agent, 1_000).unwrap_err().wait;
    assert!(wait > Duration::ZERO && wait <= Duration::from_millis(100), "{wait:?}");
    assert_eq!(meter.admit(&agent, 1_100), Ok(()));
    assert!(meter.admit(&agent, 1_100).is_err());
}

#[test]
fn agents_do_not_share_a_bucket() {
    let meter = meter(1, 1, 100);
    assert_eq!(meter.admit(&Arc::from("a"), 0), Ok(()));
    assert_eq!(meter.admit(&Arc::from("b"), 0), Ok(()));
    assert!(meter.admit(&Arc::from("a"), 0).is_err());
}

#[test]
fn a_full_store_refuses_new_agents_until_others_are_idle() {
    let meter = meter(1, 1, 64);
    let passed = (0..10_000).filter(|n| meter.admit(&Arc::from(format!("agent-{n}")), 10).is_ok()).count();
    assert!(passed <= 64, "{passed}");
    assert_eq!(meter.admit(&Arc::from("late"), 60_000), Ok(()));
}

#[test]
fn a_clock_that_steps_back_gives_nothing_for_free() {
    let meter = meter(1, 1, 100);
    let agent: Arc<str> = Arc::from("a");
    assert_eq!(meter.admit(&agent, 10_000), Ok(()));
    assert!(meter.admit(&agent, 5_000).is_err());
    assert!(meter.admit(&agent, 10_500).is_err());
    assert_eq!(meter.admit(&agent, 11_000), Ok(()));
}
