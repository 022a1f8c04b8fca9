//! Answers that are ready to be served.

use bytes::Bytes;
use http::HeaderValue;
use semgate_contexts::Digest;

/// Bytes served as they are, with a strong ETag.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub bytes: Bytes,
    pub etag: HeaderValue,
}

impl Document {
    /// Bytes with the ETag that is their digest.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let etag = format!("\"{}\"", Digest::of(&bytes).hex());
        let etag = HeaderValue::from_str(&etag).unwrap_or_else(|_| HeaderValue::from_static("\"\""));
        Self { bytes, etag }
    }
}
