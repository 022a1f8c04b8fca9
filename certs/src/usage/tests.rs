use super::*;
use x509_parser::der_parser::oid::Oid;

#[test]
fn the_oids_in_der_are_those_in_text() {
    for usage in Usage::ALL {
        let oid = Oid::from(&usage.oid_parts()).unwrap();
        assert_eq!(oid.as_bytes(), usage.oid_der(), "{usage}");
        assert_eq!(oid.to_id_string(), usage.oid());
    }
}

#[test]
fn every_component_fits_31_bits_so_that_stock_libraries_can_read_it() {
    assert!(ARC.into_iter().all(|part| part < 1 << 31));
}

#[test]
fn a_usage_has_one_name() {
    for usage in Usage::ALL {
        assert_eq!(Usage::parse(usage.as_str()), Some(usage));
    }
    assert_eq!(Usage::parse("Context"), None);
}
