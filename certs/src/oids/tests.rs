use super::text_of;
use crate::Usage;

#[test]
fn bug_an_identifier_below_2_40_and_after_was_told_as_another() {
    for (der, text) in [
        (&[0x2a, 3, 4][..], Some("1.2.3.4")),
        (&[0x00], Some("0.0")),
        (&[0x4f], Some("1.39")),
        (&[0x55, 29, 37, 0], Some("2.5.29.37.0")),
        (&[0x78, 1], Some("2.40.1")),
        (&[0x88, 0x37, 3], Some("2.999.3")),
        (&[], None),
        (&[0x2a, 0x83], None),
        (&[0x2a, 0x80, 3], None),
    ] {
        assert_eq!(text_of(der).as_deref(), text, "{der:02x?}");
    }
    for usage in Usage::ALL {
        assert_eq!(text_of(usage.oid_der()), Some(usage.oid()));
    }
}

#[test]
fn a_number_of_128_bits_is_read_and_a_longer_one_is_not() {
    let mut uuid = vec![0x69, 0x83];
    uuid.extend([0xff; 17]);
    uuid.push(0x7f);
    assert_eq!(text_of(&uuid), Some(format!("2.25.{}", u128::MAX)));
    uuid[1] = 0x84;
    assert_eq!(text_of(&uuid), None);
}
