use super::*;
use crate::terms::Features;
use crate::tests::{A, B, NOW, floor_of_authority, fuzz_cases, minimum, spiffe, urn};
use proptest::prelude::*;
use semgate_contexts::Digest;

const C: &str = "spiffe://semgate.test/agent/zebra-1";

fn v(major: u32, minor: u32) -> Option<Version> {
    Some(Version::new(major, minor))
}

/// An agreement on payment v2.0, with what each of the two stated when.
fn agreed(initiator: (&str, Vec<Minimum>, u64), responder: (&str, Vec<Minimum>, Option<u64>)) -> Agreement {
    Agreement {
        initiator: spiffe(initiator.0),
        responder: spiffe(responder.0),
        urn: urn("payment:v2.0"),
        digest: Digest::of(b"payment"),
        features: Features::none(),
        minimums: [initiator.1, responder.1],
        stated_at: [Some(initiator.2), responder.2],
        transcript: Digest::of(b"transcript"),
        expires_at: NOW + 60,
    }
}

fn learn(minimums: &PairMinimums, agreement: &Agreement) -> Result<(), HandshakeFault> {
    minimums.record(agreement, Floors::default(), NOW)
}

fn payment(minimums: &PairMinimums, a: &str, b: &str) -> [Option<Version>; 2] {
    minimums.floors(a, b, &Line::parse("payment").unwrap())
}

#[test]
fn f0_39_a_minimum_binds_both_directions_of_its_pair_and_no_other() {
    let minimums = PairMinimums::new();
    assert_eq!(payment(&minimums, A, B), [None; 2]);
    learn(&minimums, &agreed((A, vec![], NOW), (B, vec![minimum("payment", "v2.0")], Some(NOW)))).unwrap();
    assert_eq!(payment(&minimums, A, B), [None, v(2, 0)]);
    assert_eq!(payment(&minimums, B, A), [None, v(2, 0)]);
    assert_eq!(payment(&minimums, A, C), [None; 2]);
    assert_eq!(minimums.floors(A, B, &Line::parse("travel").unwrap()), [None; 2]);
}

#[test]
fn a_minimum_of_a_line_in_another_case_was_kept_and_bound_nothing() {
    let minimums = PairMinimums::new();
    learn(&minimums, &agreed((A, vec![], NOW), (B, vec![minimum("PAYMENT", "v2.0")], Some(NOW)))).unwrap();
    assert_eq!(payment(&minimums, A, B), [None, v(2, 0)]);
    // of two spellings, which no handshake may state, the higher one counts
    let both = vec![minimum("Payment", "v1.0"), minimum("payment", "v1.1")];
    learn(&minimums, &agreed((A, both, NOW + 1), (B, vec![], Some(NOW + 1)))).unwrap();
    assert_eq!(payment(&minimums, A, B), [v(1, 1), None]);
}

#[test]
fn the_last_handshake_of_a_pair_counts() {
    let minimums = PairMinimums::new();
    let of = |min: &str| vec![minimum("payment", min)];
    learn(&minimums, &agreed((A, of("v2.0"), NOW), (B, vec![], Some(NOW)))).unwrap();
    learn(&minimums, &agreed((B, of("v1.1"), NOW + 1), (A, vec![], Some(NOW + 1)))).unwrap();
    assert_eq!(payment(&minimums, A, B), [None, v(1, 1)]);
    assert_eq!(minimums.stated_by(B, A), of("v1.1"));
    assert_eq!(minimums.stated_by(A, B), []);
    learn(&minimums, &agreed((A, vec![], NOW + 2), (B, vec![], Some(NOW + 2)))).unwrap();
    assert_eq!(payment(&minimums, A, B), [None; 2]);
    assert_eq!(minimums.export(), [], "nothing of it is kept over a restart");
}

#[test]
fn f0_39_attack_what_was_stated_before_replaces_what_was_stated_since() {
    let minimums = PairMinimums::new();
    let of = |min: &str| vec![minimum("payment", min)];
    let held_back = agreed((A, vec![], NOW - 9), (B, vec![], Some(NOW - 8)));
    learn(&minimums, &agreed((B, of("v2.0"), NOW), (A, vec![], Some(NOW)))).unwrap();
    learn(&minimums, &held_back).unwrap();
    assert_eq!(payment(&minimums, A, B), [None, v(2, 0)]);
    // what a gateway says in its place is no word of the agent's, however late
    learn(&minimums, &agreed((A, vec![], NOW + 5), (B, vec![], None))).unwrap();
    assert_eq!(payment(&minimums, A, B), [None, v(2, 0)]);
    // its own takes it back, and nothing of before brings it again
    learn(&minimums, &agreed((A, vec![], NOW + 6), (B, vec![], Some(NOW + 6)))).unwrap();
    learn(&minimums, &agreed((A, vec![], NOW - 9), (B, of("v2.0"), Some(NOW - 8)))).unwrap();
    assert_eq!(payment(&minimums, A, B), [None; 2]);
}

