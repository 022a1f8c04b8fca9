use super::*;
use proptest::prelude::*;

fn line(text: &str) -> Line {
    Line::parse(text).unwrap()
}

#[test]
fn a_line_is_reversed_below_the_reserved_tree() {
    assert_eq!(dns_of_line(&line("payment")), "payment.contexts.invalid");
    assert_eq!(dns_of_line(&line("acme.logistics")), "logistics.acme.contexts.invalid");
    assert_eq!(dns_of_line(&line("supplyChain")), "supplychain.contexts.invalid");
    assert_eq!(uri_of_line(&Prefix::default(), &line("supplyChain")), "urn:contexts:supplyChain");
}

#[test]
fn the_longest_line_still_is_a_dns_name() {
    let label = "a".repeat(63);
    let text = format!("{label}.{label}.{label}.{}", "a".repeat(236 - 3 * 64));
    assert_eq!(dns_of_line(&line(&text)).len(), 253);
}

#[test]
fn names_that_stand_for_no_line_are_refused_with_the_reason() {
    for (dns, fault) in [
        ("contexts.invalid", NameFault::OutsideTree),
        ("payment.contexts.example", NameFault::OutsideTree),
        ("paymentcontexts.invalid", NameFault::OutsideTree),
        ("Payment.contexts.invalid", NameFault::OutsideTree),
        ("payment.contexts.invalid.", NameFault::OutsideTree),
        ("*.contexts.invalid", NameFault::Wildcard),
        ("pay*.contexts.invalid", NameFault::Wildcard),
        (".contexts.invalid", NameFault::NotALine),
        ("a..contexts.invalid", NameFault::NotALine),
        ("pay_ment.contexts.invalid", NameFault::NotALine),
        ("-pay.contexts.invalid", NameFault::NotALine),
    ] {
        assert_eq!(line_of_dns(dns), Err(fault), "{dns}");
    }
}

#[test]
fn a_tree_holds_itself_and_what_is_below_it_and_nothing_that_only_ends_alike() {
    assert_eq!(
        relation_to_subtree("acme.contexts.invalid", "acme.contexts.invalid"),
        SubtreeRelation::Inside
    );
    assert_eq!(
        relation_to_subtree("Logistics.ACME.contexts.invalid", "acme.contexts.invalid"),
        SubtreeRelation::Inside
    );
    assert_eq!(
        relation_to_subtree("notacme.contexts.invalid", "acme.contexts.invalid"),
        SubtreeRelation::Outside
    );
    assert_eq!(relation_to_subtree("contexts.invalid", "acme.contexts.invalid"), SubtreeRelation::Outside);
}

proptest! {
    #[test]
    fn line_to_dns_and_back_gives_the_line_in_lower_case(
        text in "[A-Za-z0-9]([A-Za-z0-9-]{0,10}[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]{0,10}[A-Za-z0-9])?){0,6}"
    ) {
        let line = line(&text);
        let back = line_of_dns(&dns_of_line(&line)).unwrap();
        prop_assert_eq!(back.as_str(), text.to_ascii_lowercase());
        prop_assert_eq!(line_of_uri(&Prefix::default(), &uri_of_line(&Prefix::default(), &line)), Some(line));
    }

    #[test]
    fn two_lines_share_a_dns_name_only_if_they_differ_in_case_alone(a in "[aAb1.-]{1,6}", b in "[aAb1.-]{1,6}") {
        if let (Ok(a), Ok(b)) = (Line::parse(&a), Line::parse(&b)) {
            prop_assert_eq!(dns_of_line(&a) == dns_of_line(&b), a.folded() == b.folded());
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC*", tail in "(\\.contexts\\.invalid)?") {
        let name = format!("{text}{tail}");
        if let Ok(line) = line_of_dns(&name) {
            prop_assert_eq!(dns_of_line(&line), name.as_str());
        }
        let _ = relation_to_subtree(&name, &text);
    }
}
