//! Quotas in the head of an answer: `RateLimit-Policy` and `RateLimit`, as structured fields
//! (draft-ietf-httpapi-ratelimit-headers-10, RFC 9651).

use http::{HeaderMap, HeaderName, HeaderValue};
use semgate_inspect::Quota;

use crate::pipeline::answer::Answer;

/// The quotas (§3).
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// Their remaining units (§4).
const LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// Quotas in an answer, kept for a combined answer.
#[derive(Clone, Debug)]
struct SentQuotas(Vec<Quota>);

/// Adds the quotas of a message; no header without any.
pub(crate) fn tell(answer: &mut Answer, quotas: Vec<Quota>) {
    write(answer.headers_mut(), &quotas);
    if !quotas.is_empty() {
        answer.extensions_mut().insert(SentQuotas(quotas));
    }
}

/// Returns the quotas in an answer.
pub(crate) fn sent(answer: &mut Answer) -> Vec<Quota> {
    answer.extensions_mut().remove().map(|SentQuotas(quotas)| quotas).unwrap_or_default()
}

fn write(headers: &mut HeaderMap, quotas: &[Quota]) {
    use std::fmt::Write;
    let (mut policy, mut limit) = (String::new(), String::new());
    for quota in quotas {
        // a name has only letters, digits, `.`, `_` and `-`, so the string needs no escapes
        let _ = write!(policy, "{}\"{}\";q={};w={}", comma(&policy), quota.name, quota.most, quota.window);
        let Some(left) = quota.left else { continue };
        let _ = write!(limit, "{}\"{}\";r={}", comma(&limit), quota.name, left.units);
        if let Some(seconds) = left.more_in {
            let _ = write!(limit, ";t={seconds}");
        }
    }
    for (name, list) in [(POLICY, policy), (LIMIT, limit)] {
        if let (false, Ok(value)) = (list.is_empty(), HeaderValue::try_from(list)) {
            headers.insert(name, value);
        }
    }
}

fn comma(before: &str) -> &'static str {
    if before.is_empty() { "" } else { ", " }
}

#[cfg(test)]
mod tests {
    use super::*;
    use semgate_inspect::Left;

    fn quota(name: &str, left: Option<(u64, Option<u64>)>) -> Quota {
        let left = left.map(|(units, more_in)| Left { units, more_in });
        Quota { name: name.into(), most: 10, window: 60, left }
    }

    #[test]
    fn limits_are_lists_of_strings_with_parameters() {
        let mut headers = HeaderMap::new();
        write(&mut headers, &[]);
        assert!(headers.is_empty());
        write(
            &mut headers,
            &[quota("a", Some((3, Some(6)))), quota("b", None), quota("c", Some((10, None)))],
        );
        assert_eq!(headers["ratelimit-policy"], r#""a";q=10;w=60, "b";q=10;w=60, "c";q=10;w=60"#);
        assert_eq!(headers["ratelimit"], r#""a";r=3;t=6, "c";r=10"#);
    }
}
