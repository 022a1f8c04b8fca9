//! The ring keeps the newest records, and says what a reader missed.

use semgate_inspect::{Code, Facts};

use super::*;
use crate::pipeline::decision::Decisions;
use crate::pipeline::record::Traced;

const START: u64 = 1_700_000_040;

fn record(outcome: Outcome, time: u64, others: u64) -> Record {
    let (decision, facts, traced) = (Decisions::new().next(), Facts::default(), Traced::default());
    Record { time, decision, outcome, facts, duration_us: 1, others, traced }
}

fn add(ring: &VerdictRing, n: u64, record: &Record, line: &str) {
    ring.publish(&mut Fresh::of(record, n, line.as_bytes()).into_iter().collect());
}

fn filled(from: u64, to: u64) -> VerdictRing {
    let ring = VerdictRing::default();
    ring.begin(from);
    for n in from..=to {
        add(&ring, n, &record(Outcome::Allowed, START, 0), &format!("{{\"n\":{n}}}\n"));
    }
    ring
}

fn numbers(page: &Page) -> Vec<u64> {
    page.records.iter().map(|record| record.n).collect()
}

#[test]
fn a_reader_gets_every_record_once_page_by_page() {
    let ring = filled(1, 150);
    let (mut after, mut seen) = (ring.start(), Vec::new());
    loop {
        let page = ring.after(after);
        assert_eq!(page.missed, 0);
        let Some(last) = page.records.last() else { break };
        after = last.n;
        seen.extend(numbers(&page));
    }
    assert_eq!(seen, (1..=150).collect::<Vec<u64>>());
    assert_eq!(&*ring.after(149).records[0].line, "{\"n\":150}");
}

#[test]
fn the_oldest_records_go_and_a_slow_reader_is_given_their_number() {
    let ring = filled(1, 1_100);
    assert_eq!(ring.start(), 76);
    let page = ring.after(10);
    assert_eq!((page.missed, page.records[0].n), (66, 77));
    assert_eq!(ring.after(76).missed, 0);
}

#[test]
fn records_before_a_restart_were_missed_and_a_number_of_another_file_starts_over() {
    let ring = filled(500, 499);
    assert_eq!(ring.start(), 499);
    assert_eq!((ring.after(499).missed, ring.after(400).missed), (0, 99));
    let ring = filled(1, 3);
    let page = ring.after(9_000);
    assert_eq!((page.missed, numbers(&page)), (0, vec![1, 2, 3]));
}

#[test]
fn large_records_are_bounded_in_bytes_and_the_newest_stays() {
    let ring = VerdictRing::default();
    let large = "x".repeat(BYTES / 4);
    for n in 1..=20 {
        add(&ring, n, &record(Outcome::Allowed, START, 0), &large);
    }
    assert_eq!(numbers(&ring.after(0)), [17, 18, 19, 20]);
    add(&ring, 21, &record(Outcome::Allowed, START, 0), &"x".repeat(BYTES + 1));
    assert_eq!(numbers(&ring.after(0)), [21]);
}

#[test]
fn readers_wake_only_when_records_were_added() {
    let ring = filled(1, 1);
    let mut changes = ring.changes();
    changes.mark_unchanged();
    ring.publish(&mut Vec::new());
    assert!(!changes.has_changed().unwrap());
    add(&ring, 2, &record(Outcome::Allowed, START, 0), "{}");
    assert!(changes.has_changed().unwrap());
}

#[test]
fn a_decision_has_its_records_and_no_others() {
    let ring = VerdictRing::default();
    let (one, other) = (record(Outcome::Allowed, START, 0), record(Outcome::Allowed, START, 0));
    for (n, (record, line)) in [(&one, "1"), (&other, "2"), (&one, "3")].into_iter().enumerate() {
        add(&ring, n as u64 + 1, record, line);
    }
    let lines = ring.of_decision(&one.decision.to_string());
    assert_eq!(lines.iter().map(|line| &**line).collect::<Vec<_>>(), ["1", "3"]);
    assert!(ring.of_decision("").is_empty());
}

#[test]
fn verdicts_are_counted_by_minute_and_counted_refusals_count_each() {
    let ring = VerdictRing::default();
    let denied = Outcome::Refused(Code::PolicyDenied);
    add(&ring, 1, &record(Outcome::Allowed, START, 0), "{}");
    add(&ring, 2, &record(denied, START, 41), "{}");
    add(&ring, 3, &record(denied, START + 60, 0), "{}");
    add(&ring, 4, &record(Outcome::Abandoned, START + 60, 0), "{}");
    let minute = START / 60;
    let counts = ring.counts(START + 119, 3);
    assert_eq!(counts.minutes, [minute - 1, minute, minute + 1]);
    assert_eq!(counts.allowed, [0, 1, 0]);
    assert_eq!(counts.codes, BTreeMap::from([("policy_denied", vec![0, 42, 1])]));
    assert_eq!(ring.counts(START + 60, 1).codes["policy_denied"], [1]);
}

#[test]
fn counts_are_kept_for_an_hour_also_when_the_clock_is_set_back() {
    let ring = VerdictRing::default();
    for minute in 0..200 {
        add(&ring, minute + 1, &record(Outcome::Allowed, START + minute * 60, 0), "{}");
    }
    assert_eq!(ring.with(|state| state.minutes.len()), 60);
    assert_eq!(ring.counts(START + 199 * 60, 60).allowed.iter().sum::<u64>(), 60);
    add(&ring, 201, &record(Outcome::Allowed, START, 0), "{}");
    assert_eq!(ring.counts(START, 1).allowed, [1]);
}
