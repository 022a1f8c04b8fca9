//! Tests of `audit`.
