//! The rules of `deny.toml`, held against what cargo says: licences, sources, banned crates, and crates in two versions.
//!
//! `deny.toml` cannot say through whom alone an unmaintained crate comes in; that rule is here. `cargo deny check` adds the advisories,
//! as `deploy/advisories` does without a connection.

mod advisories;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cargo_metadata::{Metadata, MetadataCommand, PackageId};

/// An unmaintained crate, the crate that alone may bring it in, and the reason why it stays.
const UNMAINTAINED: &[(&str, &str, &str)] = &[
    // RUSTSEC-2025-0057
    ("fxhash", "sled", "sled hashes page numbers of its own with it, and nothing that comes from outside"),
    // RUSTSEC-2024-0384
    ("instant", "sled", "sled's locks call it, where it is the standard library's clock"),
];

/// `deny.toml`, at this place in it.
fn rules(section: &str, member: &str) -> Vec<toml::Value> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../deny.toml")).unwrap();
    let read: toml::Table = text.parse().unwrap();
    read[section][member].as_array().expect("a list").clone()
}

/// The names of the crates in a list of `[bans]`.
fn crates_of(list: &str) -> BTreeSet<String> {
    rules("bans", list).iter().map(|one| one["crate"].as_str().unwrap().to_owned()).collect()
}

fn metadata() -> Metadata {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let locked = vec!["--locked".to_owned()];
    MetadataCommand::new()
        .manifest_path(manifest)
        .other_options(locked)
        .exec()
        .expect("cargo metadata answers")
}

/// The licences of the list.
fn licences() -> BTreeSet<String> {
    rules("licenses", "allow").iter().map(|one| one.as_str().unwrap().to_owned()).collect()
}

/// True if licences of a list can meet a licence expression (SPDX, and the older `/` for OR).
fn is_allowed(expression: &str, licences: &BTreeSet<String>) -> bool {
    let text = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = Words { words: text.split_whitespace().collect(), at: 0, licences };
    let allowed = words.any();
    assert_eq!(words.at, words.words.len(), "`{expression}` is no licence expression");
    allowed
}

/// An expression that is being read: `any` is of alternatives, each `all` of conditions.
struct Words<'a> {
    words: Vec<&'a str>,
    at: usize,
    licences: &'a BTreeSet<String>,
}

impl<'a> Words<'a> {
    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.get(self.at) == Some(&word);
        self.at += usize::from(is_next);
        is_next
    }

    fn any(&mut self) -> bool {
        let mut allowed = self.all();
        while self.take("OR") {
            allowed |= self.all();
        }
        allowed
    }

    fn all(&mut self) -> bool {
        let mut allowed = self.one();
        while self.take("AND") {
            allowed &= self.one();
        }
        allowed
    }

    fn one(&mut self) -> bool {
        if self.take("(") {
            let allowed = self.any();
            assert!(self.take(")"), "a bracket is open in {:?}", self.words);
            return allowed;
        }
        let mut licence = self.words[self.at].to_owned();
        self.at += 1;
        if self.take("WITH") {
            licence = format!("{licence} WITH {}", self.words[self.at]);
            self.at += 1;
        }
        self.licences.contains(&licence)
    }
}

#[test]
fn every_crate_has_a_licence_of_the_list() {
    let licences = licences();
    for (expression, allowed) in [
        ("MIT OR GPL-3.0", true),
        ("GPL-3.0/MIT", true),
        ("MIT AND GPL-3.0", false),
        ("(MIT OR GPL-3.0) AND Unicode-3.0", true),
        ("MIT AND (GPL-3.0 OR AGPL-3.0)", false),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("GPL-2.0 WITH Classpath-exception-2.0", false),
    ] {
        assert_eq!(is_allowed(expression, &licences), allowed, "{expression}");
    }
    for package in metadata().packages {
        let licence =
            package.license.as_deref().unwrap_or_else(|| panic!("`{}` names no licence", package.name));
        assert!(
            is_allowed(licence, &licences),
            "`{}` is under `{licence}`, which is not on the list",
            package.name
        );
    }
}

#[test]
fn every_crate_is_ours_or_from_the_one_registry() {
    let metadata = metadata();
    let registries = rules("sources", "allow-registry");
    let [registry] = registries.as_slice() else { panic!("one registry: {registries:?}") };
    let registry = format!("registry+{}", registry.as_str().unwrap());
    for package in &metadata.packages {
        match &package.source {
            Some(source) => assert_eq!(source.repr, registry, "`{}` comes from elsewhere", package.name),
            None => assert!(metadata.workspace_members.contains(&package.id), "`{}` is a path", package.name),
        }
    }
}

#[test]
fn there_is_one_tls_stack() {
    let banned = crates_of("deny");
    assert!(banned.contains("openssl") && banned.contains("native-tls") && banned.contains("aws-lc-rs"));
    for package in metadata().packages {
        assert!(!banned.contains(package.name.as_str()), "`{}` is a second TLS stack", package.name);
    }
}

#[test]
fn a_crate_in_two_versions_is_on_the_list() {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in metadata().packages {
        versions.entry(package.name.to_string()).or_default().insert(package.version.to_string());
    }
    let known = crates_of("skip");
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        assert!(
            known.contains(name),
            "`{name}` is there as {versions:?}: use one, or list it in `deny.toml`"
        );
    }
}

/// The names of all crates that the workspace reaches without going through one of them.
fn reached_without(metadata: &Metadata, without: &str) -> BTreeSet<String> {
    let nodes = &metadata.resolve.as_ref().expect("a resolved graph").nodes;
    let below: HashMap<&PackageId, &Vec<PackageId>> =
        nodes.iter().map(|node| (&node.id, &node.dependencies)).collect();
    let mut names = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut open: Vec<&PackageId> = metadata.workspace_members.iter().collect();
    while let Some(id) = open.pop() {
        let name = metadata[id].name.as_str();
        if name != without && seen.insert(id) {
            names.insert(name.to_owned());
            open.extend(below[id]);
        }
    }
    names
}

#[test]
fn an_unmaintained_crate_is_named_with_its_reason_and_comes_through_one_other() {
    let metadata = metadata();
    for (name, through, reason) in UNMAINTAINED {
        assert!(
            metadata.packages.iter().any(|one| one.name.as_str() == *name),
            "`{name}` is gone: unlist it"
        );
        assert!(
            !reached_without(&metadata, through).contains(*name),
            "`{name}` is unmaintained and comes not through `{through}` alone ({reason})"
        );
    }
    let ignored = rules("advisories", "ignore");
    assert_eq!(ignored.len(), UNMAINTAINED.len(), "each ignored advisory is of a crate above: {ignored:?}");
}
