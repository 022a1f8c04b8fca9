//! JSON Pointers (RFC 6901) into documents and instances.

/// A JSON Pointer (RFC 6901).
pub(crate) fn pointer<S: AsRef<str>>(segments: &[S]) -> String {
    segments.iter().fold(String::new(), |path, segment| path + "/" + &escaped(segment.as_ref()))
}

/// One segment of a JSON Pointer.
pub(super) fn escaped(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}
