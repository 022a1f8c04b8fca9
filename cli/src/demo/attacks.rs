//! A poisoned context (F0-35) and a message that two parsers would read differently (F0-40).

use semgate_certs::{Family, Issuer, IssuingProfile, KeyPair, LeafProfile, RootProfile};
use semgate_contexts::{Context, ContextUrn, DocumentLimits, Line, Prefix, library};
use semgate_statement::{Answer, Follower, FollowerConfig, LogVerifier, SigningIdentity, Step, sign_context};
use serde_json::Value;

use super::scenes::SceneFuture;
use super::stage::DemoStage;
use super::{Expected, SceneResult, SceneVerdict};
use crate::authority_client::answer;
use crate::client::Client;
use crate::fault::{Doing, Fault};
use crate::say::SendOutcome;
use crate::system::{now, read_roots, ring_random};
use crate::up_directory::followed;

const PAYMENT: &str = "urn:contexts:payment:v1.1";
const TRANSFER: &str =
    r#"{"concept":"transfer","sender_id":"acct-1","receiver_id":"acct-2","amount":100,"currency":"USD"}"#;
/// The amount twice: the first reader pays 1, the second 9000.
const TWICE: &str = r#"{"concept":"transfer","sender_id":"acct-1","receiver_id":"acct-2","amount":1,"amount":9000,"currency":"USD"}"#;

/// F0-35: `sender_id` and `receiver_id` swapped in `payment:v1.1`.
pub fn poison(stage: &DemoStage) -> SceneFuture<'_> {
    Box::pin(async move {
        let poisoned = poisoned()?;
        let digest = poisoned.digest().to_string();
        Ok(vec![
            offered_to_a_follower(stage, &poisoned).await?,
            stage
                .scene(
                    "context poisoning: the swapped `payment:v1.1`, named by its digest (F0-35)",
                    Expected::Refused("context_untrusted"),
                    stage.say_with_digest("retailer-7", "REQUEST", PAYMENT, Some(&digest), TRANSFER),
                )
                .await?,
        ])
    })
}

/// F0-40: a message is forwarded exactly as it was checked, so it must have one reading.
pub fn forms(stage: &DemoStage) -> SceneFuture<'_> {
    Box::pin(async move {
        let twice = stage.say("retailer-7", "REQUEST", PAYMENT, TWICE);
        let refused = Expected::Refused("duplicate_key");
        Ok(vec![stage.scene("one message, two readings: a key twice (F0-40)", refused, twice).await?])
    })
}

/// The shipped document with the two parties' descriptions changed over.
fn poisoned() -> Result<Context, Fault> {
    let (_, bytes) = library::all()
        .iter()
        .find(|(name, _)| name.contains("payment") && name.contains("1.1"))
        .ok_or_else(|| Fault::new("the library has no payment:v1.1"))?;
    let mut document: Value = serde_json::from_slice(bytes).doing("payment:v1.1")?;
    let properties = document.pointer_mut("/concepts/transfer/properties").and_then(Value::as_object_mut);
    let properties = properties.ok_or_else(|| Fault::new("payment:v1.1 has no transfer"))?;
    let (sender, receiver) = (properties.remove("sender_id"), properties.remove("receiver_id"));
    let (Some(sender), Some(receiver)) = (sender, receiver) else {
        return Err(Fault::new("payment:v1.1 has no parties"));
    };
    properties.insert("sender_id".to_owned(), receiver);
    properties.insert("receiver_id".to_owned(), sender);
    let bytes = serde_json::to_vec(&document).doing("poisoned document")?;
    Context::check(&bytes, &Prefix::default(), &DocumentLimits::default()).doing("poisoned document")
}

