//! Holds the code against the files in `vectors/`: every byte that is a function of others is computed anew and
//! compared; every signature in them is verified. `SEMGATE_WRITE_VECTORS=1` draws new keys and writes new files.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "vectors/later.rs"]
mod later;

use ring::rand::SystemRandom;
use semgate_certs::{
    Chain, ChainLimits, Family, Issuer, IssuingProfile, KeyPair, LeafProfile, LineScope, RootProfile, Roots,
    Usage, verify_chain,
};
use semgate_contexts::{Context, ContextUrn, Digest, DocumentLimits, Line, Prefix, Version};
use semgate_statement::head::HeadRules;
use semgate_statement::jws::{Compact, General};
use semgate_statement::tiles::{TilePath, TileSource, decode_bundle, leaf_hashes};
use semgate_statement::token::{Claims, Token};
use semgate_statement::{
    Act, Checkpoint, Entry, FloorsDocument, Head, Listing, LogKey, LogVerifier, Replay, ShardRef,
    SignedStatement, SigningIdentity, Statement, Status, Tree, Trust, VerifiedHead, sign_context,
    verify_context,
};
use std::collections::BTreeMap;
use std::path::PathBuf;

const AUTHORITY: &str = "semgate.test";
const ORIGIN: &str = "semgate.test/log";
/// 2026-06-01T00:00:00Z: the certificates begin, and the first statement is logged.
const START: u64 = 1_780_272_000;
/// When the head of the vectors was issued.
const ISSUED: u64 = START + 300;
const SUB: &str = "https://semgate.test/v1/feed/shards/0";
const SIZE: u64 = 6;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap_or_else(|_| panic!("vectors/{name} is not there"))
}

fn text(name: &str) -> String {
    String::from_utf8(bytes(name)).unwrap()
}

fn roots() -> Roots {
    Roots::from_pem(&text("root.pem"), &ChainLimits::default()).unwrap()
}

fn identity(name: &str) -> SigningIdentity {
    let key = KeyPair::from_pem(&text(&format!("{name}.key.pem")), &SystemRandom::new()).unwrap();
    let chain = Chain::from_pem(&text(&format!("{name}.chain.pem")), &ChainLimits::default()).unwrap();
    SigningIdentity::new(key, chain)
}

fn urn(short: &str) -> ContextUrn {
    ContextUrn::parse_short(short, &Prefix::default()).unwrap()
}

/// The statements of the vectors, in their order: who signs them, what they say.
fn statements(digests: [Digest; 2], signer: semgate_certs::Thumbprint) -> Vec<(&'static str, Statement)> {
    let publish = |short: &str, digest| Statement::Publish { urn: urn(short), digest, signer };
    let change = |act, index, reason: &str| Statement::Change {
        act,
        urn: urn("payment:v1.0"),
        index,
        reason: reason.to_owned(),
    };
    vec![
        ("context", publish("payment:v1.0", digests[0])),
        ("context", publish("payment:v1.1", digests[1])),
        (
            "status",
            Statement::Floor {
                line: Line::parse("payment").unwrap(),
                min: Version::new(1, 1),
                reason: "v1.0 leaves the currency open".to_owned(),
            },
        ),
        ("status", change(Act::Suspend, 0, "under review")),
        ("status", change(Act::Resume, 0, "reviewed")),
        ("status", change(Act::Revoke, 0, "superseded by v1.1")),
    ]
}

fn document(name: &str) -> Vec<u8> {
    let found = semgate_contexts::library::all().iter().find(|(n, _)| *n == name).unwrap();
    let context = Context::check(found.1, &Prefix::default(), &DocumentLimits::default()).unwrap();
    context.bytes().to_vec()
}

struct Writer;

