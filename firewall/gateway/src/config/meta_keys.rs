//! Serde functions of `meta`.

use semgate_protocol::MetaKeys;
use serde::{Deserialize, Deserializer, Serializer};

use super::read::fault;

pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<MetaKeys, D::Error> {
    MetaKeys::parse(&Vec::<String>::deserialize(d)?)
        .map_err(|bad| fault(format_args!("keys, or prefixes that end in `.` or `/`: {bad}")))
}

pub(super) fn serialize<S: Serializer>(keys: &MetaKeys, s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(keys.entries())
}
