//! Successful answers: documents with a strong ETag, and small JSON.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::document::Document;

/// Revalidate each time; the ETag makes it cheap.
pub(super) const REVALIDATE: &str = "no-cache";
/// The bytes under this address never change.
pub(super) const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// A document, or 304 if the caller has it.
pub(super) fn document(
    headers: &HeaderMap,
    document: &Document,
    media_type: &'static str,
    cache: &'static str,
) -> Response {
    let mut answer = if known(headers, &document.etag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let mut answer = document.bytes.clone().into_response();
        answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        answer
    };
    answer.headers_mut().insert(header::ETAG, document.etag.clone());
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    answer
}

/// Returns true if the caller already has the document with this tag.
pub(super) fn known(headers: &HeaderMap, etag: &HeaderValue) -> bool {
    headers.get_all(header::IF_NONE_MATCH).iter().any(|value| names(value, etag))
}

/// Returns true if an `If-None-Match` names the tag (RFC 9110 §13.1.2: weak comparison, a list, or `*`).
fn names(value: &HeaderValue, etag: &HeaderValue) -> bool {
    let (Ok(list), Ok(etag)) = (value.to_str(), etag.to_str()) else { return false };
    list.split(',').map(str::trim).any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == etag)
}

/// A JSON value that must not be cached.
pub(super) fn json(status: StatusCode, value: &serde_json::Value) -> Response {
    let mut answer = (status, value.to_string()).into_response();
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
