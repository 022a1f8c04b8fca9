//! The hunt for a wrong verdict, for some seconds: `SEMGATE_HUNT_SECONDS` sets how many, `SEMGATE_HUNT_SEED` where it begins. For an hour
//! there is a command, `semgate context hunt --seconds 3600`.

use std::time::{Duration, Instant};

use semgate_contexts::compare::{CompareLimits, Hunt};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn no_verdict_is_wrong() {
    let length = Duration::from_secs(number("SEMGATE_HUNT_SECONDS").unwrap_or(4));
    let began = Instant::now();
    let limits = CompareLimits { max_steps: 200_000, ..CompareLimits::default() };
    let mut hunt = Hunt::new(number("SEMGATE_HUNT_SEED").unwrap_or(1), limits);
    while began.elapsed() < length || hunt.pairs < 100 {
        if let Some(wrong) = hunt.next_pair() {
            panic!("{wrong:#?}");
        }
    }
    println!("{hunt:?}");
    assert!(hunt.compatible > 0 && hunt.breaking > 0 && hunt.documents > 0);
    assert_eq!(hunt.pairs, hunt.decided() + hunt.unknown.values().sum::<u64>());
}

/// A seed finds the same again, whatever came before it.
#[test]
fn a_pair_is_told_by_its_seed() {
    let limits = CompareLimits { max_steps: 200_000, ..CompareLimits::default() };
    let mut long = Hunt::new(1, limits);
    let mut short = Hunt::new(11, limits);
    for _ in 0..10 {
        assert!(long.next_pair().is_none());
    }
    long = Hunt { seed: long.seed, ..Hunt::new(0, long.limits) };
    for _ in 0..20 {
        assert!(long.next_pair().is_none() && short.next_pair().is_none());
    }
    assert_eq!(format!("{long:?}"), format!("{short:?}"));
}
