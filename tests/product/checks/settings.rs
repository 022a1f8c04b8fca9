//! Every fault of a configuration file in one run, with line, column, and the name that was meant.

use std::path::PathBuf;
use std::process::Command;

use super::support::{SEMGATE, Up};
use super::{semgate, shown, word};

/// What a check says of the file; each change replaces text that it holds.
fn faults(job: &str, file: PathBuf, changes: &[(&str, &str)]) -> Vec<String> {
    let mut text = std::fs::read_to_string(&file).unwrap();
    for (was, is) in changes {
        assert!(text.contains(was), "`{was}` in {text}");
        text = text.replacen(was, is, 1);
    }
    let changed = file.with_file_name("changed.toml");
    std::fs::write(&changed, text).unwrap();
    let (status, _, errors) = shown(&semgate(&[job, "check", "--config", word(&changed)]));
    assert_eq!(status, 1, "{errors}");
    let name = format!("error: `{}`: ", changed.display());
    let lines = errors.lines().filter(|line| !line.starts_with("hint: "));
    lines.map(|line| line.trim_start_matches(&name).trim().to_owned()).collect()
}

/// The line and column of the text in the changed file of the last check.
fn at(up: &Up, text: &str) -> String {
    let file = std::fs::read_to_string(up.dir.join("changed.toml")).unwrap();
    let before = &file[..file.find(text).unwrap()];
    let column = before.rsplit('\n').next().unwrap().len() + 1;
    format!("line {}, column {column}: ", before.matches('\n').count() + 1)
}

#[test]
fn every_fault_of_a_configuration_is_shown_with_its_position() {
    let up = Up::start();
    let said = faults(
        "firewall",
        up.path("/firewall_config"),
        &[
            ("audit = ", "audit_fsnyc = true\naudit = "),
            ("[[authority]]", "[limits]\nnodes = 3\nbody_byts = 9\n\n[[authority]]"),
            ("binding = \"l8\"", "binding = \"l9\"\nanswr_from_code_lists = true"),
            ("binding = \"a2a\"", "binding = \"a2a\"\nadmit = [\"texts\"]\nhosts = 7"),
        ],
    );
    for (text, what) in [
        ("audit_fsnyc", "unknown field `audit_fsnyc`; did you mean `audit_fsync`?"),
        ("3\nbody", "`limits.nodes` must be between 16 and 10000000"),
        ("body_byts", "`limits`: unknown field `body_byts`; did you mean `body_bytes`?"),
        ("\"l9\"", "`route `l8`: binding` must be `l8`, `a2a`, `mcp`, `a2h`, `ldp` or `iac`"),
        ("answr", "unknown field `answr_from_code_lists`; did you mean `answer_from_code_lists`?"),
        ("\"texts\"", "`route `a2a`: admit`: unknown variant `texts`; did you mean `text`?"),
        ("7\n", "`route `a2a`: hosts`: invalid type: integer `7`, expected a sequence"),
    ] {
        let expected = at(&up, text) + what;
        assert!(said.contains(&expected), "{expected}\n{}", said.join("\n"));
    }
    assert_eq!(said.len(), 7, "nothing follows from the others: {}", said.join("\n"));

    let said = faults(
        "authority",
        up.path("/authority_config"),
        &[
            ("status_lifetime", "status_lifetme"),
            ("[tls]", "[limits]\nqueue = \"many\"\nfollowrs = 3\n\n[tls]"),
            ("publish = [\"*\"]", "publish = [\"acme*\"]"),
        ],
    );
    for (text, what) in [
        (
            "status_lifetme",
            "unknown field `status_lifetme`; did you mean `status_lifetime`? one of `authority`, ",
        ),
        ("\"many\"", "invalid type: string \"many\", expected usize"),
        ("followrs", "unknown field `followrs`; did you mean `followers`? one of "),
        ("[\"acme*\"]", "`acme*` is not a line pattern"),
    ] {
        let expected = at(&up, text) + what;
        assert!(said.iter().any(|line| line.starts_with(&expected)), "{expected}\n{}", said.join("\n"));
    }
    assert_eq!(said.len(), 4, "{}", said.join("\n"));
}

#[test]
fn rules_across_settings_are_shown_with_the_setting_that_they_name() {
    let up = Up::start();
    let said = faults(
        "firewall",
        up.path("/firewall_config"),
        &[
            ("binding = \"l8\"", "binding = \"l8\"\nrequire_lock = true"),
            ("binding = \"a2a\"", "binding = \"a2a\"\ncard_keys = \"keys.json\""),
        ],
    );
    let expected =
        at(&up, "card_keys") + "`route `a2a`: card_keys` must be left out unless `card` is `untouched`";
    assert!(said.contains(&expected), "{expected}\n{}", said.join("\n"));
    let said =
        faults("authority", up.path("/authority_config"), &[("[tls]", "[limits]\nqueue = 0\n\n[tls]")]);
    let expected = at(&up, "queue") + "`limits.queue` is 0; it must be at least 1 and at most 1048576";
    assert_eq!(said, [expected]);
    // text that is no TOML: every fault of its form
    let file = up.dir.join("broken.toml");
    std::fs::write(&file, "state = \nadmin = [1\naudit \"x\"\n").unwrap();
    let output = Command::new(SEMGATE).args(["firewall", "check", "--config", word(&file)]).output().unwrap();
    let (_, _, errors) = shown(&output);
    assert!(errors.contains("line 1, column 9: ") && errors.matches("line ").count() >= 2, "{errors}");
}