impl Writer {
    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::create_dir_all(path("")).unwrap();
        std::fs::write(path(name), bytes).unwrap();
    }

    fn keys(&self) {
        let random = SystemRandom::new();
        let key = || KeyPair::generate(&random).unwrap();
        let root = Issuer::root(&RootProfile::new("Semgate vectors root", START), key(), &random).unwrap();
        self.put("root.pem", root.chain().to_pem());
        let profile = IssuingProfile::new("Semgate vectors contexts", Family::Contexts, START);
        let issuing = root.issuing(&profile, key(), &random).unwrap();
        let all = LineScope::All;
        for (name, profile) in [
            ("context", LeafProfile::context(vec![Line::parse("payment").unwrap()], START)),
            ("status", LeafProfile::role(Usage::Status, all.clone(), START)),
            ("feed", LeafProfile::role(Usage::Feed, all, START)),
        ] {
            let key = key();
            let chain = issuing.leaf(&profile, key.public(), &random).unwrap();
            self.put(&format!("{name}.key.pem"), key.to_pem());
            self.put(&format!("{name}.chain.pem"), chain.to_pem());
        }
        let log = LogKey::generate(ORIGIN, &random).unwrap();
        self.put("log.key", format!("{}\n", log.to_text().unwrap()));
        self.put("log.vkey", format!("{}\n", log.verifier()));
    }

    fn write(&self) {
        self.keys();
        let random = SystemRandom::new();
        let signer = identity("context");
        let mut digests = Vec::new();
        for (name, file) in [("payment-v1.0", "context-0"), ("payment-v1.1", "context-1")] {
            let context =
                Context::check(&document(name), &Prefix::default(), &DocumentLimits::default()).unwrap();
            digests.push(*context.digest());
            self.put(&format!("{file}.json"), context.bytes());
            self.put(&format!("{file}.jws.json"), sign_context(&context, &signer, &random).unwrap());
        }
        let mut trust = Trust::new(AUTHORITY);
        let (mut tree, mut replay) = (Tree::new(), Replay::new());
        let mut files = Vec::new();
        let said = statements([digests[0], digests[1]], signer.thumbprint());
        for (n, (by, statement)) in said.into_iter().enumerate() {
            let by = identity(by);
            trust.insert(by.chain.clone());
            let signed = SignedStatement::sign(statement, &by, &random).unwrap();
            let entry = Entry::new(START + 10 * n as u64, signed).unwrap();
            replay.apply(&entry).unwrap();
            files = tree.append(&[entry.bytes()]).unwrap();
            self.put(&format!("entry-{n}.json"), entry.bytes());
        }
        for file in files {
            self.put(&tile_file(&file.path), file.bytes);
        }
        let log = LogKey::from_text(&text("log.key")).unwrap();
        let checkpoint = log.sign(tree.size(), tree.root()).unwrap();
        self.put("checkpoint", &checkpoint);
        self.put("trust.json", trust.to_bytes().unwrap());
        self.put("listing.json", replay.listing().to_bytes().unwrap());
        let floors = replay.floors_document(AUTHORITY).to_bytes().unwrap();
        self.put("floors.json", &floors);
        let shard = replay.statuses().shards().remove(0);
        self.put("shard-0.bin", &*shard.bytes);
        let claims = Claims { sub: SUB.to_owned(), iat: ISSUED, exp: None, ttl: None };
        let feed = identity("feed");
        self.put("shard-0.jwt", Token::sign(&shard, &claims, &feed, &random).unwrap());
        let head = Head {
            authority: AUTHORITY.to_owned(),
            origin: ORIGIN.to_owned(),
            seq: tree.size(),
            issued_at: ISSUED,
            next_update: ISSUED + 600,
            checkpoint,
            shards: vec![ShardRef::of(&shard)],
            root_statements: 0,
            floors: *Digest::of(&floors).as_bytes(),
        };
        self.put("head.json", head.to_bytes().unwrap());
        self.put("head.jws.json", head.sign(&feed, &random).unwrap());
    }
}

fn tile_file(path: &TilePath) -> String {
    format!("tile{}", path.to_string().trim_start_matches("/tile").replace('/', "-"))
}

