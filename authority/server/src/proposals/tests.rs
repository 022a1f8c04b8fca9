use std::path::Path;

use ring::rand::SystemRandom;

use super::*;

const ADA: &str = "spiffe://semgate.test/ada";
const GRACE: &str = "spiffe://semgate.test/grace";

const SIXTY: std::time::Duration = std::time::Duration::from_secs(60);

fn revoke(minor: u32, reason: &str) -> Target {
    let urn = format!("urn:contexts:payment:v1.{minor}");
    let urn = ContextUrn::parse(&urn, &Prefix::default()).unwrap();
    Target::Change { act: Act::Revoke, urn, reason: reason.to_owned(), ends: None }
}

fn open(dir: &Path) -> Proposals {
    let layout = Layout::new(dir);
    disk::make_dir(&layout.proposals).unwrap();
    let limits = Limits { proposals: 2, account_share: 1, proposal_lifetime: SIXTY, ..Limits::default() };
    Proposals::open(&layout, &limits, &Prefix::default(), Arc::new(Reserve::open(&[], 0))).unwrap()
}

fn propose(proposals: &Proposals, by: &str, target: Target, now: u64) -> Result<Proposal, Code> {
    proposals.propose(by, target, now, &SystemRandom::new(), |_| true).map_err(|problem| problem.code)
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

#[test]
fn attack_an_agreement_is_spent_before_anything_is_done_by_it_also_where_the_disk_fails() {
    let dir = tempfile::tempdir().unwrap();
    let proposals = open(dir.path());
    let made = propose(&proposals, ADA, revoke(0, "a"), 100).unwrap();
    proposals.spend(&made.id).unwrap();
    assert_eq!(open(dir.path()).all(100), [], "it does not come back");
    assert_eq!(proposals.spend(&made.id).unwrap_err().code, Code::ProposalUnknown, "two agree at once");
    // what may come back after a power cut is not carried out before it
    let made = propose(&proposals, ADA, revoke(0, "a"), 100).unwrap();
    let plan = disk::hostile::Plan::after(0, std::io::ErrorKind::Other);
    disk::hostile::turn(dir.path(), Some(plan));
    assert_eq!(proposals.spend(&made.id).unwrap_err().code, Code::StorageFailed);
    disk::hostile::turn(dir.path(), None);
    assert_eq!(proposals.spend(&made.id).unwrap_err().code, Code::ProposalUnknown);
}

#[test]
fn what_its_maker_may_not_do_any_more_makes_place_and_nobody_takes_more_than_a_share() {
    let dir = tempfile::tempdir().unwrap();
    let proposals = open(dir.path());
    let dead = propose(&proposals, ADA, revoke(0, "a"), 100).unwrap();
    let again =
        |stands| proposals.propose(GRACE, revoke(0, "b"), 101, &SystemRandom::new(), |_| stands).unwrap();
    assert_eq!(again(true), dead);
    let anew = again(false);
    assert_eq!((anew.by.as_str(), anew.id == dead.id), (GRACE, false));
    assert_eq!(open(dir.path()).all(101), [anew]);

    let limits = Limits { proposals: 4, account_share: 2, proposal_lifetime: SIXTY, ..Limits::default() };
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::new(dir.path());
    disk::make_dir(&layout.proposals).unwrap();
    let proposals =
        Proposals::open(&layout, &limits, &Prefix::default(), Arc::new(Reserve::open(&[], 0))).unwrap();
    for minor in 0..2 {
        propose(&proposals, ADA, revoke(minor, "a"), 100).unwrap();
    }
    let refused = proposals.propose(ADA, revoke(2, "a"), 100, &SystemRandom::new(), |_| true).unwrap_err();
    assert_eq!(refused.code, Code::ProposalsFull);
    assert!(refused.detail.contains("the limit of one person"), "{}", refused.detail);
    assert!(propose(&proposals, GRACE, revoke(2, "a"), 100).is_ok());
}

#[test]
fn what_is_put_back_waits_as_before_also_over_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let proposals = open(dir.path());
    let lines = vec![(Line::parse("goods").unwrap(), Version::new(2, 0))];
    let target = |index| Target::Withdraw {
        recognised: "theirs.test".to_owned(),
        index,
        lines: lines.clone(),
        reason: "a drill".to_owned(),
    };
    let made = propose(&proposals, ADA, target(7), 100).unwrap();
    proposals.spend(&made.id).unwrap();
    proposals.put_back(&made);
    assert_eq!(proposals.find(&made.id, GRACE, 101).map_err(|why| why.code), Ok(made.clone()));
    assert_eq!(open(dir.path()).all(101), std::slice::from_ref(&made));
    // of another recognition it is another proposal
    let other = propose(&proposals, GRACE, target(8), 101).unwrap();
    assert_ne!(other.id, made.id);
}
