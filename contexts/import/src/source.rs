//! The text of a source: JSON or YAML.

use semgate_contexts::json;
use serde_json::Value;

use crate::fault::ImportFault;

/// Bounds of a source: the largest public descriptions of interfaces have some 10 MB.
const READER: json::Limits = json::Limits {
    max_bytes: 16 << 20,
    max_depth: 96,
    max_nodes: 1_000_000,
    max_string_bytes: 1 << 20,
    max_key_bytes: 1 << 12,
    large_integers: true,
};

/// Reads JSON, strictly.
///
/// # Errors
/// Not strict JSON, or past 16 MiB, 96 levels or 1,000,000 values.
pub fn json(bytes: &[u8]) -> Result<Value, ImportFault> {
    let read = json::read(bytes, &READER)
        .map_err(|fault| ImportFault::new(format_args!("not strict JSON: {fault}")))?;
    Ok(read.to_value())
}

/// Reads JSON, or else YAML 1.2 with the types of JSON: two equal keys, several documents and more than 1,000,000 values are refused,
/// and aliases are counted.
///
/// # Errors
/// Neither.
pub fn json_or_yaml(bytes: &[u8]) -> Result<Value, ImportFault> {
    let start = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if matches!(start, Some(b'{' | b'[')) {
        return json(bytes);
    }
    if bytes.len() > READER.max_bytes {
        return Err(ImportFault::new(format_args!("more than {} bytes", READER.max_bytes)));
    }
    let text =
        std::str::from_utf8(bytes).map_err(|_| ImportFault::new("neither JSON nor YAML: not UTF-8"))?;
    let budget = serde_saphyr::budget! {
        max_documents: 1,
        max_nodes: READER.max_nodes,
        max_depth: READER.max_depth,
    };
    let options = serde_saphyr::options! {
        budget: budget,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|fault| ImportFault::new(format_args!("neither JSON nor YAML: {fault}")))
}
