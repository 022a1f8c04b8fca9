use std::path::Path;

use ring::rand::SystemRandom;

use super::*;

const ADA: &str = "spiffe://semgate.test/ada";
const GRACE: &str = "spiffe://semgate.test/grace";

fn revoke(minor: u32, reason: &str) -> Target {
    let urn = format!("urn:contexts:payment:v1.{minor}");
    let urn = ContextUrn::parse(&urn, &Prefix::default()).unwrap();
    Target::Change { act: Act::Revoke, urn, reason: reason.to_owned() }
}

fn open(dir: &Path) -> Proposals {
    let layout = Layout::new(dir);
    disk::make_dir(&layout.proposals).unwrap();
    let limits =
        Limits { proposals: 2, proposal_lifetime: std::time::Duration::from_secs(60), ..Limits::default() };
    Proposals::open(&layout, &limits, &Prefix::default()).unwrap()
}

fn propose(proposals: &Proposals, by: &str, target: Target, now: u64) -> Result<Proposal, Code> {
    proposals.propose(by, target, now, &SystemRandom::new()).map_err(|problem| problem.code)
}

#[test]
fn a_proposal_waits_for_another_person_over_a_restart_and_not_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let proposals = open(dir.path());
    let made = propose(&proposals, ADA, revoke(0, "leaked"), 100).unwrap();
    let floor = Target::Floor {
        line: Line::parse("payment").unwrap(),
        min: Version::new(1, 0),
        reason: "why".to_owned(),
    };
    let other = propose(&proposals, GRACE, floor, 100).unwrap();
    // the same again: not by the same person; by another it is the same proposal
    let again = propose(&proposals, ADA, revoke(0, "leaked, I say"), 101);
    assert_eq!(again, Err(Code::SecondPersonRequired));
    assert_eq!(propose(&proposals, GRACE, revoke(0, "another reason"), 101), Ok(made.clone()));

    let proposals = open(dir.path());
    let mut all = [made.clone(), other];
    all.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(proposals.all(159), all);
    let find = |id: &str, by, now| proposals.find(id, by, now).map_err(|problem| problem.code);
    assert_eq!(find(&made.id, ADA, 159), Err(Code::SecondPersonRequired));
    assert_eq!(find(&made.id, GRACE, 159), Ok(made.clone()));
    assert_eq!(find("0000", GRACE, 159), Err(Code::ProposalUnknown));
    assert_eq!(find(&made.id, GRACE, 160), Err(Code::ProposalUnknown));
    assert_eq!(open(dir.path()).all(0), [], "what is too late is gone from the disk too");
}

#[test]
fn their_number_is_bounded_and_what_is_carried_out_makes_room() {
    let dir = tempfile::tempdir().unwrap();
    let proposals = open(dir.path());
    let first = propose(&proposals, ADA, revoke(0, "a"), 100).unwrap();
    propose(&proposals, ADA, revoke(1, "a"), 100).unwrap();
    assert_eq!(propose(&proposals, GRACE, revoke(2, "a"), 100), Err(Code::ProposalsFull));
    proposals.forget(&first.id);
    assert!(propose(&proposals, GRACE, revoke(2, "a"), 100).is_ok());
    assert_eq!(open(dir.path()).all(100).len(), 2);
}

#[test]
fn a_file_that_was_tampered_with_proposes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let proposals = open(dir.path());
    let made = propose(&proposals, ADA, revoke(0, "a"), 100).unwrap();
    let path = dir.path().join("proposals").join(format!("{}.json", made.id));
    let text = std::fs::read_to_string(&path).unwrap();
    for (from, to) in
        [("revoke", "publish"), ("payment:v1.0", "payment"), ("\"by\"", "\"for\""), (&made.id[..8], "x")]
    {
        std::fs::write(&path, text.replace(from, to)).unwrap();
        assert_eq!(open(dir.path()).all(100), [], "{from}");
    }
    std::fs::write(&path, text).unwrap();
    assert_eq!(open(dir.path()).all(100), [made]);
}
