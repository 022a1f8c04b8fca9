//! Writes and reads the metadata of each role (TUF specification §4.3 to §4.6).

use super::{Metadata, TufFault, key_id, key_json};
use crate::sha256::sha256;
use semgate_certs::PublicKey;
use semgate_certs::encoding::{from_hex, to_hex};
use serde_json::{Map, Value, json};

/// The supported version of the specification.
const SPEC: &str = "1.0.31";

/// The keys of one role and its threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct Role {
    /// Keys by their id.
    pub keys: Vec<(String, PublicKey)>,
    /// Number of different keys that must sign.
    pub threshold: u64,
}

/// The keys of the roles: root keys for `root` and `targets`, one online key for `snapshot` and `timestamp`.
#[derive(Clone, Debug)]
pub struct Roles {
    /// The keys of the root certificates.
    pub root: Vec<PublicKey>,
    /// Number of them that must sign.
    pub threshold: u64,
    /// The online key.
    pub online: PublicKey,
}

/// `root`: the keys that count from now on.
///
/// # Errors
/// [`TufFault::Member`] for a threshold above the number of keys, and for a time past the year 9999.
pub fn root(roles: &Roles, version: u64, expires: u64) -> Result<Value, TufFault> {
    if roles.threshold == 0 || roles.threshold > roles.root.len() as u64 {
        return Err(TufFault::Member("threshold"));
    }
    let mut keys = Map::new();
    for key in roles.root.iter().chain([&roles.online]) {
        keys.insert(key_id(key)?, key_json(key));
    }
    let mut ids = roles.root.iter().map(key_id).collect::<Result<Vec<_>, _>>()?;
    ids.sort();
    ids.dedup();
    if roles.threshold > ids.len() as u64 {
        return Err(TufFault::Member("threshold"));
    }
    let offline = json!({"keyids": ids, "threshold": roles.threshold});
    let online = json!({"keyids": [key_id(&roles.online)?], "threshold": 1});
    signed(
        "root",
        version,
        expires,
        json!({
            "consistent_snapshot": true,
            "keys": keys,
            "roles": {"root": offline, "targets": offline, "snapshot": online, "timestamp": online},
        }),
    )
}

/// `targets`: these files, by name.
///
/// # Errors
/// As [`root`].
pub fn targets(files: &[(String, Vec<u8>)], version: u64, expires: u64) -> Result<Value, TufFault> {
    let mut targets = Map::new();
    for (name, bytes) in files {
        let hashes = json!({"sha256": to_hex(sha256(bytes))});
        targets.insert(name.clone(), json!({"length": bytes.len(), "hashes": hashes}));
    }
    signed("targets", version, expires, json!({"targets": targets}))
}

/// `snapshot`: the version of `targets`.
///
/// # Errors
/// As [`root`].
pub fn snapshot(targets: u64, version: u64, expires: u64) -> Result<Value, TufFault> {
    signed("snapshot", version, expires, json!({"meta": {"targets.json": {"version": targets}}}))
}

/// `timestamp`: the version of the newest `snapshot`.
///
/// # Errors
/// As [`root`].
pub fn timestamp(snapshot: u64, version: u64, expires: u64) -> Result<Value, TufFault> {
    signed("timestamp", version, expires, json!({"meta": {"snapshot.json": {"version": snapshot}}}))
}

fn signed(role: &str, version: u64, expires: u64, more: Value) -> Result<Value, TufFault> {
    let expires = text_of(expires).ok_or(TufFault::Member("expires"))?;
    let mut signed = json!({"_type": role, "spec_version": SPEC, "version": version, "expires": expires});
    if let (Some(signed), Value::Object(more)) = (signed.as_object_mut(), more) {
        signed.extend(more);
    }
    Ok(signed)
}

impl Role {
    /// The keys of a role in root metadata. Omits kinds of keys that this crate does not verify.
    ///
    /// # Errors
    /// [`TufFault::Member`].
    pub fn of(root: &Metadata, role: &str) -> Result<Role, TufFault> {
        if root.role()? != "root" {
            return Err(TufFault::Member("_type"));
        }
        let definition = root.signed.get("roles").and_then(|roles| roles.get(role));
        let definition = definition.ok_or(TufFault::Member("roles"))?;
        let threshold =
            definition.get("threshold").and_then(Value::as_u64).filter(|threshold| *threshold > 0);
        let ids = definition.get("keyids").and_then(Value::as_array).ok_or(TufFault::Member("keyids"))?;
        let all = root.signed.get("keys").and_then(Value::as_object).ok_or(TufFault::Member("keys"))?;
        let mut keys = Vec::new();
        for id in ids.iter().filter_map(Value::as_str) {
            if let Some(key) = all.get(id).and_then(read_key) {
                keys.push((id.to_owned(), key));
            }
        }
        Ok(Role { keys, threshold: threshold.ok_or(TufFault::Member("threshold"))? })
    }
}

fn read_key(json: &Value) -> Option<PublicKey> {
    let text = json.get("keyval")?.get("public")?.as_str()?;
    let key = match (json.get("keytype")?.as_str()?, json.get("scheme")?.as_str()?) {
        ("ecdsa", "ecdsa-sha2-nistp256") => PublicKey::from_pem(text).ok()?,
        ("ed25519", "ed25519") => {
            let raw = from_hex(text)?;
            PublicKey::from_raw(semgate_certs::SignatureAlgorithm::Ed25519, &raw).ok()?
        }
        _ => return None,
    };
    // one key has one form
    (key_json(&key) == *json).then_some(key)
}

/// `2030-01-31T00:00:00Z` (RFC 3339, as §4.2.1 demands), by the days of the proleptic Gregorian calendar.
fn text_of(seconds: u64) -> Option<String> {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // years from March, so that the leap day is the last one (H. Hinnant, "chrono-compatible low-level date algorithms")
    let shifted = days.checked_add(719_468)?;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    if year > 9999 {
        return None;
    }
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    Some(format!("{year:04}-{month:02}-{of_month:02}T{hour:02}:{minute:02}:{second:02}Z"))
}

/// The seconds of such a text; none for another form.
pub(super) fn seconds_of(text: &str) -> Option<u64> {
    let number = |from: usize, to: usize| -> Option<u64> {
        let digits = text.get(from..to).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        digits.parse().ok()
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if year < 1970 || !(1..=12).contains(&month) || day == 0 {
        return None;
    }
    let (year, from_march) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    let seconds = days.checked_sub(719_468)? * 86_400 + hour * 3600 + minute * 60 + second;
    // one text for one time: any other spelling is refused
    (text_of(seconds)? == text).then_some(seconds)
}
