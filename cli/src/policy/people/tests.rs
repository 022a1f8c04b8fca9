use super::*;

fn set(policies: &str) -> PolicySource {
    PolicySource { files: vec![("p.cedar".to_owned(), policies.to_owned())], ..PolicySource::shipped() }
}

fn people() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let card = |name: &str, rest: &str| {
        let text = format!(r#"{{"id":"human://{name}","profile":{{"name":"{name}"}},{rest}}}"#);
        std::fs::write(dir.path().join(format!("{name}.json")), text).unwrap();
    };
    card("bob.sre", r#""capabilities":["sre","approver"],"groups":["heads"]"#);
    card("alice.eng", r#""capabilities":["approver","treasurer"]"#);
    dir
}

fn warned(annotations: &str) -> Vec<String> {
    let dir = people();
    let text = format!("@id(\"p\") @approve(\"why\") {annotations} permit (principal, action, resource);");
    warnings(&set(&text), dir.path()).unwrap()
}

#[test]
fn people_who_can_answer_are_no_warning() {
    for annotations in [
        "",
        "@quorum(\"2\")",
        "@approvers(\"capability:treasurer\")",
        "@approvers(\"group:heads\") @quorum(\"2\") @escalate(\"5m to human://alice.eng\")",
        "@approvers(\"human://bob.sre\")",
    ] {
        assert_eq!(warned(annotations), [""; 0], "{annotations}");
    }
}

#[test]
fn a_demand_that_nobody_can_answer_is_a_warning_with_the_name_that_was_meant() {
    let of = |why: &str| vec![format!("p.cedar:1:1: policy `p.cedar#p`: {why}")];
    assert_eq!(
        warned("@approvers(\"capability:tresurer\")"),
        of(
            "`@approvers` names `capability:tresurer`, and no Human Card is in it (did you mean `capability:treasurer`?)"
        )
    );
    assert_eq!(
        warned("@approvers(\"group:board\")"),
        of("`@approvers` names `group:board`, and no Human Card is in it")
    );
    assert_eq!(
        warned("@approvers(\"human://bob.sr\")"),
        of(
            "`@approvers` names `human://bob.sr`, and no Human Card is in it (did you mean `human://bob.sre`?)"
        )
    );
    assert_eq!(
        warned("@escalate(\"5m to group:head\")"),
        of("`@escalate` names `group:head`, and no Human Card is in it (did you mean `group:heads`?)")
    );
}

#[test]
fn a_quorum_that_no_group_has_is_a_warning() {
    let of = |why: &str| vec![format!("p.cedar:1:1: policy `p.cedar#p`: {why}")];
    assert_eq!(warned("@quorum(\"3\")"), of("`@quorum` needs 3 people, and only 2 can be asked"));
    assert_eq!(
        warned("@approvers(\"capability:treasurer\") @quorum(\"2\")"),
        of("`@quorum` needs 2 people, and only 1 can be asked")
    );
}

#[test]
fn a_file_that_is_no_card_is_an_error_with_its_name() {
    let dir = people();
    std::fs::write(dir.path().join("x.json"), "{\"id\":1}").unwrap();
    let fault = warnings(&set("permit (principal, action, resource);"), dir.path()).unwrap_err();
    assert!(fault.to_string().contains("x.json"), "{fault}");
}
