//! Compressed bodies cost what they say.

use super::*;
use crate::server::account::Accounts;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::Write;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn inflate(encoding: Encoding, packed: &[u8], limits: &Limits) -> Result<Bytes, Code> {
    let accounts = Accounts::new(limits);
    let now = Now { unix: 0, monotonic_ms: 0 };
    let charge = Charge::new(&accounts.of(&"agent".into(), now).unwrap());
    super::inflate::inflate(encoding, &Bytes::copy_from_slice(packed), limits, &charge)
        .map_err(|refusal| refusal.code())
}

#[test]
fn gzip_and_zlib_come_out_as_they_went_in() {
    let limits = Limits::default();
    let text = br#"{"protocol":"L8/1.0"}"#;
    assert_eq!(inflate(Encoding::Gzip, &gzip(text), &limits).unwrap(), &text[..]);
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    assert_eq!(inflate(Encoding::Deflate, &encoder.finish().unwrap(), &limits).unwrap(), &text[..]);
}

#[test]
fn a_gzip_bomb_is_cut_by_ratio_before_the_absolute_limit() {
    let limits = Limits { body_bytes: 64 * 1024 * 1024, ..Limits::default() };
    let bomb = gzip(&vec![b' '; 16 * 1024 * 1024]);
    assert!(bomb.len() < 20_000);
    assert_eq!(inflate(Encoding::Gzip, &bomb, &limits), Err(Code::TooLarge));
    let small = Limits { body_bytes: 1000, ..Limits::default() };
    assert_eq!(inflate(Encoding::Gzip, &gzip(&[b' '; 1001]), &small), Err(Code::TooLarge));
    assert_eq!(inflate(Encoding::Gzip, &gzip(&[b' '; 1000]), &small).unwrap().len(), 1000);
}

#[test]
fn attack_a_body_that_is_inflated_past_the_share_of_its_agent_is_refused_while_it_grows() {
    let limits = Limits { held_bytes: 8 * 100_000, ..Limits::default() };
    let text: Vec<u8> = (0..20_000).flat_map(|n| format!("{n:010}").into_bytes()).collect();
    assert_eq!(inflate(Encoding::Gzip, &gzip(&text), &limits), Err(Code::RateLimited));
    assert_eq!(inflate(Encoding::Gzip, &gzip(&text[..90_000]), &limits).unwrap().len(), 90_000);
}

#[test]
fn damaged_truncated_doubled_and_padded_streams_are_malformed() {
    let limits = Limits::default();
    let good = gzip(b"{}");
    let cut = &good[..good.len() - 1];
    let mut damaged = good.clone();
    let last = damaged.len() - 5;
    damaged[last] ^= 1;
    let doubled = [good.clone(), good.clone()].concat();
    let padded = [good.clone(), vec![0]].concat();
    for packed in [cut, &damaged, &doubled, &padded, b"{}", b""] {
        assert_eq!(inflate(Encoding::Gzip, packed, &limits), Err(Code::Malformed), "{packed:?}");
    }
    // raw deflate without the zlib wrapper is what some old clients mean by `deflate`; it is not what the name means
    assert_eq!(inflate(Encoding::Deflate, &[0x4b, 0x04, 0x00], &limits), Err(Code::Malformed));
}