#[test]
fn f0_39_attack_a_choice_of_before_is_locked_below_a_minimum_or_floor_of_now() {
    let minimums = PairMinimums::new();
    let three = vec![minimum("payment", "v3.0")];
    let agreement = Agreement { urn: urn("payment:v3.0"), ..agreed((B, three, NOW), (A, vec![], Some(NOW))) };
    learn(&minimums, &agreement).unwrap();
    let below = Err(HandshakeFault::BelowMinimum { floor: Version::new(3, 0) });
    let early = agreed((A, vec![minimum("travel", "v1.0")], NOW + 1), (B, vec![], Some(NOW - 1)));
    assert_eq!(learn(&minimums, &early), below);
    assert_eq!(minimums.admits(&early, Floors::default(), NOW), below);
    assert_eq!(minimums.stated_by(A, B), [], "nothing is learnt of what is refused");
    let (_, floors) = floor_of_authority("payment", "v3.0");
    assert_eq!(PairMinimums::new().record(&early, floors, NOW), below);
}

#[test]
fn of_two_statements_of_one_second_the_stricter_holds_and_no_line_is_left_out() {
    let minimums = PairMinimums::new();
    let say = |list: Vec<Minimum>| learn(&minimums, &agreed((A, list, NOW), (B, vec![], None)));
    say(vec![minimum("payment", "v2.0"), minimum("travel", "v1.0")]).unwrap();
    say(vec![minimum("Payment", "v1.0")]).unwrap();
    assert_eq!(minimums.stated_by(A, B), [minimum("Payment", "v2.0"), minimum("travel", "v1.0")]);
    let many = (0..crate::limits::MAX_MINIMUMS).map(|n| minimum(&format!("line{n}"), "v1.0")).collect();
    assert_eq!(say(many), Err(HandshakeFault::Busy));
    assert_eq!(payment(&minimums, A, B), [v(2, 0), None]);
}

#[test]
fn a_statement_that_a_clock_ahead_let_in_does_not_stand_against_later_ones() {
    let minimums = PairMinimums::new();
    let of = |min: &str| vec![minimum("payment", min)];
    let year = 31_536_000;
    let ahead = agreed((A, of("v1.0"), NOW + year), (B, vec![], None));
    minimums.record(&ahead, Floors::default(), NOW + year).unwrap();
    // its clock is right again: the stricter of both first, then what is stated next
    learn(&minimums, &agreed((A, of("v2.0"), NOW), (B, vec![], None))).unwrap();
    assert_eq!(payment(&minimums, A, B), [v(2, 0), None]);
    learn(&minimums, &agreed((A, of("v1.1"), NOW + 1), (B, vec![], None))).unwrap();
    assert_eq!(payment(&minimums, A, B), [v(1, 1), None]);
}

#[test]
fn memory_is_bounded_and_forgets_the_oldest_pair_and_those_without_minimums_first() {
    let minimums = PairMinimums::new();
    let of = |n: usize| format!("spiffe://semgate.test/agent/b{n}");
    let say =
        |n: usize, list: Vec<Minimum>| learn(&minimums, &agreed((A, list, NOW), (&of(n), vec![], Some(NOW))));
    let one = || vec![minimum("payment", "v2.0")];
    say(1, one()).unwrap();
    say(2, vec![]).unwrap();
    for n in 3..=MAX_PAIRS + 1 {
        say(n, one()).unwrap();
    }
    assert_eq!(minimums.len(), MAX_PAIRS);
    assert!(payment(&minimums, A, &of(1)).contains(&v(2, 0)));
    say(0, one()).unwrap();
    assert_eq!(minimums.len(), MAX_PAIRS);
    assert_eq!(payment(&minimums, A, &of(1)), [None; 2]);
    assert!(payment(&minimums, A, &of(3)).contains(&v(2, 0)));
}

proptest! {
    #![proptest_config(fuzz_cases())]

    /// Two handshakes of a pair, whoever opened which: in whatever order they end, of each side holds what it signed later, and of one second
    /// the higher.
    #[test]
    fn f0_39_learning_in_any_order_ends_in_the_later_statement_of_each_side(
        stated in prop::array::uniform4((0_u64..4, prop::option::of(0_u32..3))),
        turned in prop::array::uniform2(any::<bool>()),
    ) {
        let list = |minor: Option<u32>| minor.map(|minor| minimum("payment", &format!("v1.{minor}"))).into_iter().collect();
        let handshake = |n: usize| {
            let [(a_at, a), (b_at, b)] = [stated[2 * n], stated[2 * n + 1]];
            if turned[n] {
                agreed((B, list(b), NOW + b_at), (A, list(a), Some(NOW + a_at)))
            } else {
                agreed((A, list(a), NOW + a_at), (B, list(b), Some(NOW + b_at)))
            }
        };
        let later = |one: (u64, Option<u32>), other: (u64, Option<u32>)| match one.0.cmp(&other.0) {
            std::cmp::Ordering::Less => other.1,
            std::cmp::Ordering::Equal => one.1.max(other.1),
            std::cmp::Ordering::Greater => one.1,
        };
        let expected = [later(stated[0], stated[2]), later(stated[1], stated[3])];
        for order in [[0, 1], [1, 0]] {
            let minimums = PairMinimums::new();
            order.into_iter().for_each(|n| learn(&minimums, &handshake(n)).unwrap());
            prop_assert_eq!(payment(&minimums, A, B), expected.map(|minor| minor.and_then(|minor| v(1, minor))));
            // and over a restart
            let again = PairMinimums::new();
            again.import(minimums.export()).unwrap();
            prop_assert_eq!(payment(&again, A, B), payment(&minimums, A, B));
        }
    }
}
