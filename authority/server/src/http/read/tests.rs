use std::task::{Context, Waker};

use http::StatusCode;

use semgate_contexts::{ContextUrn, Line, Prefix, Version};
use semgate_statement::root::RootStatement;
use semgate_statement::statement::check_new_reason;
use serde_json::{Value, json};

use super::*;
use crate::support::{Place, document};

#[tokio::test(flavor = "multi_thread")]
async fn strangers_have_no_more_tokens_signed_at_once_than_the_limit_says_and_heads_do_not_wait_for_them() {
    let place = Place::new();
    let running = place.start().await;
    let got = running.client.publish(&document("urn:contexts:payment:v1.0", "")).await;
    assert_eq!(got.status, StatusCode::CREATED);
    running.stop().await;
    let mut config = place.config();
    config.limits.token_signings = 3;
    let app = crate::run::prepared(config).unwrap();
    let places = Arc::clone(&app.tokens).acquire_many_owned(3).await.unwrap();
    assert!(app.tokens.try_acquire().is_err(), "there are as many places as the limit says");
    let ask = || shard(State(Arc::clone(&app)), Segment("0".to_owned()), HeaderMap::new());
    let mut waiting = Box::pin(ask());
    let waits = |asked: std::pin::Pin<&mut dyn Future<Output = Answer>>| {
        asked.poll(&mut Context::from_waker(Waker::noop())).is_pending()
    };
    assert!(waits(waiting.as_mut()));
    assert_eq!(head(State(Arc::clone(&app)), HeaderMap::new()).await.unwrap().status(), StatusCode::OK);
    drop(places);
    assert_eq!(waiting.await.unwrap().status(), StatusCode::OK);
    // what is signed waits for nobody
    let _places = Arc::clone(&app.tokens).acquire_many_owned(3).await.unwrap();
    assert_eq!(ask().await.unwrap().status(), StatusCode::OK);
}

/// A schema of the description, by its name.
fn described(name: &str) -> jsonschema::Validator {
    let all: Value = serde_json::from_str(OPENAPI).unwrap();
    jsonschema::validator_for(&all["components"]["schemas"][name]).unwrap()
}

#[test]
fn the_description_names_every_kind_that_the_root_says() {
    let all: Value = serde_json::from_str(OPENAPI).unwrap();
    assert_eq!(
        all["components"]["schemas"]["Said"]["properties"]["kind"]["enum"],
        json!(RootStatement::KINDS)
    );
    let media = all["paths"]["/checkpoint"]["get"]["responses"]["200"]["content"].as_object().unwrap();
    assert_eq!(media.keys().collect::<Vec<_>>(), [TEXT], "as it is answered");
}

#[test]
fn the_description_takes_the_texts_that_the_code_takes_and_no_others() {
    let long = |n: usize| "a".repeat(n);
    let line = |n: usize| [long(63), long(63), long(63), long(n)].join(".");
    let (urn, lines, version, reason) =
        (described("Urn"), described("Line"), described("Version"), described("ReasonText"));
    let plain = ["payment", "a.b-c", "a..b", "-a", "a-", "a.-b", "", "a_b", "ä", "a b", "A9", "a\n", "."];
    let mut all: Vec<String> = plain.map(str::to_owned).into();
    all.extend([long(63), long(64), line(44), line(45), format!("b.{}", long(64))]);
    for text in &all {
        assert_eq!(lines.is_valid(&json!(text)), Line::parse(text).is_ok(), "{text:?}");
        if text.len() > 236 {
            continue; // within a whole URN a pattern cannot bound it
        }
        let name = format!("urn:contexts:{text}:v1.1");
        let taken = ContextUrn::parse(&name, &Prefix::default()).is_ok();
        assert_eq!(urn.is_valid(&json!(name)), taken, "{name:?}");
    }
    let numbers: [u64; 14] = [
        0,
        9,
        10,
        999_999_999,
        1_000_000_000,
        4_199_999_999,
        4_289_999_999,
        4_293_999_999,
        4_294_899_999,
        4_294_967_199,
        4_294_967_289,
        4_294_967_295,
        4_294_967_296,
        4_300_000_000,
    ];
    let mut all: Vec<String> = numbers.iter().map(|n| format!("v{n}.{n}")).collect();
    all.extend(
        ["1.0", "v1", "v01.0", "v1.00", "v1.0.0", "V1.0", "v1.0\n", "v-1.0", "v1.", ""].map(str::to_owned),
    );
    for text in &all {
        assert_eq!(version.is_valid(&json!(text)), Version::parse(text).is_ok(), "{text:?}");
    }
    let around: Vec<char> = (0..=0x3100)
        .chain(0xfe00..=0xffff)
        .chain(0x000d_ff00..=0x000e_0100)
        .filter_map(char::from_u32)
        .collect();
    for c in around {
        for text in [c.to_string(), format!("a{c}")] {
            assert_eq!(reason.is_valid(&json!(text)), check_new_reason(&text).is_ok(), "{text:?}");
        }
    }
    for text in [String::new(), "  ".to_owned(), "a b".to_owned(), long(1024), long(1025)] {
        assert_eq!(reason.is_valid(&json!(text)), check_new_reason(&text).is_ok(), "{text:?}");
    }
    for (prefix, good) in
        [("urn:a1", true), ("urn:a", false), ("urn:x-y:z", true), ("urn:xx:", false), ("urn:Xx", false)]
    {
        assert_eq!(Prefix::parse(prefix).is_ok(), good, "{prefix}");
        assert_eq!(urn.is_valid(&json!(format!("{prefix}:payment:v1.1"))), good, "{prefix}");
    }
}
