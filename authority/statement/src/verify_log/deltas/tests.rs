use super::super::{Fetch, FetchFault, LogFault, LogReport, verify_log};
use super::*;
use crate::statement::Act;
use crate::testing::{MemoryAuthority, START};

/// A mirror's directory: an authority as it was, and files of deltas by their sizes.
#[derive(Clone)]
struct Files {
    served: MemoryAuthority,
    deltas: Vec<(u64, Vec<u8>)>,
}

impl Files {
    /// A log with one entry more than the library and two changes; deltas from its last three sizes.
    fn new() -> Files {
        let mut served = MemoryAuthority::with_library(START);
        served.publish(&MemoryAuthority::document("other:v1.0", "thing"));
        let first = served.tree.size();
        served.change(Act::Suspend, "payment:v1.0");
        served.change(Act::Revoke, "travel:v2.1");
        let deltas = (first..=first + 2).map(|size| (size, delta(&mut served, size))).collect();
        Files { served, deltas }
    }

    fn verify(&self) -> Result<LogReport, LogFault> {
        let (config, now) = (self.served.config(), self.served.now);
        verify_log(&mut self.clone(), &config, now)
    }

    /// With these bytes as the delta of this place.
    fn with(&self, place: usize, change: impl FnOnce(&mut (u64, Vec<u8>))) -> (u64, DeltaFault) {
        let mut files = self.clone();
        change(&mut files.deltas[place]);
        match files.verify() {
            Err(LogFault::Delta { from, fault }) => (from, fault),
            other => panic!("{other:?}"),
        }
    }
}

fn delta(authority: &mut MemoryAuthority, from: u64) -> Vec<u8> {
    authority.deltas = true;
    authority.get(&format!("/v1/feed/deltas/{from}"), None).body
}

impl Fetch for Files {
    fn get(&mut self, path: &str, max_bytes: u64) -> Result<Vec<u8>, FetchFault> {
        let Some(from) = path.strip_prefix("/v1/feed/deltas/") else {
            return Fetch::get(&mut self.served, path, max_bytes);
        };
        let found = self.deltas.iter().find(|(size, _)| size.to_string() == from);
        let (_, bytes) = found.ok_or(FetchFault::HttpStatus(404))?;
        if bytes.len() as u64 > max_bytes { Err(FetchFault::TooLarge) } else { Ok(bytes.clone()) }
    }

    fn deltas(&mut self, size: u64) -> Vec<u64> {
        // a size that is not there any more is passed over
        self.deltas.iter().map(|(size, _)| *size).chain([size, 1]).collect()
    }
}

#[test]
fn every_delta_of_a_mirror_leads_from_its_size_to_the_head_or_is_told() {
    let files = Files::new();
    let report = files.verify().unwrap();
    assert_eq!((report.deltas, report.size), (3, files.served.tree.size()));
    let first = files.deltas[0].0;
    let unread = |fault: &DeltaFault| matches!(fault, DeltaFault::Format(_));
    // damaged, cut off, empty after a power cut, of another size, too long, of a size to come
    let (from, fault) = files.with(0, |(_, bytes)| bytes[0] ^= 1);
    assert!(from == first && unread(&fault), "{from} {fault}");
    assert!(unread(&files.with(1, |(_, bytes)| bytes.truncate(40)).1));
    assert!(unread(&files.with(2, |(_, bytes)| bytes.clear()).1));
    let other = files.deltas[1].1.clone();
    let fault = files.with(0, |(_, bytes)| *bytes = other);
    assert_eq!(fault, (first, DeltaFault::Format(FormatFault::Member("from"))));
    assert_eq!(files.with(0, |(_, bytes)| bytes.resize(600 << 10, b' ')), (first, DeltaFault::TooLarge));
    assert_eq!(files.with(2, |(size, _)| *size += 7), (first + 9, DeltaFault::PastEnd));
    let told = LogFault::Delta { from: 9, fault: DeltaFault::PastEnd }.to_string();
    assert_eq!(told, "`/v1/feed/deltas/9`: begins past the end of the log that is served");
}

#[test]
fn attack_a_delta_that_keeps_a_revocation_back_or_is_of_another_authority_is_told() {
    let files = Files::new();
    let signature = |fault: DeltaFault| matches!(fault, DeltaFault::Head(HeadFault::Jws(_)));
    let text = String::from_utf8(files.deltas[0].1.clone()).unwrap();
    let (_, invalid) = text.split_once("\"invalid\":\"").unwrap();
    let named = format!("\"invalid\":\"{}\"", invalid.split('"').next().unwrap());
    let kept_back = text.replace(&format!("{named},"), "").replace(&named, "");
    assert_ne!(kept_back, text);
    assert!(signature(files.with(0, |(_, bytes)| *bytes = kept_back.into_bytes()).1));
    // as long a log, of others
    let mut other = MemoryAuthority::named("other.test", "other.test/log", START);
    let (first, last) = (files.deltas[0].0, files.served.tree.size());
    while other.tree.size() < last {
        other.publish(&MemoryAuthority::document(&format!("other:v1.{}", other.tree.size()), "thing"));
    }
    let theirs = delta(&mut other, first);
    assert!(signature(files.with(0, |(_, bytes)| *bytes = theirs).1));
}

#[test]
fn a_delta_to_a_head_that_was_renewed_or_came_later_holds_and_one_to_an_older_one_is_told() {
    let mut files = Files::new();
    let (first, old) = files.deltas[0].clone();
    files.served.now += 10;
    files.served.renew();
    let renewed = delta(&mut files.served, first);
    let mut older = files.clone();
    older.deltas = vec![(first, old)];
    assert_eq!(older.verify(), Err(LogFault::Delta { from: first, fault: DeltaFault::Older }));
    // the mirror's deltas are put in place before its head
    files.deltas = vec![(first, renewed)];
    assert_eq!(files.verify().unwrap().deltas, 1);
}
