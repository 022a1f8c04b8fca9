//! A gateway that demands a signed bundle of policies asks nothing else, whatever lies in its place.

use crate::support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use support::gateway::{Gateway, Scripted};
use support::policies::{REPLY, digest_of, message, permit, replies, revision, shown_live, status};
use support::{SEMGATE, Up, python, wait_for};

const SIGNER: &str = "spiffe://semgate.test/policy-signer";

fn semgate(words: &[&str]) -> Output {
    Command::new(SEMGATE).args(words).output().unwrap()
}

fn good(words: &[&str]) {
    let output = semgate(words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Roots and signers made by the command line, and bundles of theirs.
struct Signers {
    dir: PathBuf,
}

impl Signers {
    fn new(dir: &Path) -> Self {
        std::fs::create_dir_all(dir).unwrap();
        let signers = Self { dir: dir.to_path_buf() };
        good(&["cert", "root", "--out", &signers.at("root")]);
        good(&[
            "cert",
            "issuing",
            "--family",
            "contexts",
            "--by",
            &signers.at("root"),
            "--out",
            &signers.at("issuing"),
        ]);
        signers.leaf("signer", &["--usage", "policy", "--spiffe", SIGNER]);
        signers.leaf("other", &["--usage", "policy", "--spiffe", "spiffe://semgate.test/other"]);
        signers.leaf("status", &["--usage", "status"]);
        signers
    }

    fn at(&self, name: &str) -> String {
        self.dir.join(name).to_str().unwrap().to_owned()
    }

    fn leaf(&self, name: &str, more: &[&str]) {
        let (by, out) = (self.at("issuing"), self.at(name));
        let mut words = vec!["cert", "leaf", "--by", &by, "--out", &out];
        words.extend(more);
        good(&words);
    }

    /// Signs a directory, and puts the bundle where a gateway looks for it.
    fn bundle(&self, directory: &Path, version: u64, by: &str, out: &Path) {
        self.bundle_with(directory, version, (by, out), &[]);
    }

    /// The same with more words.
    fn bundle_with(&self, directory: &Path, version: u64, (by, out): (&str, &Path), more: &[&str]) {
        let (key, cert) = (self.at(&format!("{by}.key")), self.at(&format!("{by}.pem")));
        let (version, directory) = (version.to_string(), directory.to_str().unwrap());
        let words = [
            "policy",
            "bundle",
            directory,
            "--key",
            &key,
            "--cert",
            &cert,
            "--set-version",
            &version,
            "-o",
            out.to_str().unwrap(),
        ];
        good(&[&words, more].concat());
    }
}

/// Takes the directory out of the configuration of `up`; what a gateway needs in its place.
fn demanded(up: &Up) -> String {
    let config = up.path("/firewall_config");
    let text = std::fs::read_to_string(&config).unwrap();
    assert!(text.contains("policies = \"policies\"\n"));
    std::fs::write(&config, text.replace("policies = \"policies\"\n", "")).unwrap();
    format!(
        "[limits]\npolicy_poll = \"20ms\"\npolicy_settle = \"10ms\"\n\
         [policy_bundle]\nfile = \"policies.bundle\"\nroots = \"signers/root.pem\"\nsigners = [\"{SIGNER}\"]\n"
    )
}

fn decision() -> String {
    message(&json!({"concept": "current_decision", "item_id": "beer", "quantity": 120}))
}

fn observation() -> String {
    message(&json!({"concept": "local_observation", "observed_fact_text": "rain", "confidence_score": 0.5}))
}

/// The policies of another bundle under the signature of this one.
fn swapped(bundle: &Path, other: &Path) -> Vec<u8> {
    let read = |path: &Path| serde_json::from_slice::<Value>(&std::fs::read(path).unwrap()).unwrap();
    let mut forged = read(bundle);
    forged["payload"] = read(other)["payload"].clone();
    forged.to_string().into_bytes()
}

#[test]
fn only_what_an_allowed_signer_vouched_for_is_ever_live() {
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let signers = Signers::new(&up.dir.join("signers"));
    let a = revision(&up, "a", &[("a.cedar", permit("a", "current_decision")), replies()]);
    let b = revision(&up, "b", &[("a.cedar", permit("b", "local_observation")), replies()]);
    let file = up.dir.join("policies.bundle");
    signers.bundle(&a, 5, "signer", &file);

    let mut gateway = Gateway::before(&up, behind.address, &demanded(&up));
    assert_eq!(shown_live(&gateway), [digest_of(&a)]);
    assert_eq!((gateway.post(&decision()).status, gateway.post(&observation()).status), (200, 403));

    let scratch = up.dir.join("scratch.bundle");
    let of_b = |version: u64, by: &str| {
        signers.bundle(&b, version, by, &scratch);
        std::fs::read(&scratch).unwrap()
    };
    let newer = of_b(6, "signer");
    std::fs::write(up.dir.join("newer.bundle"), &newer).unwrap();
    let attacks: Vec<(&str, Vec<u8>, &str)> = vec![
        ("its content swapped", swapped(&file, &up.dir.join("newer.bundle")), "`signature`"),
        ("cut short", newer[..newer.len() / 2].to_vec(), "refused ("),
        ("nothing", Vec::new(), "refused ("),
        ("an older version", of_b(4, "signer"), "`version_old`"),
        ("another set of the live version", of_b(5, "signer"), "`version_reused`"),
        ("another signer", of_b(6, "other"), "`signer`"),
        ("a key of another usage", of_b(6, "status"), "`wrong_usage`"),
        ("a policy file, unsigned", std::fs::read(b.join("a.cedar")).unwrap(), "refused ("),
    ];
    let rejected = |gateway: &Gateway, said: &str| {
        let told = status(gateway)["policies"].clone();
        (told["current"] == false && told["faults"].to_string().contains(said)).then_some(())
    };
    let refused = |gateway: &Gateway, what: &str, said: &str| {
        wait_for(&format!("{what}: {said}"), || rejected(gateway, said));
        assert_eq!(shown_live(gateway), [digest_of(&a)], "{what}");
        assert_eq!(
            (gateway.post(&decision()).status, gateway.post(&observation()).status),
            (200, 403),
            "{what}"
        );
    };
    let put = |bytes: &[u8]| {
        std::fs::write(&scratch, bytes).unwrap();
        std::fs::rename(&scratch, &file).unwrap();
    };
    let first = std::fs::read(&file).unwrap();
    for (what, bytes, said) in &attacks {
        put(bytes);
        refused(&gateway, what, said);
        put(&first);
        wait_for("the good one again", || (status(&gateway)["policies"]["current"] == true).then_some(()));
    }
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&b, &file).unwrap();
    refused(&gateway, "a directory, unsigned", "not a regular file");
    std::fs::remove_file(&file).unwrap();
    refused(&gateway, "nothing there", "No such file");

    put(&newer);
    wait_for("the newer one", || (shown_live(&gateway) == [digest_of(&b)]).then_some(()));
    assert_eq!((gateway.post(&decision()).status, gateway.post(&observation()).status), (403, 200));
    gateway.restart("KILL");
    assert_eq!(shown_live(&gateway), [digest_of(&b)]);
    put(&first);
    let older = || {
        let told = status(&gateway)["policies"].clone();
        told["faults"].to_string().contains("`version_old`").then_some(())
    };
    wait_for("the refusal of the older one after a restart", older);
    assert_eq!(shown_live(&gateway), [digest_of(&b)]);
    drop(gateway);

    // what is refused while it runs stops a start
    let config = std::fs::read_dir(&up.dir).unwrap().map(|entry| entry.unwrap().path());
    let config = config.into_iter().find(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("gateway-") && name.ends_with(".toml")
    });
    let config = config.unwrap();
    for (what, bytes, said) in
        [("an older version", first, "`version_old`"), ("unsigned", b"{}".to_vec(), "refused (")]
    {
        put(&bytes);
        for job in ["run", "check"] {
            let output = semgate(&["firewall", job, "--config", config.to_str().unwrap()]);
            let shown = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!output.status.success() && shown.contains(said), "{what}, {job}: {shown}");
            assert!(
                shown.contains("`semgate policy bundle") && !shown.contains("policy check"),
                "{what}: {shown}"
            );
        }
    }
}

