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
