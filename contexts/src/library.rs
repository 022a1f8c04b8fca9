//! The contexts that are shipped with Semgate, in the form that their authors write.

/// File name and bytes of each shipped document; `check` brings them into canonical form.
static DOCUMENTS: [(&str, &[u8]); 14] = [
    ("a2a-v1.0", include_bytes!("../library/a2a-v1.0.json")),
    ("a2h-v1.0", include_bytes!("../library/a2h-v1.0.json")),
    ("devops-v1.0", include_bytes!("../library/devops-v1.0.json")),
    ("iac-v1.0", include_bytes!("../library/iac-v1.0.json")),
    ("ldp-v1.0", include_bytes!("../library/ldp-v1.0.json")),
    ("mcp-v1.0", include_bytes!("../library/mcp-v1.0.json")),
    ("payment-v1.0", include_bytes!("../library/payment-v1.0.json")),
    ("payment-v1.1", include_bytes!("../library/payment-v1.1.json")),
    ("payment-v2.0", include_bytes!("../library/payment-v2.0.json")),
    ("snl-v1.0", include_bytes!("../library/snl-v1.0.json")),
    ("sstp-v1.0", include_bytes!("../library/sstp-v1.0.json")),
    ("supplyChain-v1.0", include_bytes!("../library/supplyChain-v1.0.json")),
    ("travel-v2.1", include_bytes!("../library/travel-v2.1.json")),
    ("travel-v2.2", include_bytes!("../library/travel-v2.2.json")),
];

/// Every shipped document, sorted by name (`payment-v1.0`); a minor version stands after the ones before it.
pub fn all() -> &'static [(&'static str, &'static [u8])] {
    &DOCUMENTS
}

/// The line of a shipped document by its name: `payment` of `payment-v1.0`.
pub fn line_of(name: &str) -> &str {
    name.rsplit_once("-v").map_or(name, |(line, _)| line)
}
