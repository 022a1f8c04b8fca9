//! Tests of `policies`.
