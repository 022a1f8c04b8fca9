//! Tests of `roles`.

use super::*;

fn of(roles: &[Role]) -> BTreeSet<Role> {
    roles.iter().copied().collect()
}

/// The roles that may open a row, in words.
fn may(path: &str, verb: Verb) -> Vec<&'static str> {
    let row = TABLE.iter().find(|row| row.path == path && row.verb == verb).unwrap();
    ANY.iter().filter(|role| admits(row.access, &of(&[**role]))).map(|role| role.as_str()).collect()
}

#[test]
fn each_path_and_method_stands_once_in_the_table() {
    for (at, row) in TABLE.iter().enumerate() {
        let same = TABLE.iter().skip(at + 1).any(|other| other.path == row.path && other.verb == row.verb);
        assert!(!same, "{:?} {}", row.verb, row.path);
    }
}

#[test]
fn acts_belong_to_one_role_each() {
    for act in ["approve", "deny", "delegate"] {
        assert_eq!(may(&format!("/approvals/{{id}}/{act}"), Verb::Post), ["approver"]);
    }
    assert_eq!(may("/standing/{act}", Verb::Post), ["operator"]);
    let acts = TABLE.iter().filter(|row| row.verb == Verb::Post && matches!(row.access, Access::Roles(..)));
    let known = ["/logout", "/policies/explain", "/standing/{act}"];
    for row in acts {
        assert!(known.contains(&row.path) || row.path.starts_with("/approvals/"), "{}", row.path);
    }
}

#[test]
fn approvals_are_read_by_approvers_alone_and_the_log_by_auditors_alone() {
    assert_eq!(may("/approvals", Verb::Get), ["approver"]);
    assert_eq!(may("/approvals/{id}", Verb::Get), ["approver"]);
    assert_eq!(may("/log", Verb::Get), ["auditor"]);
    assert_eq!(may("/", Verb::Get), ["viewer", "auditor", "operator"]);
}

#[test]
fn nobody_without_a_role_opens_anything() {
    let closed = TABLE.iter().filter(|row| matches!(row.access, Access::Roles(..)));
    assert!(closed.clone().count() > 15);
    assert!(!closed.clone().any(|row| admits(row.access, &BTreeSet::new())));
    assert_eq!(navigation(&BTreeSet::new()).count(), 0);
}

#[test]
fn a_person_has_the_union_of_the_roles() {
    let both = of(&[Role::Viewer, Role::Approver]);
    let paths: Vec<&str> = navigation(&both).map(|(_, path)| path).collect();
    assert!(paths.contains(&"/") && paths.contains(&"/approvals") && !paths.contains(&"/log"), "{paths:?}");
}
