//! A list says what may be reached, in one spelling, and names do not reach what only addresses hide.

use super::*;

fn targets(rules: &[&str], networks: &[&str]) -> Targets {
    Targets {
        rules: rules.iter().map(|rule| Rule::parse(rule).unwrap()).collect(),
        networks: networks.iter().map(|network| network.parse().unwrap()).collect(),
    }
}

#[test]
fn a_target_is_on_the_list_with_scheme_host_port_and_path() {
    let list = targets(&["https://hooks.example/a2a/", "http://127.0.0.1:9000/in"], &[]);
    for on in [
        "https://hooks.example/a2a/?task=1",
        "https://hooks.example/a2a/x?task=1",
        "https://hooks.example:443/a2a/",
        "http://127.0.0.1:9000/in",
        "http://127.0.0.1:9000/in/x",
    ] {
        assert!(list.listed(on).is_ok(), "{on}");
    }
    for off in [
        "https://hooks.example/a2a",
        "https://hooks.example/a2a?task=1",
        "https://hooks.example/a2ax",
        "http://127.0.0.1:9000/inx",
        "https://hooks.example/",
        "http://hooks.example/a2a/",
        "https://hooks.example:8443/a2a/",
        "https://hooks.example.evil.test/a2a/",
        "https://evil.hooks.example/a2a/",
        "http://127.0.0.1:9001/in",
        "http://127.0.0.2:9000/in",
        "https://127.0.0.1:9000/in",
    ] {
        assert_eq!(list.listed(off), Err(OffTheList), "{off}");
    }
}

#[test]
fn ssrf_another_spelling_of_a_target_is_none() {
    for (text, fault) in [
        ("ftp://a.test/", TargetFault::Scheme),
        ("HTTPS://a.test/", TargetFault::Scheme),
        ("//a.test/", TargetFault::Scheme),
        ("http://a.test/", TargetFault::Plain),
        ("http://10.0.0.1/", TargetFault::Plain),
        ("https://user@a.test/", TargetFault::Host),
        ("https://a.test:80@b.test/", TargetFault::Host),
        ("https://A.test/", TargetFault::Host),
        ("https://a.test./", TargetFault::Host),
        ("https:///x", TargetFault::Host),
        ("https://127.1/", TargetFault::Host),
        ("https://2130706433/", TargetFault::Host),
        ("https://0x7f.0.0.1/", TargetFault::Host),
        ("https://0x7f000001/", TargetFault::Host),
        ("https://127.0.0.01/", TargetFault::Host),
        ("https://[0:0:0:0:0:0:0:1]/", TargetFault::Host),
        ("https://[::1", TargetFault::Host),
        ("https://a_b.test/", TargetFault::Host),
        ("https://a.test:/", TargetFault::Host),
        ("https://a.test:0443/", TargetFault::Host),
        ("https://a.test:99999/", TargetFault::Host),
        ("https://a%2etest/", TargetFault::Host),
        ("https://a.test\\@b.test/", TargetFault::Path),
        ("https://a.test/x/../y", TargetFault::Path),
        ("https://a.test/x/..;/y", TargetFault::Path),
        ("https://a.test/x/..;v=1/y", TargetFault::Path),
        ("https://a.test/x/%2E%2e/y", TargetFault::Path),
        ("https://a.test/x%2fy", TargetFault::Path),
        ("https://a.test/x#y", TargetFault::Path),
        ("https://a.test/x y", TargetFault::Path),
        ("https://a.test/\u{e9}", TargetFault::Path),
    ] {
        assert_eq!(Target::parse(text), Err(fault), "{text}");
    }
    assert_eq!(Rule::parse("https://a.test/?x=1").err(), Some(TargetFault::Path), "a rule has no query");
}

#[test]
fn ssrf_a_name_does_not_reach_what_is_not_public() {
    let list = targets(&["https://a.test/"], &["10.1.0.0/16", "fd00::/8"]);
    let target = list.listed("https://a.test/x").unwrap();
    let may = |text: &str| list.connectable(&target, text.parse().unwrap()).is_ok();
    for refused in [
        "127.0.0.1",
        "0.0.0.0",
        "10.0.0.1",
        "10.2.0.1",
        "100.64.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "192.0.2.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "fc00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2001:db8::1",
        "2001::1",
    ] {
        assert!(!may(refused), "{refused}");
    }
    for taken in
        ["8.8.8.8", "172.32.0.1", "192.0.1.1", "2606:4700::1111", "10.1.255.1", "::ffff:10.1.0.1", "fd12::1"]
    {
        assert!(may(taken), "{taken}");
    }
}

#[test]
fn what_is_not_public_is_reached_where_the_list_names_it_itself() {
    let list = targets(&["http://127.0.0.1:9000/", "http://localhost:9000/", "https://10.0.0.7/"], &[]);
    let may = |url: &str, address: &str| {
        list.connectable(&list.listed(url).unwrap(), address.parse().unwrap()).is_ok()
    };
    assert!(may("http://127.0.0.1:9000/", "127.0.0.1") && may("https://10.0.0.7/", "10.0.0.7"));
    assert!(may("http://localhost:9000/", "::1") && may("http://localhost:9000/", "127.0.0.1"));
    assert!(!may("http://localhost:9000/", "10.0.0.7"));
}

#[test]
fn what_goes_out_is_what_was_checked() {
    let target = Target::parse("https://a.test:8443/x/y?z=%20").unwrap();
    assert_eq!(
        (target.authority(), target.path_and_query()),
        ("a.test:8443".to_owned(), "/x/y?z=%20".to_owned())
    );
    let target = Target::parse("https://[2606:4700::1]?a").unwrap();
    assert_eq!(
        (target.authority(), target.path_and_query()),
        ("[2606:4700::1]".to_owned(), "/?a".to_owned())
    );
    assert_eq!(Rule::parse("https://a.test").unwrap().to_string(), "https://a.test/");
    let any = Rule::parse("http://localhost:*/in").unwrap();
    assert_eq!(any.to_string(), "http://localhost:*/in");
    assert!(any.holds(&Target::parse("http://localhost:9/in/x").unwrap()));
    assert_eq!(
        Rule::parse("https://a.test:*/").err(),
        Some(TargetFault::Host),
        "every port of this machine only"
    );
}
