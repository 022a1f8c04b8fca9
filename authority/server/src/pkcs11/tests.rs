use super::*;

const GOOD: &str = "pkcs11:token=semgate;object=feed;id=%01%aB;type=private?module-path=/lib/hsm.so&pin-source=file:/run/pin";

#[test]
fn a_uri_names_one_key_of_one_token_and_holds_no_secret() {
    let uri = Pkcs11Uri::parse(GOOD).unwrap();
    assert_eq!(uri.token.as_deref(), Some("semgate"));
    assert_eq!(uri.label.as_deref(), Some(&b"feed"[..]));
    assert_eq!(uri.id.as_deref(), Some(&[1, 0xab][..]));
    assert_eq!(uri.module, Path::new("/lib/hsm.so"));
    assert_eq!(uri.to_string(), GOOD);
    for pin in ["env:HSM_PIN", "/run/pin", "file:///run/pin"] {
        Pkcs11Uri::parse(&format!("pkcs11:serial=1;id=%01?module-path=/m&pin-source={pin}")).unwrap();
    }
}

#[test]
fn what_a_uri_does_not_say_or_says_too_much_is_refused() {
    for (text, fault) in [
        ("file:/key", UriFault::Syntax),
        ("pkcs11:token=a;object=%g0?module-path=/m&pin-source=env:P", UriFault::Syntax),
        ("pkcs11:token=a;object=b c?module-path=/m&pin-source=env:P", UriFault::Syntax),
        ("pkcs11:object=b?module-path=/m&pin-source=env:P", UriFault::Token),
        ("pkcs11:token=a?module-path=/m&pin-source=env:P", UriFault::Object),
        ("pkcs11:token=a;object=b?pin-source=env:P", UriFault::Module),
        ("pkcs11:token=a;object=b?module-path=m.so&pin-source=env:P", UriFault::Module),
        ("pkcs11:token=a;object=b?module-path=/m", UriFault::Pin),
        ("pkcs11:token=a;object=b?module-path=/m&pin-source=pin", UriFault::Pin),
        ("pkcs11:token=a;object=b?module-path=/m&pin-source=env:", UriFault::Pin),
        ("pkcs11:token=a;object=b?module-path=/m&pin-value=1234", UriFault::PinValue),
        ("pkcs11:token=a;token=b;object=b?module-path=/m&pin-source=env:P", UriFault::Attribute),
        ("pkcs11:token=;object=b?module-path=/m&pin-source=env:P", UriFault::Attribute),
        ("pkcs11:token=a;object=b;type=public?module-path=/m&pin-source=env:P", UriFault::Attribute),
        ("pkcs11:token=a;object=b;slot-id=3?module-path=/m&pin-source=env:P", UriFault::Attribute),
        ("pkcs11:token=a;object=b?module-path=/m&pin-source=env:P&x-vendor=1", UriFault::Attribute),
    ] {
        assert_eq!(Pkcs11Uri::parse(text), Err(fault), "{text}");
    }
    assert!(!UriFault::PinValue.to_string().contains("1234"));
}

#[test]
fn a_module_that_is_not_there_is_said() {
    let uri = "pkcs11:token=a;object=b?module-path=/nowhere/hsm.so&pin-source=env:P";
    let fault = signing_key(uri).unwrap_err();
    assert!(matches!(fault, NamedKeyFault::Device(DeviceFault::Module)), "{fault}");
}
