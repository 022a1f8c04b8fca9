//! Settings of earlier versions that have no meaning any more.

use toml::de::{DeTable, DeValue};

use super::ConfigFault;

/// Removed limits, and what decides in their place.
const REMOVED: &[(&str, &str)] = &[
    ("text_artifacts", APPENDED),
    ("told_text", APPENDED),
    ("told_versions", APPENDED),
    ("told_mixed", APPENDED),
    ("told_order", APPENDED),
    ("push_texts", APPENDED),
    ("peer_interval", COMPARED),
];

const APPENDED: &str = "left out: appended text is judged on its own stream alone, within 256 KiB";

const COMPARED: &str =
    "left out: gateways compare no checkpoints; demand cosignatures with `witnesses` of `[[authority]]`";

/// Limits that are constants now.
const FIXED: &[(&str, &str)] = &[
    ("headers", "64"),
    ("streams", "100"),
    ("stream_resets", "20"),
    ("stream_window", "256 KiB"),
    ("ping_interval", "30s"),
    ("credentials_remembered", "8"),
    ("inflate_ratio", "100"),
    ("depth", "32"),
    ("concepts", "64"),
    ("reply_concepts", "4096"),
    ("named_ids", "512"),
    ("rate_buckets", "1048576"),
    ("metered_agents", "65536"),
    ("events", "100000"),
    ("owned", "4096"),
    ("owned_of_all", "262144"),
    ("push_targets", "256"),
    ("subscriptions_of_all", "16384"),
    ("unanswered", "64"),
    ("learnt_sessions", "1024"),
    ("learnt_concepts", "16"),
    ("proposals", "256"),
    ("proposals_of_all", "65536"),
    ("subscription_time", "1h"),
    ("appended_text", "256 KiB"),
    ("list_pages", "64"),
    ("tool_pages", "16"),
    ("open_requests", "256"),
    ("open_requests_of_all", "65536"),
    ("request_ids", "4096"),
    ("resumable_events", "1024"),
    ("challenge_bytes", "4 KiB"),
    ("metadata_bytes", "64 KiB"),
    ("upstream_idle", "64"),
    ("upstream_idle_timeout", "4s"),
    ("upstream_wait", "5s"),
    ("audit_queue", "8192"),
    ("audit_asked_bytes", "16 KiB"),
    ("policy_read_tries", "5"),
    ("policy_faults_told", "256"),
    ("policy_files", "1000"),
    ("policy_file_bytes", "1 MiB"),
    ("policy_bundle_bytes", "32 MiB"),
    ("entities_bytes", "16 MiB"),
    ("agents", "100000"),
    ("policy_memberships", "256"),
    ("policy_verdicts", "16384"),
    ("policy_budgets", "1024"),
    ("policy_left_out_tries", "512"),
    ("policy_line_looks", "100000"),
    ("policy_nesting", "500"),
];

/// The fault of a file that has a retired setting; none where it has no such setting.
pub(super) fn fault(file: &DeTable<'_>, text: &str) -> Option<ConfigFault> {
    if let Some((key, _)) = file.get_key_value("peer") {
        return Some(ConfigFault::value("peer", COMPARED).at(text, &key.span()));
    }
    let DeValue::Table(limits) = file.get("limits")?.get_ref() else { return None };
    limits.keys().find_map(|key| {
        let name = key.get_ref().as_ref();
        let of = |table: &'static [(&str, &str)]| table.iter().find(|(known, _)| *known == name);
        let fixed = of(FIXED).map(|(_, bound)| {
            let what = format!("`limits.{name}` is no longer configurable: the bound is {bound}");
            ConfigFault::Wrong { line: 0, column: 0, what }
        });
        let removed = || of(REMOVED).map(|(_, must)| ConfigFault::value(format!("limits.{name}"), must));
        fixed.or_else(removed).map(|fault| fault.at(text, &key.span()))
    })
}