/// A stranger with its own root signs it, and a mirror serves it to a follower of the real authority. Everything else that the follower
/// fetches is genuine.
async fn offered_to_a_follower(stage: &DemoStage, poisoned: &Context) -> Result<SceneResult, Fault> {
    let signed = signed_by_a_stranger(poisoned)?;
    let up_dir = &stage.up_dir;
    let followed = followed(up_dir)?;
    let (log_key, authority) = (followed.log_key, followed.name);
    let log = LogVerifier::parse(&log_key).doing("log key")?;
    let roots = read_roots(&up_dir.path(&up_dir.up().roots))?;
    let origin = log.name().to_owned();
    let mut follower = Follower::without_memory(FollowerConfig::new(&authority, &origin, roots, log));
    let client = Client::anonymous(up_dir)?;
    let urn = ContextUrn::parse(PAYMENT, &Prefix::default()).doing("payment")?;
    let genuine = published_digest(stage, &client).await?;
    let mut reports = Vec::new();
    while let Step::Get(request) = follower.next(now()) {
        let reply = client.get(&format!("{}{}", up_dir.up().authority_url, request.path)).await?;
        let swapped = request.path.contains(&genuine);
        let body = if swapped { signed.clone() } else { reply.body.to_vec() };
        let answer = Answer { status: reply.status, etag: reply.header("etag").map(str::to_owned), body };
        if let Err(fault) = follower.answer(&request.path, answer, now()) {
            reports.push(fault.to_string());
        }
    }
    reports.extend(follower.reports().iter().map(ToString::to_string));
    let view = follower.view();
    let right = match (view.context(&urn), view.contexts().next()) {
        (None, Some(_)) => SceneVerdict::Yes,
        (Some(_), _) => SceneVerdict::No("the follower took a stranger's context".to_owned()),
        (None, None) => SceneVerdict::No("the follower took nothing at all".to_owned()),
    };
    let refused = view.context(&urn).is_none();
    let outcome = SendOutcome {
        verdict: if refused { "REFUSED" } else { "ALLOWED" },
        status: 0,
        code: refused.then(|| "context_untrusted".to_owned()),
        cause: None,
        reason: reports.into_iter().find(|r| r.contains("payment") || r.contains(&genuine)),
        hint: Some(
            "only what the configured authority published counts; the rest of its contexts are loaded"
                .to_owned(),
        ),
        delivered: Some("no".to_owned()),
        decision_id: None,
        reply: None,
    };
    let scene = "context poisoning: a stranger signs the swapped `payment:v1.1` for a follower (F0-35)";
    Ok(SceneResult { scene, outcome, measured: None, right })
}

/// The digest of the published `payment:v1.1` in the authority's listing.
async fn published_digest(stage: &DemoStage, client: &Client) -> Result<String, Fault> {
    let reply = client.get(&format!("{}/v1/contexts", stage.up_dir.up().authority_url)).await?;
    let listed = answer(&reply)?;
    let all = listed.get("contexts").and_then(Value::as_array);
    let payment = all.into_iter().flatten().find(|c| c.get("urn").and_then(Value::as_str) == Some(PAYMENT));
    let digest = payment.and_then(|c| c.get("digest")).and_then(Value::as_str);
    digest.map(str::to_owned).ok_or_else(|| Fault::new("payment:v1.1 is not published"))
}

/// Age of the stranger's certificates: thirty days, within a leaf's lifetime.
const STRANGER_FOR: u64 = 30 * 24 * 3600;

fn signed_by_a_stranger(document: &Context) -> Result<Vec<u8>, Fault> {
    let random = ring_random();
    // valid before the authority's first publication, so that only its root is wrong
    let from = now().saturating_sub(STRANGER_FOR);
    let key = || KeyPair::generate(&random).doing("stranger's key");
    let root = Issuer::root(&RootProfile::new("Stranger", from), key()?, &random).doing("stranger's root")?;
    let issuing = IssuingProfile::new("Stranger", Family::Contexts, from);
    let issuing = root.issuing(&issuing, key()?, &random).doing("stranger's issuing certificate")?;
    let leaf_key = key()?;
    let profile = LeafProfile::context(vec![Line::parse("payment").doing("line")?], from);
    let chain = issuing.leaf(&profile, leaf_key.public(), &random).doing("stranger's signer")?;
    let signer = SigningIdentity::new(leaf_key, chain);
    sign_context(document, &signer, &random).doing("stranger's signature")
}
