use super::*;

const fn v(major: u32, minor: u32) -> Version {
    Version::new(major, minor)
}

#[test]
fn the_newest_common_version_is_chosen_whatever_the_order() {
    let ours = [v(1, 0), v(2, 0), v(1, 1)];
    assert_eq!(newest_common(&ours, &[v(1, 1), v(1, 0)], &Floors::default()), Ok(v(1, 1)));
    assert_eq!(newest_common(&ours, &[v(1, 0), v(1, 1), v(3, 0)], &Floors::default()), Ok(v(1, 1)));
    assert_eq!(newest_common(&[v(1, 9), v(1, 10)], &[v(1, 10), v(1, 9)], &Floors::default()), Ok(v(1, 10)));
}

#[test]
fn f0_37_an_offer_stripped_of_its_new_version_is_refused_by_the_floor() {
    let floors = Floors { authority: Some(v(2, 0)), ..Floors::default() };
    let stripped = [v(1, 0), v(1, 1)];
    assert_eq!(
        newest_common(&[v(1, 1), v(2, 0)], &stripped, &floors),
        Err(NoCommonVersion::BelowFloor { newest: v(1, 1), floor: v(2, 0) })
    );
}

#[test]
fn a_peers_own_floor_binds_the_other() {
    let floors = Floors { peers: [None, Some(v(2, 0))], ..Floors::default() };
    assert_eq!(
        newest_common(&[v(1, 0)], &[v(1, 0)], &floors),
        Err(NoCommonVersion::BelowFloor { newest: v(1, 0), floor: v(2, 0) })
    );
    assert_eq!(newest_common(&[v(1, 0), v(2, 1)], &[v(2, 1)], &floors), Ok(v(2, 1)));
}

#[test]
fn nothing_in_common_is_no_choice() {
    assert_eq!(newest_common(&[v(1, 0)], &[v(2, 0)], &Floors::default()), Err(NoCommonVersion::Disjoint));
    assert_eq!(newest_common(&[], &[v(2, 0)], &Floors::default()), Err(NoCommonVersion::Disjoint));
}

mod contexts {
    use super::*;
    use crate::tests::{floor_of_authority, fuzz_cases, offer, with_features};
    use proptest::prelude::*;

    fn pick(ours: &[&str], theirs: &[&str]) -> Result<Offer, HandshakeFault> {
        let floor = floor_of_authority("payment", "v1.1");
        let floors = |line: &Line| if *line == floor.0 { floor.1 } else { Floors::default() };
        let (ours, theirs): (Vec<_>, Vec<_>) =
            (ours.iter().map(|s| offer(s)).collect(), theirs.iter().map(|s| offer(s)).collect());
        choose(&ours.iter().collect::<Vec<_>>(), &theirs, &floors)
    }

    #[test]
    fn lines_are_tried_in_the_order_of_the_hello_and_the_newest_version_wins_in_each() {
        let ours = ["payment:v1.1", "payment:v2.0", "travel:v2.1"];
        assert_eq!(pick(&ours, &["payment:v1.1", "travel:v2.1", "payment:v2.0"]), Ok(offer("payment:v2.0")));
        assert_eq!(pick(&ours, &["travel:v2.1", "payment:v2.0"]), Ok(offer("travel:v2.1")));
        assert_eq!(pick(&ours, &["acme:v1.0", "travel:v2.1"]), Ok(offer("travel:v2.1")));
        assert_eq!(pick(&ours, &["payment:v1.0", "travel:v2.1"]), Ok(offer("travel:v2.1")));
    }

    #[test]
    fn a_floor_tells_more_than_a_line_that_is_not_spoken() {
        let below = pick(&["payment:v1.0"], &["acme:v1.0", "payment:v1.0"]).unwrap_err();
        assert_eq!(below.code(), "context_below_floor");
        assert_eq!(pick(&["payment:v1.1"], &["acme:v1.0"]).unwrap_err().code(), "context_unknown");
    }

    /// The older version, about whose document both agree, would be the downgrade.
    #[test]
    fn f0_37_two_documents_under_one_name_are_no_reason_to_choose_an_older_one() {
        let mut other = offer("payment:v2.0");
        other.digest = semgate_contexts::Digest::of(b"another");
        let (v2, v1) = (offer("payment:v2.0"), offer("payment:v1.1"));
        let refused = choose(&[&v2, &v1], &[v1.clone(), other], &|_| Floors::default()).unwrap_err();
        assert_eq!((refused, refused.code()), (HandshakeFault::DigestDiffers, "context_untrusted"));
    }

    #[test]
    fn only_features_that_both_have_remain() {
        let (ours, theirs) = (with_features("a:v1.0", &["x", "y"]), with_features("a:v1.0", &["y", "z"]));
        let choice = choose(&[&ours], &[theirs], &|_| Floors::default()).unwrap();
        assert_eq!(choice, with_features("a:v1.0", &["y"]));
    }

    fn versions() -> impl Strategy<Value = Vec<Version>> {
        prop::collection::vec(
            (0_u32..4, 0_u32..4).prop_map(|(major, minor)| Version::new(major, minor)),
            0..8,
        )
    }

    proptest! {
        #![proptest_config(fuzz_cases())]

        #[test]
        fn the_choice_is_the_newest_of_both_and_above_every_floor(
            ours in versions(), theirs in versions(), floor in (0_u32..4, 0_u32..4), rotate in 0_usize..8,
        ) {
            let floor = Version::new(floor.0, floor.1);
            let floors = Floors { peers: [None, Some(floor)], ..Floors::default() };
            let chosen = newest_common(&ours, &theirs, &floors);
            let mut turned = theirs.clone();
            if !turned.is_empty() { let by = rotate % turned.len(); turned.rotate_left(by); }
            prop_assert_eq!(chosen, newest_common(&ours, &turned, &floors), "the order says nothing");
            prop_assert_eq!(chosen, newest_common(&theirs, &ours, &floors), "nor who is who");
            match chosen {
                Ok(version) => {
                    prop_assert!(version >= floor && ours.contains(&version) && theirs.contains(&version));
                    let newer = ours.iter().filter(|v| **v > version).any(|v| theirs.contains(v));
                    prop_assert!(!newer);
                }
                Err(_) => {
                    let some = ours.iter().filter(|v| **v >= floor).any(|v| theirs.contains(v));
                    prop_assert!(!some);
                }
            }
        }
    }
}
