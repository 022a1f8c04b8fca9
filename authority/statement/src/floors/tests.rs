use super::*;

const BYTES: &str = r#"{"authority":"semgate.test","floors":[{"line":"payment","min":"v1.1"},{"line":"travel","min":"v2.0"}]}"#;

#[test]
fn floors_have_exactly_these_bytes() {
    let document = FloorsDocument {
        authority: "semgate.test".to_owned(),
        floors: [("travel", Version::new(2, 0)), ("payment", Version::new(1, 1))]
            .map(|(line, min)| (Line::parse(line).unwrap(), min))
            .into(),
    };
    assert_eq!(String::from_utf8(document.to_bytes().unwrap()).unwrap(), BYTES);
    assert_eq!(FloorsDocument::read(BYTES.as_bytes()), Ok(document));
}

#[test]
fn another_order_a_second_floor_or_another_spelling_is_refused() {
    let read = |text: &str| FloorsDocument::read(text.as_bytes());
    let twice = BYTES.replace("travel", "payment");
    assert_eq!(read(&twice), Err(FormatFault::NotCanonical));
    let order = BYTES.replace("travel", "a");
    assert_eq!(read(&order), Err(FormatFault::NotCanonical));
    assert_eq!(read(&BYTES.replace(",", ", ")), Err(FormatFault::NotCanonical));
    assert_eq!(read(&BYTES.replace("v2.0", "v2.00")), Err(FormatFault::Member("min")));
    assert_eq!(read(&BYTES.replace("travel", "")), Err(FormatFault::Member("line")));
    assert_eq!(read(&BYTES.replace("\"floors\"", "\"floor\"")), Err(FormatFault::Member("floors")));
    assert_eq!(read(&" ".repeat(MAX_FLOORS_BYTES + 1)), Err(FormatFault::TooLarge));
}
