//! The house of DESIGN §1, held against what cargo says: arrows only point down, and the lower the floor the fewer the crates from outside.

use std::collections::BTreeSet;

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// Each room with its floor, and the rooms of ours that it may use.
const HOUSE: &[(&str, u8, &[&str])] = &[
    ("semgate-contexts", 0, &[]),
    ("semgate-certs", 1, &["semgate-contexts"]),
    ("semgate-policies", 1, &["semgate-contexts"]),
    ("semgate-message", 1, &["semgate-contexts"]),
    ("semgate-statement", 2, &["semgate-contexts", "semgate-certs"]),
    (
        "semgate-negotiation",
        3,
        &["semgate-contexts", "semgate-certs", "semgate-message", "semgate-statement"],
    ),
    (
        "semgate-inspect",
        3,
        &[
            "semgate-contexts",
            "semgate-certs",
            "semgate-policies",
            "semgate-message",
            "semgate-statement",
            "semgate-negotiation",
        ],
    ),
    ("semgate-authority", 4, &["semgate-contexts", "semgate-certs", "semgate-statement"]),
    (
        "semgate-gateway",
        4,
        &[
            "semgate-contexts",
            "semgate-certs",
            "semgate-policies",
            "semgate-message",
            "semgate-statement",
            "semgate-negotiation",
            "semgate-inspect",
        ],
    ),
    (
        "semgate",
        5,
        &[
            "semgate-contexts",
            "semgate-certs",
            "semgate-policies",
            "semgate-message",
            "semgate-statement",
            "semgate-negotiation",
            "semgate-inspect",
            "semgate-authority",
            "semgate-gateway",
        ],
    ),
];

/// What opens sockets or runs them: nothing below floor 4 may bring it in.
const SOCKETS: &[&str] =
    &["tokio", "hyper", "hyper-util", "axum", "socket2", "tokio-rustls", "reqwest", "sled"];

/// A second TLS stack or crypto provider: nowhere in the tree (DESIGN §6).
const SECOND_TLS: &[&str] = &["openssl", "openssl-sys", "native-tls", "aws-lc-rs", "aws-lc-sys", "boring"];

fn packages() -> Vec<Package> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    MetadataCommand::new()
        .manifest_path(manifest)
        .other_options(vec!["--locked".to_owned(), "--offline".to_owned()])
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

#[test]
fn there_is_one_tls_stack() {
    for package in packages() {
        assert!(!SECOND_TLS.contains(&package.name.as_str()), "`{}` is a second TLS stack", package.name);
    }
}
