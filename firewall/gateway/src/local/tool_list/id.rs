//! Ids for requests that the gateway makes for a caller.

use serde_json::Value;

/// Above this, ids count down. Numbers that every JSON reader keeps exactly (RFC 8259 §6) reach beyond it.
const HIGH: i64 = 1 << 52;

/// Minimum step to a new number. A counting client has not used these numbers, and will not before the answer arrives.
const BEYOND: i64 = 256;

/// An id of the same kind as the caller's own, so that a server cannot tell the gateway's request from a client's. A number
/// continues from the call's. In a text, each digit and each hexadecimal letter is replaced, except for the version and
/// variant of a UUID. `random` has the characters of a decision id.
pub(super) fn another(id: &Value, random: &str) -> Value {
    let mut random = random.bytes().map(|byte| byte % 32);
    let mut draw = |below: u8| random.next().unwrap_or_default() % below;
    if let Some(number) = id.as_i64() {
        let further = BEYOND + 1 + 32 * i64::from(draw(32)) + i64::from(draw(32));
        return Value::from(if number < HIGH { number + further } else { number - further });
    }
    let text = id.as_str().unwrap_or_default();
    let kind = |at: usize| text.len() == 36 && matches!(at, 14 | 19);
    let change = |(at, c): (usize, char)| match c {
        _ if kind(at) => c,
        '0'..='9' => char::from(b'0' + draw(10)),
        'a'..='f' => char::from(b'a' + draw(6)),
        'A'..='F' => char::from(b'A' + draw(6)),
        _ => c,
    };
    let mut other: String = text.char_indices().map(change).collect();
    if other == text {
        other.push('1');
    }
    Value::from(other)
}

#[cfg(test)]
mod tests {
    use super::{HIGH, another};
    use serde_json::{Value, json};

    #[test]
    fn attack_a_server_knows_a_question_of_the_gateway_by_its_id() {
        let random = "k7q2hz4mw3xj6bta5cnp2dre4g";
        for number in [0, 7, -3, HIGH - 1, HIGH, i64::MAX, i64::MIN] {
            let other = another(&json!(number), random).as_i64().unwrap();
            assert!((257..=1_280).contains(&other.abs_diff(number)), "{other}");
        }
        let uuid = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
        let other = another(&json!(uuid), random);
        let other = other.as_str().unwrap();
        assert_ne!(other, uuid);
        assert_eq!((other.len(), &other[14..15], &other[19..20]), (36, "4", "9"));
        assert!(other.chars().zip(uuid.chars()).all(|(a, b)| a.is_ascii_hexdigit() == b.is_ascii_hexdigit()));
        assert!(another(&json!("req-41"), random).as_str().unwrap().starts_with("r"));
        assert_eq!(another(&json!("x"), random), Value::from("x1"));
    }
}
