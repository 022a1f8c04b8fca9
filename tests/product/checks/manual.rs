//! Completions, manual pages, and the examples below each `--help`.

use std::process::{Command, Stdio};

use super::{semgate, shown, word};

#[test]
fn completions_manual_pages_and_help_come_from_one_command_line() {
    let dir = tempfile::tempdir().unwrap();
    let (status, script, _) = shown(&semgate(&["completions", "bash"]));
    assert!(status == 0 && script.contains("--deny-warnings"), "{script}");
    let file = dir.path().join("semgate.bash");
    // bash itself offers the commands that follow
    let ask = "\nCOMP_WORDS=(semgate context rev); COMP_CWORD=2; _semgate semgate rev context; echo \"offers ${COMPREPLY[*]}\"\n";
    std::fs::write(&file, script + ask).unwrap();
    let bash = Command::new("bash").arg(&file).stderr(Stdio::inherit()).output().unwrap();
    assert_eq!(String::from_utf8(bash.stdout).unwrap().trim(), "offers revoke");

    let pages = dir.path().join("man");
    let (status, told, errors) = shown(&semgate(&["man", word(&pages)]));
    assert_eq!(status, 0, "{told}{errors}");
    let page = std::fs::read_to_string(pages.join("semgate-context-revoke.1")).unwrap();
    assert!(page.contains(".TH") && page.contains("semgate context revoke payment:v1.0"), "{page}");

    let (status, help, _) = shown(&semgate(&["context", "diff", "--help"]));
    assert!(
        status == 0 && help.contains("Exit status: 0 success, 1 failure, 2 wrong command line, 3 it breaks"),
        "{help}"
    );
    assert!(help.contains("Examples:\n  semgate context diff weather:v1.0 weather.json\n"), "{help}");
}
