use super::*;
use proptest::prelude::*;

fn agent(name: &str) -> Arc<str> {
    Arc::from(name)
}

#[test]
fn f0_43_ten_pass_and_the_eleventh_does_not() {
    let meter = AmbiguityMeter::new(10, 100);
    let asker = agent("a");
    for n in 0..10 {
        assert_eq!(meter.admit(&asker, 1, n * 10), Ok(()));
    }
    assert_eq!(
        meter.admit(&asker, 1, 100),
        Err(TooAmbiguous { wait: Duration::from_millis(59_901), left: 0 })
    );
    // another agent has ten of its own
    assert_eq!(meter.admit(&agent("b"), 10, 100), Ok(()));
}

#[test]
fn bug_whoever_asked_too_much_at_once_was_told_that_nothing_is_left() {
    let meter = AmbiguityMeter::new(10, 100);
    let asker = agent("a");
    assert_eq!(meter.admit(&asker, 11, 0), Err(TooAmbiguous { wait: Duration::from_mins(1), left: 10 }));
    assert_eq!(meter.admit(&asker, 8, 0), Ok(()));
    assert_eq!(meter.admit(&asker, 3, 0), Err(TooAmbiguous { wait: Duration::from_millis(60_001), left: 2 }));
    assert_eq!(meter.ask(&asker, 2, 0), Ok(0));
}

#[test]
fn a_place_is_free_only_when_more_than_sixty_seconds_are_over() {
    let meter = AmbiguityMeter::new(10, 100);
    let asker = agent("a");
    assert_eq!(meter.admit(&asker, 10, 1_000), Ok(()));
    assert_eq!(meter.admit(&asker, 1, 61_000), Err(TooAmbiguous { wait: Duration::from_millis(1), left: 0 }));
    assert_eq!(meter.admit(&asker, 1, 61_001), Ok(()));
}

#[test]
fn f0_36_nineteen_do_not_pass_in_the_first_minute_as_with_a_token_bucket() {
    let meter = AmbiguityMeter::new(10, 100);
    let asker = agent("a");
    assert_eq!(meter.admit(&asker, 10, 0), Ok(()));
    let later = (1..60).filter(|second| meter.admit(&asker, 1, second * 1_000).is_ok()).count();
    assert_eq!(later, 0);
}

#[test]
fn a_message_counts_with_every_question_that_it_holds_or_with_none() {
    let meter = AmbiguityMeter::new(10, 100);
    let asker = agent("a");
    assert_eq!(meter.admit(&asker, 8, 0), Ok(()));
    assert!(meter.admit(&asker, 3, 1).is_err());
    assert_eq!(meter.admit(&asker, 2, 2), Ok(()));
    assert!(meter.admit(&asker, 1, 3).is_err());
    assert!(meter.admit(&agent("b"), 11, 0).is_err(), "more than the limit can never pass");
}

#[test]
fn refused_questions_are_not_counted() {
    let meter = AmbiguityMeter::new(2, 100);
    let asker = agent("a");
    assert_eq!(meter.admit(&asker, 2, 0), Ok(()));
    for n in 1..1_000 {
        assert!(meter.admit(&asker, 1, n).is_err());
    }
    assert_eq!(meter.admit(&asker, 2, 60_001), Ok(()));
}

#[test]
fn an_active_agent_is_never_forgotten_for_new_ones() {
    let meter = AmbiguityMeter::new(10, 64);
    let asker = agent("asker");
    assert_eq!(meter.admit(&asker, 10, 0), Ok(()));
    let crowd: Vec<_> = (0..10_000).map(|n| agent(&format!("crowd-{n}"))).collect();
    for (n, one) in crowd.iter().enumerate() {
        let _ = meter.admit(one, 1, n as u64);
    }
    assert!(meter.agents.len() <= 64);
    assert!(meter.admit(&asker, 1, 50_000).is_err(), "the crowd pushed the asker out");
    // when all are idle, new agents find room again
    assert_eq!(meter.admit(&agent("late"), 1, 200_000), Ok(()));
}

#[test]
fn threads_together_get_no_more_than_one() {
    let meter = Arc::new(AmbiguityMeter::new(10, 100));
    let threads: Vec<_> = (0..8)
        .map(|t| {
            let meter = Arc::clone(&meter);
            std::thread::spawn(move || {
                (0..1_000).filter(|n| meter.admit(&agent("a"), 1, n + t).is_ok()).count()
            })
        })
        .collect();
    let passed: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(passed, 10);
}

/// The most questions that any window of 60 seconds holds, both ends included.
fn fullest(mut times: Vec<u64>) -> usize {
    times.sort_unstable();
    times
        .iter()
        .map(|start| times.iter().filter(|time| (*start..=start + WINDOW_MS).contains(time)).count())
        .max()
        .unwrap_or(0)
}

proptest! {
    #[test]
    fn no_window_of_sixty_seconds_holds_more_than_ten(
        steps in prop::collection::vec((0_u64..9_000, 1_usize..4, 0_u64..50), 1..300)
    ) {
        let meter = AmbiguityMeter::new(10, 100);
        let asker = agent("a");
        let (mut now, mut passed) = (1_000_u64, Vec::new());
        for (step, asked, late) in steps {
            now += step;
            // a call can be overtaken by one of another core
            let seen = now - late;
            if meter.admit(&asker, asked, seen).is_ok() {
                passed.extend(std::iter::repeat_n(seen, asked));
            }
        }
        prop_assert!(fullest(passed.clone()) <= 10);
    }

    #[test]
    fn what_fits_passes(gaps in prop::collection::vec(6_001_u64..20_000, 1..100)) {
        let meter = AmbiguityMeter::new(10, 100);
        let mut now = 0;
        for gap in gaps {
            now += gap;
            prop_assert_eq!(meter.admit(&agent("a"), 1, now), Ok(()));
        }
    }
}
