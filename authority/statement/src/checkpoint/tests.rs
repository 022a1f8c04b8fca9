use super::*;

#[test]
fn a_key_whose_base64_has_a_plus_reads_back() {
    let mut with_plus = 0;
    for n in 0..64u8 {
        let key = LogKey::from_seed("semgate.test/log", &[n.wrapping_mul(37) ^ 0xbe; 32]).unwrap();
        with_plus += u32::from(key.to_text().matches('+').count() > 4);
        assert_eq!(LogKey::from_text(key.to_text()).unwrap().verifier(), key.verifier());
    }
    assert!(with_plus > 0);
}
