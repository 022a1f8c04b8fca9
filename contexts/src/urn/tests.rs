use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> Result<ContextUrn, UrnFault> {
    ContextUrn::parse(text, &Prefix::default())
}

#[test]
fn the_urns_of_the_paper_are_canonical() {
    for text in [
        "urn:contexts:travel:v2.1",
        "urn:contexts:supplyChain:v1.0",
        "urn:contexts:payment:v1.1",
        "urn:contexts:payment:v2.0",
        "urn:contexts:acme-internal-logistics:v1.0",
        "urn:contexts:acme.logistics:v0.0",
        "urn:contexts:7:v4294967295.4294967295",
    ] {
        let urn = parse(text).unwrap();
        assert_eq!(urn.to_string(), text);
        assert_eq!(urn.as_str(), text);
        assert_eq!(format!("urn:contexts:{}", urn.short()), text);
        assert_eq!(ContextUrn::parse_short(&urn.short(), &Prefix::default()), Ok(urn.clone()));
        assert_eq!(ContextUrn::new(&Prefix::default(), urn.line().clone(), urn.version()), urn);
    }
}

#[test]
fn each_other_spelling_is_refused_with_its_reason() {
    use UrnFault::*;
    let cases = [
        ("", PrefixDiffers),
        ("payment:v1.1", PrefixDiffers),
        ("urn:contexts", PrefixDiffers),
        ("URN:contexts:payment:v1.1", PrefixDiffers),
        ("urn:Contexts:payment:v1.1", PrefixDiffers),
        ("urn:contextsx:payment:v1.1", PrefixDiffers),
        (" urn:contexts:payment:v1.1", PrefixDiffers),
        ("\u{feff}urn:contexts:payment:v1.1", PrefixDiffers),
        ("urn%3Acontexts:payment:v1.1", PrefixDiffers),
        ("urn:contexts:", Parts),
        ("urn:contexts:payment", Parts),
        ("urn:contexts:payment:v1.1:", Parts),
        ("urn:contexts:payment:v1.1:x", Parts),
        ("urn:contexts::payment:v1.1", Parts),
        ("urn:contexts::v1.1", LabelEmpty),
        ("urn:contexts:.payment:v1.1", LabelEmpty),
        ("urn:contexts:payment.:v1.1", LabelEmpty),
        ("urn:contexts:acme..pay:v1.1", LabelEmpty),
        ("urn:contexts:pay_ment:v1.1", LineCharacter),
        ("urn:contexts:pay%6dent:v1.1", LineCharacter),
        ("urn:contexts:pay ment:v1.1", LineCharacter),
        ("urn:contexts:pay/ment:v1.1", LineCharacter),
        ("urn:contexts:*:v1.1", LineCharacter),
        ("urn:contexts:pаyment:v1.1", LineCharacter), // a Cyrillic а
        ("urn:contexts:pay\0ment:v1.1", LineCharacter),
        ("urn:contexts:-payment:v1.1", LabelHyphen),
        ("urn:contexts:payment-:v1.1", LabelHyphen),
        ("urn:contexts:acme.-pay:v1.1", LabelHyphen),
        ("urn:contexts:payment:1.1", VersionForm),
        ("urn:contexts:payment:V1.1", VersionForm),
        ("urn:contexts:payment:v1", VersionForm),
        ("urn:contexts:payment:v", VersionForm),
        ("urn:contexts:payment:", VersionForm),
        ("urn:contexts:payment:v.1", VersionForm),
        ("urn:contexts:payment:v1.", VersionForm),
        ("urn:contexts:payment:v1.1.0", VersionForm),
        ("urn:contexts:payment:v+1.1", VersionForm),
        ("urn:contexts:payment:v-1.1", VersionForm),
        ("urn:contexts:payment:v1.1 ", VersionForm),
        ("urn:contexts:payment:v1.1\n", VersionForm),
        ("urn:contexts:payment:v1.1?=x", VersionForm),
        ("urn:contexts:payment:v1.1#x", VersionForm),
        ("urn:contexts:payment:v1.1/", VersionForm),
        ("urn:contexts:payment:v１.1", VersionForm), // a full-width digit
        ("urn:contexts:payment:v01.1", VersionLeadingZero),
        ("urn:contexts:payment:v1.00", VersionLeadingZero),
        ("urn:contexts:payment:v4294967296.0", VersionTooLarge),
        ("urn:contexts:payment:v1.99999999999999999999", VersionTooLarge),
    ];
    for (text, fault) in cases {
        assert_eq!(parse(text), Err(fault), "{text:?}");
    }
}

#[test]
fn lengths_are_those_that_dns_allows_and_no_more() {
    let label = |n: usize| "a".repeat(n);
    assert!(Line::parse(&label(63)).is_ok());
    assert_eq!(Line::parse(&label(64)), Err(UrnFault::LabelTooLong));
    let longest = [label(63), label(63), label(63), label(44)].join(".");
    assert_eq!(longest.len(), MAX_LINE);
    assert!(Line::parse(&longest).is_ok());
    assert_eq!(format!("{longest}.contexts.invalid").len(), 253);
    let longer = [label(63), label(63), label(63), label(45)].join(".");
    assert_eq!(Line::parse(&longer), Err(UrnFault::LineTooLong));

    let version = "v4294967295.4294967295";
    assert!(parse(&format!("urn:contexts:{longest}:{version}")).is_ok());
    assert_eq!(parse(&"x".repeat(MAX_URN + 1)), Err(UrnFault::TooLong));
    assert_eq!(parse(&"x".repeat(10_000_000)), Err(UrnFault::TooLong));
    let prefix = Prefix::parse(&format!("urn:ab:{}", "p".repeat(MAX_PREFIX - 7))).unwrap();
    let whole = format!("{prefix}:{longest}:{version}");
    assert_eq!(whole.len(), MAX_URN);
    assert!(ContextUrn::parse(&whole, &prefix).is_ok());
}

