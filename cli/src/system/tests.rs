//! Tests of `system`.

use super::*;

#[test]
fn a_pin_in_the_uri_of_a_key_is_refused_without_being_repeated() {
    for place in
        ["pkcs11:object=k?pin-value=1234", "pkcs11:object=k;pin-value=1234", " PKCS11:pin-value=1234"]
    {
        let fault = signing_key(place).map(|_| ()).unwrap_err().to_string();
        assert!(fault.contains("key `pkcs11:…`: ") && !fault.contains("1234"), "{fault}");
    }
    let fault = signing_key("pkcs11:object=k?module-path=/m&pin-value=1234").map(|_| ()).unwrap_err();
    assert!(fault.to_string().contains("give `pin-source`, not `pin-value`"), "{fault}");
    assert_eq!(shown("keys/a:b.key"), "keys/a:b.key");
}
