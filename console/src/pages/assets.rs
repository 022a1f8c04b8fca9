//! The embedded files. Nothing is read from disk or fetched.

use std::sync::LazyLock;

use axum::body::Body;
use axum::response::Response;
use data_encoding::HEXLOWER;
use http::{HeaderValue, StatusCode, header};
use ring::digest::{SHA256, digest};

use crate::answer::{Answer, Trouble};
use crate::guard::Guest;

const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

/// Name, media type and bytes of each file.
const FILES: &[(&str, &str, &[u8])] = &[
    ("console.css", CSS, include_bytes!("../../assets/console.css")),
    ("console.js", JS, include_bytes!("../../assets/console.js")),
    ("verdicts.js", JS, include_bytes!("../../assets/verdicts.js")),
    ("icon.svg", "image/svg+xml", include_bytes!("../../assets/icon.svg")),
    ("htmx.min.js", JS, include_bytes!("../../assets/vendor/htmx.min.js")),
    ("uPlot.iife.min.js", JS, include_bytes!("../../assets/vendor/uPlot.iife.min.js")),
    ("uPlot.min.css", CSS, include_bytes!("../../assets/vendor/uPlot.min.css")),
];

/// The entity tag of each file, in the order of [`FILES`].
static TAGS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let tag = |bytes: &[u8]| format!("\"{}\"", HEXLOWER.encode(digest(&SHA256, bytes).as_ref()));
    FILES.iter().map(|(_, _, bytes)| tag(bytes)).collect()
});

/// `GET /assets/{name}`: revalidated by its tag.
pub(crate) fn get(guest: &Guest) -> Answer {
    let name = guest.path.get("name").map(String::as_str).unwrap_or_default();
    let known = FILES.iter().zip(TAGS.iter()).find(|((known, ..), _)| *known == name);
    let ((_, kind, bytes), tag) = known.ok_or_else(|| Trouble::missing("There is no such file."))?;
    let is_known =
        guest.headers.get(header::IF_NONE_MATCH).is_some_and(|shown| shown.as_bytes() == tag.as_bytes());
    let mut answer = Response::new(if is_known { Body::empty() } else { Body::from(*bytes) });
    if is_known {
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::ETAG, HeaderValue::from_str(tag).map_err(Trouble::internal)?);
    Ok(answer)
}
