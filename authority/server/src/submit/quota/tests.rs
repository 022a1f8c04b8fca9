use super::*;

fn publisher(id: &str, publish: &[&str]) -> Publisher {
    let publish = publish.iter().map(|text| LinePattern::parse(text).unwrap()).collect();
    Publisher { publish, revoke: Vec::new(), floor: Vec::new(), overrides: Vec::new(), id: id.to_owned() }
}

#[test]
fn a_line_is_charged_to_the_publisher_whose_right_names_it_most_closely() {
    let line = |text: &str| Line::parse(text).unwrap();
    let publishers = [
        publisher("operator", &["*"]),
        publisher("acme", &["acme.*"]),
        publisher("logistics", &["acme.logistics", "acme.ships.*"]),
        publisher("twin", &["acme.*"]),
    ];
    let quota = Quota::new(&publishers, 8 * BLOCK);
    let owners = |text: &str| quota.owners(&mut quota.used(), &line(text));
    assert_eq!(owners("payment"), [0]);
    assert_eq!(owners("acme.parts"), [1, 3], "equally close");
    assert_eq!(owners("acme.logistics"), [2]);
    assert_eq!(owners("acme.ships.cargo"), [2]);
    assert_eq!(owners("acme"), [0]);

    quota.charge(&line("acme.parts"), 7 * BLOCK);
    let refused = quota.allows(&line("acme.more"), Charged::Growth, 1).unwrap_err();
    assert_eq!(refused.code, Code::AuthorityFull);
    assert!(refused.detail.contains("`acme`") && refused.detail.contains("28672"), "{}", refused.detail);
    assert!(quota.allows(&line("payment"), Charged::Growth, BLOCK).is_ok(), "another account has room");
    assert!(quota.allows(&line("acme.parts"), Charged::Resumption, BLOCK).is_ok(), "an eighth is left");
    assert!(quota.allows(&line("acme.parts"), Charged::Resumption, BLOCK + 1).is_err());
    assert!(quota.allows(&line("acme.parts"), Charged::Always, u64::MAX).is_ok());
    assert_eq!((blocks(0), blocks(1), blocks(4097)), (0, BLOCK, 2 * BLOCK));
}
