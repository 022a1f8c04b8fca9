//! Tests of `ports`.

use std::collections::BTreeSet;

use super::*;

#[test]
fn no_port_is_found_twice_while_its_finder_lives() {
    let mut finders = Vec::new();
    let mut ports = BTreeSet::new();
    // Every twentieth port of the range: searches that did not know of each other would meet many times.
    for _ in 0..100 {
        let mut finder = Ports::default();
        for address in finder.fill([None; 6]).unwrap() {
            assert!(ports.insert(address.port()), "{address} was found twice");
        }
        finders.push(finder);
    }
}

#[test]
fn a_given_address_is_taken_as_it_is() {
    let given = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    assert_eq!(Ports::default().fill([Some(given)]).unwrap(), [given]);
}

#[test]
fn a_given_address_with_the_port_0_stands_in_no_file() {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let [first, second] = Ports::default().fill([Some(any); 2]).unwrap();
    assert!(first.ip() == any.ip() && first != second, "{first} {second}");
    assert!(PORTS.contains(&first.port()) && PORTS.contains(&second.port()), "{first} {second}");
}
