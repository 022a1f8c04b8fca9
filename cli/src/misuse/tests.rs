//! Tests of `misuse`.

use clap::Parser;

use crate::Cli;

#[test]
fn words_that_are_none_are_told_in_one_line_with_a_hint() {
    for (words, error, hint) in [
        (&["contxt"][..], "there is no command `contxt`", "did you mean `context`?"),
        (&["context", "sgin"], "there is no command `sgin`", "did you mean `sign`?"),
        (&["say", "--jsn", "a"], "no argument `--jsn` is known here", "did you mean `--json`?"),
        (&["context", "verify", "x"], "missing: `--roots <ROOTS>`", "`--help` shows its arguments"),
        (
            &["up", "--l8", "here"],
            "`here` is not a value of `--l8 <ADDRESS>`: ",
            "`--help` shows its arguments",
        ),
        (&["cert", "issuing", "--family", "tsl"], "`tsl` is not a value of `--family <FAMILY>`", "`tls`"),
        (&["log", "proof", "1", "--since", "5"], "cannot be used with", "`--help` shows its arguments"),
        (&["up", "--dir"], "`--dir <DIR>` has no value", "`--help` shows its arguments"),
        (&["up", "--dir", "a", "--dir", "b"], "`--dir <DIR>` is given more than once", "`--help`"),
    ] {
        let refused = Cli::try_parse_from([&["semgate"], words].concat()).unwrap_err();
        let fault = super::fault(&refused).unwrap();
        assert_eq!(fault.exit_status(), super::MISUSED);
        let shown = fault.to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert!(
            lines.len() == 2
                && lines[0].starts_with("error: ")
                && lines[0].contains(error)
                && lines[1].starts_with("hint: ")
                && lines[1].contains(hint),
            "{words:?}: {shown}"
        );
    }
}

#[test]
fn help_and_the_version_are_no_faults() {
    for words in
        [&["semgate", "--help"][..], &["semgate", "--version"], &["semgate"], &["semgate", "context"]]
    {
        assert!(super::fault(&Cli::try_parse_from(words).unwrap_err()).is_none(), "{words:?}");
    }
}
