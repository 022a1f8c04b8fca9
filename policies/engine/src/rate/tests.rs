//! Tests of `rate`.

use super::{Period, Rate, RateKey};

#[test]
fn a_rate_is_read_and_written_in_one_form() {
    let rate = Rate::parse("10/minute").unwrap();
    assert_eq!(rate, Rate { count: 10, per: Period::Minute, burst: 10 });
    assert_eq!((rate.to_string().as_str(), rate.window()), ("10/minute", 60));
    let rate = Rate::parse("600/hour burst 50").unwrap();
    assert_eq!((rate.to_string().as_str(), rate.window()), ("600/hour burst 50", 300));
    for wrong in [
        "",
        "10",
        "/minute",
        "10/",
        "0/minute",
        "-1/minute",
        "010/minute",
        "10/ minute",
        "10 /minute",
        "10/minute ",
        " 10/minute",
        "10/minute burst",
        "10/minute burst 0",
        "10/minute  burst 1",
        "10/minute bursts 2",
        "1000001/day",
        "10/min",
        "1e3/day",
        "10/Minute",
        "10/minute burst 5 burst 5",
    ] {
        assert!(Rate::parse(wrong).is_err(), "{wrong}");
    }
    assert!(Rate::parse("10/minutes").unwrap_err().contains("did you mean `minute`?"));
}

#[test]
fn a_key_always_holds_the_sender() {
    assert_eq!(RateKey::parse("agent"), Ok(RateKey::default()));
    let all = RateKey { receiver: true, concept: true, line: true };
    assert_eq!(RateKey::parse("pair, concept,line"), Ok(all));
    assert_eq!(
        (all.to_string().as_str(), RateKey::default().to_string().as_str()),
        ("pair, concept, line", "agent")
    );
    assert_eq!(RateKey::parse("agent, pair"), RateKey::parse("pair"));
    for wrong in ["", "Agent", "pair,", "pair, pair", "everybody", "pair concept"] {
        assert!(RateKey::parse(wrong).is_err(), "{wrong}");
    }
    assert!(RateKey::parse("pairs").unwrap_err().contains("did you mean `pair`?"));
}
