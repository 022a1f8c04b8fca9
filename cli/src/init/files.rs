//! The files of a plan. They are made in a directory of their own, which then takes its name: an interruption leaves nothing half made.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use semgate_authority::{InitOptions, Publisher, StartDocument, init};

use super::plan::{Plan, RoutePlan};
use super::rules::{agent_id, cases, entities, policies};
use crate::fault::{Doing, Fault};
use crate::system::{read, unwritable};
use crate::up::{GATEWAY, LOCK_SECRET, OPERATOR, certificates, lock_secret, own_addresses, write_once};
use crate::up_directory::{AUDIT, AUTHORITY_TOML, FIREWALL_TOML, Notes, POLICIES, UP_TOML, cert, key};

/// Refuses a directory with anything in it.
///
/// # Errors
/// It is not empty, or is no directory.
pub fn refuse_full(dir: &Path) -> Result<(), Fault> {
    let full = match fs::read_dir(dir) {
        Ok(mut entries) => entries.next().is_some(),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => false,
        Err(why) => return Err(unwritable(dir, &why)),
    };
    if full {
        return Err(Fault::new(format_args!("`{}` is not empty", dir.display())).hint(
            "nothing was changed: name a new directory, or continue with this one by `semgate up --dir`",
        ));
    }
    Ok(())
}

/// Makes everything.
///
/// # Errors
/// The error of the file system, or a name that no certificate can hold.
pub fn make(dir: &Path, plan: &Plan) -> Result<(), Fault> {
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(|why| unwritable(parent, &why))?;
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let making = parent.join(format!(".{name}.making-{}", std::process::id()));
    let made = fill(&making, plan).and_then(|()| {
        // an empty directory gives way
        fs::rename(&making, dir).map_err(|why| unwritable(dir, &why))
    });
    if made.is_err() {
        let _ = fs::remove_dir_all(&making);
    }
    made
}

fn fill(dir: &Path, plan: &Plan) -> Result<(), Fault> {
    for part in ["", "agents", "firewall", "policies/cases", "contexts"] {
        let part = dir.join(part);
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&part);
        made.map_err(|why| unwritable(&part, &why))?;
    }
    let made =
        init(dir, &authority(plan)).hinted("the authority", "choose other names; `--help` describes them")?;
    let roots = made.roots.strip_prefix(dir).unwrap_or(&made.roots).to_path_buf();
    name_schema(&dir.join(AUTHORITY_TOML))?;
    let mut files: BTreeMap<PathBuf, String> = BTreeMap::new();
    files.insert(FIREWALL_TOML.into(), firewall(plan, &roots, &made.log_key));
    files.insert("firewall.schema.json".into(), format!("{:#}\n", semgate_gateway::Config::schema()));
    files.insert("authority.schema.json".into(), format!("{:#}\n", semgate_authority::Config::schema()));
    files.insert(LOCK_SECRET.into(), lock_secret()?);
    let in_policies = |name: &str| PathBuf::from(POLICIES).join(name);
    files.insert(in_policies("entities.json"), entities(plan)?);
    files.insert(in_policies("cases/first.json"), cases(plan)?);
    for route in &plan.routes {
        files.insert(in_policies(&format!("{}.cedar", route.name)), policies(plan, route));
    }
    for document in &plan.documents {
        let file = PathBuf::from(&document.file);
        if let Some(tools) = &document.tools {
            files.insert(file.with_extension("tools.json"), tools.clone());
        }
        files.insert(file, document.text.clone());
    }
    for (name, text) in &files {
        write_once(&dir.join(name), text.as_bytes())?;
    }
    let agents = identities(plan);
    certificates(dir, &agents)?;
    let notes = Notes { agent: None, signing_agent: None, roots, agents };
    write_once(&dir.join(UP_TOML), toml::to_string(&notes).doing("notes")?.as_bytes())
}

/// Names the schema of an authority's configuration to editors, in its first line.
fn name_schema(file: &Path) -> Result<(), Fault> {
    let text = format!("#:schema ./authority.schema.json\n{}", read(file)?);
    fs::write(file, text).map_err(|why| unwritable(file, &why))
}

fn identities(plan: &Plan) -> BTreeMap<String, String> {
    let own = |name: &str| format!("spiffe://{}/{name}", plan.trust_domain);
    BTreeMap::from([
        (plan.client.clone(), agent_id(&plan.trust_domain, &plan.client)),
        (OPERATOR.to_owned(), own(OPERATOR)),
        (GATEWAY.to_owned(), own(GATEWAY)),
    ])
}

fn authority(plan: &Plan) -> InitOptions {
    let shipped = plan.shipped.iter().map(|line| StartDocument::Shipped(line.clone()));
    let files = plan.documents.iter().map(|one| StartDocument::File(one.file.clone().into()));
    let operator = Publisher::of_everything(&format!("spiffe://{}/{OPERATOR}", plan.trust_domain));
    InitOptions {
        publish_at_start: shipped.chain(files).collect(),
        publishers: vec![operator],
        listen: plan.authority,
        admin: plan.authority_admin,
        server_addresses: own_addresses([plan.authority.ip()]),
        ..InitOptions::on_loopback(&plan.trust_domain)
    }
}

fn firewall(plan: &Plan, roots: &Path, log_key: &str) -> String {
    let (domain, roots, gateway) = (&plan.trust_domain, roots.display(), GATEWAY);
    let mut text = format!(
        r#"#:schema ./firewall.schema.json
# The gateway. `semgate firewall check --config firewall.toml` prints every setting in effect,
# docs/reference/config.md describes each. Alone it runs with `semgate firewall run --config firewall.toml`.
state = "firewall"
admin = "{admin}"  # /status, /metrics, /healthz and /readyz for the operator
policies = "{POLICIES}"  # a change counts within two seconds
audit = "{AUDIT}"  # one record for each message
lock_secret = "{LOCK_SECRET}"

[tls]
certificate = "{certificate}"
key = "{key}"

# Whose certificates count. `semgate cert leaf --usage agent` makes more of them.
[[trust_domain]]
name = "{domain}"
roots = "{roots}"

# Who says which contexts exist: authority.toml.
[[authority]]
name = "{domain}"
url = "https://{authority}"
roots = "{roots}"
present_certificate = true
origin = "{domain}/log"
log_key = "{log_key}"
lines = ["*"]
"#,
        admin = plan.admin,
        certificate = cert(gateway).display(),
        key = key(gateway).display(),
        authority = plan.authority,
    );
    plan.routes.iter().for_each(|one| route(&mut text, plan, one));
    text
}

fn route(text: &mut String, plan: &Plan, route: &RoutePlan) {
    let contexts: Vec<String> = route.contexts.iter().map(|scope| format!("\"{scope}\"")).collect();
    // Writing into a String cannot fail.
    let _ = write!(
        text,
        "\n[[route]]\nname = \"{}\"\nlisten = \"{}\"\nbinding = \"{}\"\nreceiver = \"{}\"\nupstream = \"{}\"\ncontexts = [{}]\n",
        route.name,
        route.listen,
        route.binding,
        route.receiver,
        route.upstream,
        contexts.join(", ")
    );
    for setting in &route.settings {
        let _ = writeln!(text, "{setting}");
    }
    if route.plain {
        let client = agent_id(&plan.trust_domain, &plan.client);
        let _ =
            writeln!(text, "plain_sender = \"{client}\"  # no TLS: everyone on this machine is this client");
    }
}