struct Files;

impl TileSource for Files {
    fn tile(&self, path: &TilePath) -> Option<Vec<u8>> {
        Some(bytes(&tile_file(path)))
    }
}

fn entries() -> Vec<Entry> {
    (0..SIZE).map(|n| Entry::read(&bytes(&format!("entry-{n}.json")), &Prefix::default()).unwrap()).collect()
}

fn trust() -> Trust {
    Trust::read(&bytes("trust.json"), &ChainLimits::default()).unwrap()
}

#[test]
fn the_vectors_hold_byte_for_byte() {
    if std::env::var_os("SEMGATE_WRITE_VECTORS").is_some() {
        Writer.write();
    }
    signed_contexts();
    statements_and_entries();
    log_files();
    documents_of_the_log();
    head_and_token();
}

fn signed_contexts() {
    for file in ["context-0", "context-1"] {
        let payload = bytes(&format!("{file}.json"));
        let signed = bytes(&format!("{file}.jws.json"));
        let checked =
            verify_context(&signed, &roots(), START, &Prefix::default(), &DocumentLimits::default()).unwrap();
        assert_eq!(checked.context().bytes()[..], payload[..]);
        assert_eq!(checked.signer(), identity("context").thumbprint());
        // The stored form is canonical JSON: written again it is the same.
        let value: serde_json::Value = serde_json::from_slice(&signed).unwrap();
        assert_eq!(semgate_contexts::canonical::jcs(&value).unwrap(), signed);
    }
}

fn statements_and_entries() {
    let digests = ["context-0.json", "context-1.json"].map(|name| Digest::of(&bytes(name)));
    let said = statements(digests, identity("context").thumbprint());
    for (n, (entry, (by, statement))) in entries().iter().zip(said).enumerate() {
        assert_eq!(entry.logged_at(), START + 10 * n as u64);
        assert_eq!(entry.unverified(), &statement, "entry {n}");
        assert_eq!(entry.signed().key(), Some(identity(by).thumbprint()), "entry {n}");
        let jws = Compact::read(entry.signed().as_str(), "statement+jws", 65_000).unwrap();
        assert_eq!(jws.unverified_payload(), statement.to_bytes().unwrap(), "entry {n}");
        entry.verify(&trust(), &roots()).unwrap();
        let again = Entry::new(entry.logged_at(), entry.signed().clone()).unwrap();
        assert_eq!(again.bytes(), bytes(&format!("entry-{n}.json")));
    }
}

fn log_files() {
    let mut tree = Tree::new();
    let entries: Vec<Vec<u8>> = (0..SIZE).map(|n| bytes(&format!("entry-{n}.json"))).collect();
    let mut files = BTreeMap::new();
    for file in tree.append(&entries).unwrap() {
        assert_eq!(file.bytes, bytes(&tile_file(&file.path)), "{}", file.path);
        files.insert(file.path, file.bytes);
    }
    assert_eq!(files.len(), 2);
    let bundle = bytes("tile-entries-000.p-6");
    assert_eq!(decode_bundle(&bundle, 6).unwrap(), entries);
    let key = LogKey::from_text(&text("log.key")).unwrap();
    assert_eq!(key.verifier(), &LogVerifier::parse(&text("log.vkey")).unwrap());
    // Ed25519 is deterministic, so the whole note is a function of key, size and root.
    assert_eq!(key.sign(tree.size(), tree.root()).unwrap(), text("checkpoint"));
    let checkpoint = Checkpoint::verify(&bytes("checkpoint"), key.verifier(), ORIGIN).unwrap();
    let proved = leaf_hashes(&[0, 5], checkpoint.size, checkpoint.root, &Files).unwrap();
    assert_eq!(proved[1], semgate_statement::TreeHash::of_leaf(&entries[5]));
}

