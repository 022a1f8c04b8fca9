use super::*;

const fn v(major: u32, minor: u32) -> Version {
    Version::new(major, minor)
}

#[test]
fn f0_39_the_highest_of_all_floors_counts() {
    let floors = Floors { authority: Some(v(1, 1)), operator: Some(v(1, 0)), peers: [None, Some(v(2, 0))] };
    assert_eq!(floors.effective(), Some((v(2, 0), Source::Peer)));
    assert_eq!(floors.admit(v(1, 9)).unwrap_err(), BelowFloor { floor: v(2, 0), source: Source::Peer });
    floors.admit(v(2, 0)).unwrap();
}

#[test]
fn no_operator_or_peer_can_lower_the_authoritys_floor() {
    let floors =
        Floors { authority: Some(v(2, 0)), operator: Some(v(1, 0)), peers: [Some(v(1, 0)), Some(v(1, 1))] };
    assert_eq!(floors.admit(v(1, 1)).unwrap_err(), BelowFloor { floor: v(2, 0), source: Source::Authority });
}

#[test]
fn without_a_floor_every_version_is_admitted() {
    Floors::default().admit(v(0, 0)).unwrap();
    assert_eq!(Floors::default().effective(), None);
}

#[test]
fn versions_compare_as_numbers_and_not_as_text() {
    let floors = Floors { authority: Some(v(1, 9)), ..Floors::default() };
    floors.admit(v(1, 10)).unwrap();
    floors.admit(v(10, 0)).unwrap();
    assert_eq!(floors.admit(v(1, 8)).unwrap_err().floor, v(1, 9));
}

#[test]
fn equal_floors_are_told_as_the_authoritys() {
    let floors = Floors { authority: Some(v(1, 1)), operator: Some(v(1, 1)), peers: [Some(v(1, 1)), None] };
    assert_eq!(floors.effective(), Some((v(1, 1), Source::Authority)));
}
