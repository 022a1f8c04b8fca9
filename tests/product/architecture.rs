//! The house of `docs/architecture.md`, held against what cargo says: arrows only point down, and the lower the floor the fewer the crates from outside.

use std::collections::BTreeSet;

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// Each room with its floor, and the rooms of ours that it may use.
const HOUSE: &[(&str, u8, &[&str])] = &[
    ("semgate-contexts", 0, &[]),
    ("semgate-import", 1, &["semgate-contexts"]),
    ("semgate-scan", 1, &["semgate-contexts"]),
    ("semgate-certs", 1, &["semgate-contexts"]),
    ("semgate-policies", 1, &["semgate-contexts"]),
    ("semgate-protocol", 1, &["semgate-contexts"]),
    ("semgate-policy-analysis", 2, &["semgate-contexts", "semgate-policies"]),
    ("semgate-statement", 2, &["semgate-contexts", "semgate-certs"]),
    (
        "semgate-negotiation",
        3,
        &["semgate-contexts", "semgate-certs", "semgate-protocol", "semgate-statement"],
    ),
    ("semgate-approvals", 3, &["semgate-contexts", "semgate-policies"]),
    (
        "semgate-inspect",
        3,
        &[
            "semgate-contexts",
            "semgate-certs",
            "semgate-policies",
            "semgate-approvals",
            "semgate-scan",
            "semgate-protocol",
            "semgate-statement",
            "semgate-negotiation",
        ],
    ),
    (
        "semgate-authority",
        4,
        &["semgate-contexts", "semgate-certs", "semgate-policies", "semgate-scan", "semgate-statement"],
    ),
    (
        "semgate-gateway",
        4,
        &[
            "semgate-contexts",
            "semgate-certs",
            "semgate-policies",
            "semgate-protocol",
            "semgate-statement",
            "semgate-negotiation",
            "semgate-approvals",
            "semgate-scan",
            "semgate-inspect",
        ],
    ),
    (
        "semgate-console",
        4,
        &["semgate-contexts", "semgate-certs", "semgate-policies", "semgate-policy-analysis"],
    ),
    (
        "semgate",
        5,
        &[
            "semgate-contexts",
            "semgate-import",
            "semgate-certs",
            "semgate-policies",
            "semgate-policy-analysis",
            "semgate-protocol",
            "semgate-statement",
            "semgate-negotiation",
            "semgate-approvals",
            "semgate-scan",
            "semgate-inspect",
            "semgate-authority",
            "semgate-gateway",
            "semgate-console",
        ],
    ),
];

/// What opens sockets or runs them: nothing below floor 4 may bring it in.
const SOCKETS: &[&str] =
    &["tokio", "hyper", "hyper-util", "axum", "socket2", "tokio-rustls", "reqwest", "sled"];

fn packages() -> Vec<Package> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    MetadataCommand::new()
        .manifest_path(manifest)
        .other_options(vec!["--locked".to_owned()])
        .exec()
        .expect("cargo metadata answers")
        .packages
}

fn normal(package: &Package) -> BTreeSet<String> {
    let kept = package.dependencies.iter().filter(|d| d.kind == DependencyKind::Normal);
    kept.map(|d| d.name.clone()).collect()
}

#[test]
fn arrows_between_rooms_only_point_down() {
    let packages = packages();
    for (room, _, allowed) in HOUSE {
        let package = packages.iter().find(|p| p.name.as_str() == *room).expect("every room exists");
        let ours = normal(package).into_iter().filter(|d| HOUSE.iter().any(|(r, ..)| r == d));
        for used in ours {
            assert!(allowed.contains(&used.as_str()), "`{room}` uses `{used}`, which the house forbids");
        }
    }
}

#[test]
fn every_room_of_ours_is_in_the_plan_and_none_is_called_common() {
    for package in packages().iter().filter(|p| p.name.starts_with("semgate")) {
        let name = package.name.as_str();
        assert!(HOUSE.iter().any(|(room, ..)| *room == name), "`{name}` is no room of the house");
        assert!(!name.ends_with("common") && !name.ends_with("util"));
    }
}

#[test]
fn nothing_below_floor_four_opens_a_socket() {
    let packages = packages();
    for (room, floor, _) in HOUSE.iter().filter(|(_, floor, _)| *floor < 4) {
        let package = packages.iter().find(|p| p.name.as_str() == *room).expect("every room exists");
        for used in normal(package) {
            assert!(!SOCKETS.contains(&used.as_str()), "`{room}` on floor {floor} brings in `{used}`");
        }
    }
}

/// Words that read a clock, draw randomness or open a socket by themselves; below floor 4 all three are arguments (`docs/design/house.md`).
const REACHING_OUT: &[&str] = &[
    "SystemTime::now",
    "Instant::now",
    "SystemRandom::new",
    "thread_rng",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
];

fn sources(dir: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a folder of the house").flatten() {
        let path = entry.path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_owned();
        if path.is_dir() {
            if !["target", ".git", "node_modules"].contains(&name.as_str()) {
                sources(&path, found);
            }
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

fn house() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A room's own code, without its tests, benches and examples.
fn is_code(path: &std::path::Path) -> bool {
    let text = path.to_string_lossy();
    text.contains("/src/") && !text.contains("test")
}

#[test]
fn below_floor_four_clock_randomness_and_sockets_are_arguments() {
    let lower = [
        "contexts",
        "certs",
        "policies/engine",
        "firewall/protocol",
        "authority/statement",
        "firewall/negotiation",
        "firewall/inspect",
    ];
    let mut files = Vec::new();
    lower.iter().for_each(|room| sources(&house().join(room), &mut files));
    for file in files.iter().filter(|f| is_code(f)) {
        let text = std::fs::read_to_string(file).expect("source");
        let code = text.lines().filter(|l| !l.trim_start().starts_with("//"));
        for line in code {
            let word = REACHING_OUT.iter().find(|w| line.contains(*w));
            assert!(word.is_none(), "`{}` uses `{}`", file.display(), word.unwrap_or(&""));
        }
    }
}

#[test]
fn no_room_is_too_large_to_be_read_at_once() {
    let mut files = Vec::new();
    sources(&house(), &mut files);
    for file in files {
        let lines = std::fs::read_to_string(&file).expect("source").lines().count();
        assert!(lines <= 600, "`{}` has {lines} lines: it is two rooms", file.display());
    }
}
