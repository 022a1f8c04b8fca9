//! `semgate use` and its variables, in place of the flags that name an authority.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use super::support::{Up, task_agent::TaskAgent};
use super::{command, fresh, good, text};

const LIST: [&str; 2] = ["context", "list"];

fn shown(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A directory whose authority publishes nothing but what protocols need.
fn other(made: &Path) {
    let agent = TaskAgent::start();
    good(&["init", text(made), "--a2a", &format!("http://{}", agent.address)]);
}

#[test]
fn fault_10_a_flag_comes_before_a_variable_before_a_profile_before_the_directory() {
    let (up, home, made) = (Up::start(), tempfile::tempdir().unwrap(), fresh());
    let url = up.text("/authority_url");
    let roots = up.path("/roots");
    let key = std::fs::read_to_string(up.dir.join("authority/keys/log.pub")).unwrap();
    let (cert, private) = (up.path("/agents/operator/cert"), up.path("/agents/operator/key"));
    let run = |words: &[&str], variables: &[(&str, &str)]| {
        let mut command = command(words);
        command.env("XDG_CONFIG_HOME", home.path()).envs(variables.iter().copied());
        command.current_dir(home.path()).output().unwrap()
    };
    // nothing is known yet
    assert!(shown(&run(&LIST, &[])).contains("start `semgate up --dir ./.semgate`"));
    let words = ["use", url, "--roots", text(&roots), "--log-key", key.trim(), "--cert", text(&cert)];
    let used = run(&[&words[..], &["--key", text(&private), "--name", "ours"]].concat(), &[]);
    assert!(used.status.success(), "{}", shown(&used));
    let profile = home.path().join("semgate/ours.toml");
    assert_eq!(std::fs::metadata(&profile).unwrap().permissions().mode() & 0o777, 0o600);

    // reading, writing, the log and the root, without one flag
    assert!(shown(&run(&LIST, &[])).contains("urn:contexts:travel:v2.1"));
    let floor = run(&["context", "floor", "supplyChain", "v1.0"], &[]);
    assert!(floor.status.success(), "{}", shown(&floor));
    let fetched = run(&["context", "fetch", "travel:v2.1"], &[]);
    assert!(fetched.status.success(), "{}", shown(&fetched));
    assert!(shown(&run(&["log", "verify"], &[])).contains("size: 16"));
    assert!(run(&["trust", "show"], &[]).status.success());

    // a variable comes before the profile, whose keys belong to its own authority alone
    let elsewhere = ("SEMGATE_AUTHORITY", "https://127.0.0.1:9");
    let output = shown(&run(&LIST, &[elsewhere]));
    assert!(output.contains("`SEMGATE_AUTHORITY` names an authority without roots"), "{output}");
    let with_roots = [elsewhere, ("SEMGATE_ROOTS", text(&roots))];
    assert!(shown(&run(&LIST, &with_roots)).contains("no answer from `https://127.0.0.1:9/"));
    // a flag comes before the variable
    let flagged = ["context", "list", "--authority", url];
    let output = shown(&run(&[&flagged[..], &["--roots", text(&roots)]].concat(), &with_roots));
    assert!(output.contains("urn:contexts:travel:v2.1"), "{output}");
    other(&made.path);
    let output = shown(&run(&["context", "list", "--dir", text(&made.path)], &with_roots));
    assert!(output.contains("no answer from"), "`--dir` names another one, which does not run: {output}");

    let output = shown(&run(&LIST, &[("SEMGATE_PROFILE", "theirs")]));
    assert!(output.contains("there is no profile `theirs`"), "{output}");
    assert!(run(&["use", "--none"], &[]).status.success());
    assert!(!run(&LIST, &[]).status.success());
    assert!(run(&LIST, &[("SEMGATE_PROFILE", "ours")]).status.success());

    // an address is asked for everywhere, and a name in its place says so
    for words in
        [&["context", "list", "--authority", "semgate.test"][..], &["log", "verify", "--authority", "x"]]
    {
        let refused = run(words, &[("SEMGATE_PROFILE", "ours")]);
        assert_eq!(refused.status.code(), Some(2), "{}", shown(&refused));
        assert!(
            shown(&refused).contains("is the address of an authority, not its name"),
            "{}",
            shown(&refused)
        );
    }
}