#[test]
fn a_prefix_is_lower_case_and_bounded() {
    for text in ["urn:contexts", "urn:example:semgate", "urn:x-acme:a-b:1"] {
        assert_eq!(Prefix::parse(text).unwrap().to_string(), text);
    }
    for text in [
        "",
        "urn:",
        "urn:a",
        "urn:contexts:",
        "urn::x",
        "urn:Contexts",
        "URN:contexts",
        "contexts",
        "urn:-a",
        "urn:a-",
        "urn:con texts",
        "urn:contexts:a_b",
        &format!("urn:{}", "a".repeat(33)),
    ] {
        assert_eq!(Prefix::parse(text), Err(UrnFault::PrefixForm), "{text:?}");
    }
    assert_eq!(Prefix::parse(&format!("urn:ab:{}", "p".repeat(MAX_PREFIX))), Err(UrnFault::TooLong));
}

#[test]
fn another_prefix_names_other_contexts() {
    let other = Prefix::parse("urn:example:semgate").unwrap();
    let text = "urn:example:semgate:payment:v1.1";
    let urn = ContextUrn::parse(text, &other).unwrap();
    assert_eq!(parse(text), Err(UrnFault::PrefixDiffers));
    assert_ne!(urn, parse("urn:contexts:payment:v1.1").unwrap());
    // A prefix that is the beginning of another one does not take its URNs over.
    let shorter = Prefix::parse("urn:example").unwrap();
    assert_eq!(ContextUrn::parse(text, &shorter), Err(UrnFault::Parts));
}

#[test]
fn versions_are_ordered_by_number_and_not_by_text() {
    let mut urns: Vec<_> = ["b:v1.0", "a:v10.0", "a:v9.10", "a:v9.9", "A:v1.0"]
        .map(|short| ContextUrn::parse_short(short, &Prefix::default()).unwrap())
        .to_vec();
    urns.sort();
    let shorts: Vec<_> = urns.iter().map(ContextUrn::short).collect();
    assert_eq!(shorts, ["A:v1.0", "a:v9.9", "a:v9.10", "a:v10.0", "b:v1.0"]);
    assert!(Version::new(1, 10) > Version::new(1, 9));
    assert_eq!("v1.10".parse(), Ok(Version::new(1, 10)));
}

#[test]
fn case_makes_another_line_and_folding_shows_the_clash() {
    let (one, other) = (Line::parse("supplyChain").unwrap(), Line::parse("supplychain").unwrap());
    assert_ne!(one, other);
    assert_eq!(one.folded(), other.folded());
    assert_eq!(Line::parse("acme.logistics").unwrap().labels().collect::<Vec<_>>(), ["acme", "logistics"]);
}

fn valid() -> impl Strategy<Value = String> {
    let label = "[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]{0,10}[A-Za-z0-9]";
    let line = proptest::collection::vec(label, 1..5);
    (line, any::<u32>(), any::<u32>()).prop_map(|(l, a, b)| format!("urn:contexts:{}:v{a}.{b}", l.join(".")))
}

proptest! {
    #![proptest_config(crate::json::tests::config())]

    #[test]
    fn printing_what_was_parsed_gives_the_same_bytes(text in valid()) {
        let urn = parse(&text).unwrap();
        prop_assert_eq!(urn.to_string(), &*text);
        prop_assert_eq!(parse(&urn.to_string()), Ok(urn));
    }

    #[test]
    fn every_accepted_text_equals_its_own_display(text in "(urn:contexts:)?[a-cA-C0-9.:v%-]{0,20}") {
        if let Ok(urn) = parse(&text) {
            prop_assert_eq!(urn.as_str(), &text);
        }
        if let Ok(urn) = ContextUrn::parse_short(&text, &Prefix::default()) {
            prop_assert_eq!(urn.short(), &*text);
        }
    }

    #[test]
    fn any_text_is_refused_or_canonical(text in any::<String>()) {
        let urn = parse(&text).map(|urn| urn.to_string());
        prop_assert!(urn.is_err() || urn == Ok(text));
    }

    #[test]
    fn attack_one_changed_character_never_names_the_same_context(
        text in valid(), at in any::<prop::sample::Index>(), how in 0..3, with in any::<char>(),
    ) {
        let original = parse(&text).unwrap();
        let mut characters: Vec<char> = text.chars().collect();
        let at = at.index(characters.len());
        match how {
            0 => characters[at] = with,
            1 => characters.insert(at, with),
            _ => drop(characters.remove(at)),
        }
        let mutated: String = characters.into_iter().collect();
        if let (false, Ok(urn)) = (mutated == text, parse(&mutated)) {
            prop_assert!((urn.line(), urn.version()) != (original.line(), original.version()));
            prop_assert_ne!(urn, original);
        }
    }
}
