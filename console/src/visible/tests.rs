//! Tests of `visible`.
