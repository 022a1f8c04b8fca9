//! People and the console of `up`: their cards, certificates and configuration.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use super::layout::{TRUST_DOMAIN, spiffe, write_once};
use crate::fault::{Doing, Fault};
use crate::up_directory::{AUTHORITY_TOML, CONSOLE_TOML, HUMANS as HUMANS_DIR, cert, key};

/// The console, which acts for the people it has logged in.
pub const CONSOLE: &str = "console";
/// The console as a server of pages.
pub const CONSOLE_SERVER: &str = "console-server";

/// People who may decide: name, name for people, role, and capabilities.
pub const HUMANS: [(&str, &str, &str, &[&str]); 2] = [
    ("bob.sre", "Bob", "Senior SRE", &["sre", "kubernetes", "approver"]),
    ("alice.eng", "Alice", "Senior Engineer", &["python", "treasurer", "approver"]),
];

/// Addresses that the console needs.
pub struct ConsoleAddresses {
    /// Its own.
    pub listen: SocketAddr,
    /// The gateway's admin address.
    pub admin: SocketAddr,
    /// The gateway's address for people.
    pub people: SocketAddr,
    /// The authority's.
    pub authority: SocketAddr,
}

/// Writes cards and the console's configuration, and lets the authority know the console.
///
/// # Errors
/// The error of the file system.
pub fn write(dir: &Path, roots: &Path, at: &ConsoleAddresses) -> Result<(), Fault> {
    for (name, ..) in HUMANS {
        write_once(&dir.join(HUMANS_DIR).join(format!("{name}.json")), card(name)?.as_bytes())?;
    }
    write_once(&dir.join(CONSOLE_TOML), console_toml(roots, at).as_bytes())?;
    let path = dir.join(AUTHORITY_TOML);
    let text = fs::read_to_string(&path).doing(format_args!("reading `{}`", path.display()))?;
    let consoles = format!("consoles = [\"{}\"]\n{text}", spiffe(CONSOLE));
    crate::system::replace(&path, consoles.as_bytes())
}

/// The card of a person of [`HUMANS`].
fn card(name: &str) -> Result<String, Fault> {
    let known = HUMANS.iter().find(|(human, ..)| *human == name);
    let (_, called, role, capabilities) =
        known.ok_or_else(|| Fault::new(format_args!("no person `{name}`")))?;
    let card = serde_json::json!({
        "id": format!("human://{name}"),
        "profile": {"name": called, "role": role, "timezone": "UTC"},
        "capabilities": capabilities,
        "status": "AVAILABLE",
        "certificate": spiffe(name),
    });
    serde_json::to_string_pretty(&card).doing("human card")
}

fn console_toml(roots: &Path, at: &ConsoleAddresses) -> String {
    let ConsoleAddresses { listen, admin, people, authority } = at;
    let roots = roots.display();
    let (page_cert, page_key) = (cert(CONSOLE_SERVER), key(CONSOLE_SERVER));
    let (own_cert, own_key) = (cert(CONSOLE), key(CONSOLE));
    let (bob, alice) = (spiffe("bob.sre"), spiffe("alice.eng"));
    format!(
        r#"# The console of `semgate up`; also works alone: semgate console run --config console.toml
listen = "{listen}"
people_roots = "{roots}"
policies = "policies"
audit = "firewall/audit.jsonl"
audit_file = "console-audit.jsonl"
link = "human://bob.sre"

[tls]
certificate = "{}"
key = "{}"

[identity]
certificate = "{}"
key = "{}"

[authority]
url = "https://{authority}"
roots = "{roots}"

[[gateway]]
name = "{TRUST_DOMAIN}"
admin = "http://{admin}"
approvals = "https://{people}"
roots = "{roots}"

[[person]]
id = "{bob}"
human = "human://bob.sre"
name = "Bob"
roles = ["viewer", "auditor", "operator", "approver"]

[[person]]
id = "{alice}"
human = "human://alice.eng"
name = "Alice"
roles = ["viewer", "approver"]
"#,
        page_cert.display(),
        page_key.display(),
        own_cert.display(),
        own_key.display(),
    )
}