#[test]
fn a_gateway_that_demands_analysed_policies_refuses_a_bundle_that_does_not_say_so() {
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let signers = Signers::new(&up.dir.join("signers"));
    let a = revision(&up, "a", &[("a.cedar", permit("a", "current_decision")), replies()]);
    let b = revision(&up, "b", &[("a.cedar", permit("b", "local_observation")), replies()]);
    let (file, next) = (up.dir.join("policies.bundle"), up.dir.join("next.bundle"));
    let analysed = ["--analyse", "--solver", python::z3().to_str().unwrap()];
    signers.bundle_with(&a, 5, ("signer", &file), &analysed);
    let config = format!("{}require_analysed = true\n", demanded(&up));
    let gateway = Gateway::before(&up, behind.address, &config);
    assert_eq!(shown_live(&gateway), [digest_of(&a)]);

    signers.bundle(&b, 6, "signer", &next);
    std::fs::rename(&next, &file).unwrap();
    wait_for("the refusal", || {
        let told = status(&gateway)["policies"].clone();
        let why = "refused (`not_analysed`): its policies were not analysed, and `require_analysed` is set";
        (told["current"] == false && told["faults"].to_string().contains(why)).then_some(())
    });
    assert_eq!(shown_live(&gateway), [digest_of(&a)]);
    signers.bundle_with(&b, 7, ("signer", &next), &analysed);
    std::fs::rename(&next, &file).unwrap();
    wait_for("the analysed one", || (shown_live(&gateway) == [digest_of(&b)]).then_some(()));

    // nothing is signed in which a policy does nothing
    let idle = "permit (principal, action, resource is payment::transfer)\n\
                when { context.scores.concepts + context.scores.ambiguous < 1 };\n";
    let c = revision(&up, "c", &[("c.cedar", idle.to_owned()), replies()]);
    let (key, cert) = (signers.at("signer.key"), signers.at("signer.pem"));
    let words = ["policy", "bundle", c.to_str().unwrap(), "--key", &key, "--cert", &cert, "-o"];
    let output = semgate(&[&words[..], &[next.to_str().unwrap()], &analysed].concat());
    assert!(!output.status.success() && !next.exists());
    assert!(String::from_utf8_lossy(&output.stdout).contains("policy `c.cedar#1` never applies"));
}

