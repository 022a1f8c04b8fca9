//! Tests of `prompt`.

use clap::Parser;

use super::*;

#[derive(Parser)]
struct Only {
    #[command(flatten)]
    prompt: WritePrompt,
}

fn local(content: &[u8]) -> Result<Arc<Context>, Fault> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file.json");
    std::fs::write(&file, content).unwrap();
    Only::parse_from(["prompt", "--file", file.to_str().unwrap()]).prompt.local(&file)
}

#[test]
fn a_bare_document_has_a_prompt() {
    for (name, bytes) in semgate_contexts::library::all() {
        let context = local(bytes).unwrap_or_else(|fault| panic!("{name}: {fault:?}"));
        let prompt = render(&context, PromptStatus::Unchecked, Budget::of(Budget::MOST).unwrap()).unwrap();
        assert!(prompt.contains("status: unchecked\n"), "{prompt}");
    }
}

#[test]
fn attack_a_document_with_the_members_of_a_signed_one_is_no_bare_document() {
    for (content, is) in [
        (r#"{"payload":"e30"}"#, true),
        (r#"{"signatures":[],"context":"urn:contexts:t:v1.0"}"#, true),
        (r#"{"context":"urn:contexts:t:v1.0"}"#, false),
        ("[]", false),
    ] {
        assert_eq!(is_signed(content.as_bytes()), is, "{content}");
    }
    let fault = local(b"{\"concepts\":{}}").unwrap_err();
    assert!(!format!("{fault:?}").contains("jws"), "a bare document is judged as one: {fault:?}");
}
