//! A small authority in memory, for the tests of this crate and of those above it. Not part of the product.
