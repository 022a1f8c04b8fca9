//! The variable part of a path.

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;

use super::problem::{Code, Problem};

/// The decoded value of a path parameter. A value that is not UTF-8 is refused with a problem document.
pub(super) struct Segment(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Segment {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(text)) => Ok(Self(text)),
            Err(_) => Err(Problem::new(Code::ParameterInvalid, "the path is not UTF-8")),
        }
    }
}
