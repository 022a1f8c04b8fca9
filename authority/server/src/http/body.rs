//! Request bodies: bounded in bytes and time, of a named media type, and read by the strict reader.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use semgate_contexts::json::{self, Fault, Json};
use tokio::time::timeout;

use super::problem::{Code, Problem};

/// Reads a whole body.
pub(super) async fn read(body: Body, max: usize, within: Duration) -> Result<Bytes, Problem> {
    match timeout(within, Limited::new(body, max).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(e)) if e.downcast_ref::<LengthLimitError>().is_some() => {
            Err(Problem::new(Code::TooLarge, format_args!("the body is longer than {max} bytes")))
        }
        Ok(Err(_)) => Err(Problem::new(Code::Malformed, "the body ended early")),
        Err(_) => Err(Code::RequestTimeout.into()),
    }
}

/// The media type without parameters, in lower case; `charset` may be `utf-8` only. A content encoding is refused.
pub(super) fn media_type(headers: &HeaderMap) -> Result<String, Problem> {
    let wrong = |what: &str| Problem::new(Code::MediaTypeUnsupported, what);
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(wrong("a content encoding is not accepted"));
    }
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(wrong("there is not exactly one content type"));
    };
    let text =
        value.to_str().map_err(|_| wrong("the content type is not a media type"))?.to_ascii_lowercase();
    let mut parts = text.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default().to_owned();
    if parts.any(|p| !p.is_empty() && p != "charset=utf-8" && p != "charset=\"utf-8\"") {
        return Err(wrong("the media type has another parameter than `charset=utf-8`"));
    }
    Ok(essence)
}

/// Refuses everything but `application/json`.
pub(super) fn only_json(headers: &HeaderMap) -> Result<(), Problem> {
    match media_type(headers)?.as_str() {
        "application/json" => Ok(()),
        _ => Err(Code::MediaTypeUnsupported.into()),
    }
}

/// Parses the body with the strict reader.
pub(super) fn read_json<'b>(bytes: &'b [u8], limits: &json::Limits) -> Result<Json<'b>, Problem> {
    json::read(bytes, limits).map_err(|fault| match fault {
        Fault::DuplicateKey { .. } => Problem::new(Code::DuplicateKey, fault),
        fault => Problem::new(Code::Malformed, fault),
    })
}

/// The object in a body, with no member but these.
pub(super) fn closed<'j, 'b>(read: &'j Json<'b>, names: &[&str]) -> Result<&'j json::Object<'b>, Problem> {
    let Some(object) = read.as_object() else {
        return Err(Problem::new(Code::Malformed, "the body is not a json object"));
    };
    if object.iter().any(|(name, _)| !names.contains(&name)) {
        return Err(Problem::new(Code::Malformed, "the body has a member that the route does not accept"));
    }
    Ok(object)
}

/// The members of a small closed JSON object, all strings and all required.
pub(super) fn texts<const N: usize>(bytes: &[u8], names: [&'static str; N]) -> Result<[String; N], Problem> {
    let limits =
        json::Limits { max_bytes: bytes.len(), max_depth: 2, max_nodes: 64, ..json::Limits::default() };
    let read = read_json(bytes, &limits)?;
    let object = closed(&read, &names)?;
    let mut out: [String; N] = std::array::from_fn(|_| String::new());
    for (slot, name) in out.iter_mut().zip(names) {
        let text = object.get(name).and_then(Json::as_str);
        let wrong =
            || Problem::new(Code::Malformed, format_args!("member `{name}` is missing or not a string"));
        *slot = text.ok_or_else(wrong)?.to_owned();
    }
    Ok(out)
}