#[test]
fn a_bundle_whose_version_could_not_be_kept_is_tried_again_and_the_same_set_buries_what_is_older() {
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let signers = Signers::new(&up.dir.join("signers"));
    let a = revision(&up, "a", &[("a.cedar", permit("a", "current_decision")), replies()]);
    let b = revision(&up, "b", &[("a.cedar", permit("b", "local_observation")), replies()]);
    let file = up.dir.join("policies.bundle");
    signers.bundle(&a, 5, "signer", &file);
    let gateway = Gateway::before(&up, behind.address, &demanded(&up));
    assert_eq!(shown_live(&gateway), [digest_of(&a)]);
    // what stands where the memory is written first cannot be opened as a file
    let state = gateway.audit.parent().unwrap();
    let blocked = state.join("policy-bundle.json.new");
    std::fs::create_dir(&blocked).unwrap();
    signers.bundle(&b, 6, "signer", &up.dir.join("next.bundle"));
    std::fs::rename(up.dir.join("next.bundle"), &file).unwrap();
    wait_for("the refusal", || (status(&gateway)["policies"]["faults"] != json!([])).then_some(()));
    assert_eq!(shown_live(&gateway), [digest_of(&a)]);
    assert_eq!((gateway.post(&decision()).status, gateway.post(&observation()).status), (200, 403));
    std::fs::remove_dir(&blocked).unwrap();
    wait_for("the newer one", || (shown_live(&gateway) == [digest_of(&b)]).then_some(()));
    assert_eq!((gateway.post(&decision()).status, gateway.post(&observation()).status), (403, 200));
    // the same set again, in a bundle that buries those between
    let put = |set: &Path, version: u64| {
        signers.bundle(set, version, "signer", &up.dir.join("next.bundle"));
        std::fs::rename(up.dir.join("next.bundle"), &file).unwrap();
    };
    put(&b, 9);
    let kept = || std::fs::read_to_string(state.join("policy-bundle.json")).unwrap_or_default();
    wait_for("its version", || kept().contains("\"version\":9").then_some(()));
    put(&a, 8);
    wait_for("the refusal", || (status(&gateway)["policies"]["faults"] != json!([])).then_some(()));
    assert_eq!(shown_live(&gateway), [digest_of(&b)]);
}

#[test]
fn the_command_line_signs_and_verifies_and_openssl_agrees() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    let signers = Signers::new(&root.join("signers"));
    // every file of a set is in its bundle, also what a set may be without
    let policies = root.join("policies");
    std::fs::create_dir(&policies).unwrap();
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../policies/rules")).unwrap() {
        let file = file.unwrap();
        if file.file_type().unwrap().is_file() {
            std::fs::copy(file.path(), policies.join(file.file_name())).unwrap();
        }
    }
    let limits = r#"{"budgets": [{"name": "everything", "limit": "600/minute"}]}"#;
    std::fs::write(policies.join("limits.json"), limits).unwrap();
    std::fs::write(policies.join("README.md"), "no policy").unwrap();
    let policies = policies.to_str().unwrap();
    let file = root.join("policies.bundle");
    signers.bundle(Path::new(policies), 7, "signer", &file);
    let verify = |signer: &str, roots: &str| {
        let (file, roots) = (file.to_str().unwrap(), signers.at(roots));
        semgate(&["--json", "policy", "bundle", "--verify", file, "--roots", &roots, "--signer", signer])
    };
    let output = verify(SIGNER, "root.pem");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&said["version"], &said["signer"]), (&json!(7), &json!(SIGNER)));
    assert_eq!(said["digest"], digest_of(Path::new(policies)));
    let files = said["files"].as_array().unwrap();
    assert!(files.contains(&json!("entities.json")) && files.contains(&json!("limits.json")), "{said}");
    assert!(!files.contains(&json!("README.md")), "{said}");
    let output = verify("spiffe://semgate.test/other", "root.pem");
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("`signer`"));

    let recipe =
        Command::new("python3").arg(python::script("openssl_recipe.py")).arg(&file).output().unwrap();
    assert!(recipe.status.success(), "{}", String::from_utf8_lossy(&recipe.stderr));
    assert!(String::from_utf8_lossy(&recipe.stdout).contains("Verified OK"));

    let short = Signers::new(&root.join("strangers"));
    short.bundle(Path::new(policies), 8, "signer", &file);
    let output = verify(SIGNER, "root.pem");
    assert!(!output.status.success(), "signed under another root: {output:?}");
}
