//! Tests of `roles`.
