//! Tests of `sessions`.