fn documents_of_the_log() {
    let mut replay = Replay::new();
    for entry in entries() {
        replay.apply(&entry).unwrap();
    }
    assert_eq!(replay.floors_document(AUTHORITY).to_bytes().unwrap(), bytes("floors.json"));
    assert_eq!(FloorsDocument::read(&bytes("floors.json")).unwrap().floors, *replay.floors());
    assert_eq!(replay.listing().to_bytes().unwrap(), bytes("listing.json"));
    assert_eq!(Listing::read(&bytes("listing.json"), &Prefix::default()).unwrap(), replay.listing());
    let shards = replay.statuses().shards();
    assert_eq!((shards.len(), &*shards[0].bytes), (1, &bytes("shard-0.bin")));
    assert_eq!(bytes("shard-0.bin"), [0b0000_0001, 0]);
    assert_eq!(replay.statuses().get(0), Some(Status::Invalid));
    assert_eq!(trust().to_bytes().unwrap(), bytes("trust.json"));
}

fn head_and_token() {
    let log = LogVerifier::parse(&text("log.vkey")).unwrap();
    let roots = roots();
    let rules = HeadRules { roots: &roots, authority: AUTHORITY, origin: ORIGIN, log: &log };
    let head = VerifiedHead::verify(&bytes("head.jws.json"), &rules, ISSUED).unwrap();
    head.check_times(ISSUED, 900).unwrap();
    assert_eq!(head.head().to_bytes().unwrap(), bytes("head.json"));
    assert_eq!(head.head().checkpoint, text("checkpoint"));
    assert_eq!(head.head().floors, *Digest::of(&bytes("floors.json")).as_bytes());
    assert_eq!(head.head().shards[0].sha256, *Digest::of(&bytes("shard-0.bin")).as_bytes());
    let token = Token::read(&text("shard-0.jwt")).unwrap();
    assert_eq!(token.list(), bytes("shard-0.bin"));
    assert_eq!(token.claims(), &Claims { sub: SUB.to_owned(), iat: ISSUED, exp: None, ttl: None });
    token.verify(head.leaf()).unwrap();
}

#[test]
fn the_keys_of_the_vectors_sign_what_their_certificates_allow() {
    let random = SystemRandom::new();
    for (name, usage) in [("context", Usage::Context), ("status", Usage::Status), ("feed", Usage::Feed)] {
        let identity = identity(name);
        let leaf = verify_chain(&identity.chain, &roots(), usage, START).unwrap();
        let signed = General::sign(b"{}", "test+jws", &identity, &random).unwrap();
        let jws = General::read(&signed, "test+jws", &roots(), 64 * 1024).unwrap();
        assert_eq!(jws.verify(&roots(), usage, START).unwrap().1.thumbprint(), leaf.thumbprint());
    }
}

#[test]
fn the_pages_show_the_bytes_of_the_vectors() {
    let page = |name: &str| {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/spec").join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("{}", path.display()))
    };
    let shows = |name: &str, text: &str| assert!(page(name).contains(text), "{name} does not show {text}");
    let said = statements(
        ["context-0.json", "context-1.json"].map(|name| Digest::of(&bytes(name))),
        identity("context").thumbprint(),
    );
    for (n, (_, statement)) in said.iter().enumerate() {
        // The second publish statement says nothing new.
        if n != 1 {
            shows("statements.md", std::str::from_utf8(&statement.to_bytes().unwrap()).unwrap());
        }
    }
    for line in text("checkpoint").lines() {
        shows("log.md", line);
    }
    shows("log.md", text("log.vkey").trim());
    shows("log.md", &text("entry-0.json")[..120]);
    shows("head.md", &text("head.json"));
    shows("floors.md", &text("floors.json"));
    shows("floors.md", &Digest::of(&bytes("floors.json")).hex());
    shows("status-list.md", &text("shard-0.jwt"));
    shows("status-list.md", &Digest::of(&bytes("shard-0.bin")).hex());
    shows("signed-context.md", &Digest::of(&bytes("context-1.json")).hex());
    shows("signed-context.md", &identity("context").thumbprint().to_string());
}
