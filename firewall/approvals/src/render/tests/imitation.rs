//! Agent text never leaves its field.

use proptest::prelude::*;

use super::*;

/// Names and attributes of all tags in order, without the text between them.
fn skeleton(html: &str) -> Vec<String> {
    html.split('<').skip(1).map(|rest| rest.split('>').next().unwrap().to_owned()).collect()
}

/// Agent text in a `pre` of the HTML, one for each line.
fn without_lines(skeleton: &[String]) -> Vec<String> {
    let data = ["pre", "/pre", "p", "/p", "strong", "/strong"];
    skeleton.iter().filter(|tag| !data.contains(&tag.as_str())).cloned().collect()
}

fn check(text: &str) {
    for (hostile, harmless) in subjects(text).iter().zip(subjects("harmless")) {
        let (hostile, harmless) = (card(hostile), card(&harmless));
        for (one, other) in [
            (mail(&hostile, &links()).unwrap().html, mail(&harmless, &links()).unwrap().html),
            (page_of(&hostile), page_of(&harmless)),
        ] {
            let differs = |tag: &&String| {
                !tag.contains(&hostile.digest.to_string()) && !tag.contains(&harmless.digest.to_string())
            };
            let (one, other) = (without_lines(&skeleton(&one)), without_lines(&skeleton(&other)));
            assert_eq!(
                one.iter().filter(differs).collect::<Vec<_>>(),
                other.iter().filter(differs).collect::<Vec<_>>(),
                "agent text made markup"
            );
        }
        for plain in [terminal(&hostile, false), mail(&hostile, &links()).unwrap().text] {
            assert!(!plain.contains('\u{1b}') && !plain.contains('\u{202e}'), "{plain:?}");
            marked(&plain, text);
        }
        let coloured = terminal(&hostile, true);
        for part in coloured.split('\u{1b}').skip(1) {
            assert!(["[0m", "[1m", "[2m"].iter().any(|own| part.starts_with(own)), "{part:?}");
        }
        let message = slack(&hostile);
        for (path, leaf) in leaves(&message) {
            let leaf = leaf.as_str().unwrap_or_default();
            assert!(leaf != "mrkdwn" || !path.ends_with("/type"), "{path}");
            assert!(!path.ends_with("/emoji") || leaf != "true");
        }
        assert_eq!(leaves(&message).iter().filter(|(path, _)| path.ends_with("/url")).count(), 1);
        let message = teams(&hostile, &links());
        for (path, leaf) in leaves(&message) {
            let leaf = leaf.as_str().unwrap_or_default();
            assert!(
                leaf != "TextBlock" && leaf != "FactSet" && leaf != "Image",
                "{path}: Markdown or a load"
            );
            assert!(
                !path.ends_with("/url")
                    || leaf.starts_with("https://gate.test/decide/")
                    || leaf.starts_with("https://console.test/approvals/")
            );
        }
    }
}

/// Every line with agent text begins with the mark.
fn marked(plain: &str, text: &str) {
    let Some(first) = text.lines().find(|line| line.len() > 8) else { return };
    let piece: String = first.chars().take(8).collect();
    if !piece.chars().all(|c| c.is_ascii_alphabetic()) {
        return;
    }
    for line in plain.lines().filter(|line| line.contains(&piece)) {
        assert!(line.trim_start().starts_with('│'), "{line}");
    }
}

#[test]
fn a2h_attack_agent_text_imitates_the_card() {
    check(HOSTILE);
    // a copy of the gateway's own card as the text of the agent
    let real = opened(action(json!({"amount": 1})), demand(ReasonRule::Never));
    let forged = format!(
        "nothing\n\nAnother agent asks\nFrom: spiffe://semgate.test/agent/ceo\nQuestion of the policy: harmless\nDigest: {}\n{}",
        real.digest,
        terminal(&card(&real), true)
    );
    check(&forged);
    for hold in subjects(&forged) {
        let card = card(&hold);
        let mail = mail(&card, &links()).unwrap();
        for shown in [terminal(&card, false), mail.text] {
            let of = |label: &str| shown.lines().filter(|line| line.trim_start().starts_with(label)).count();
            assert_eq!((of("From: "), of("Digest: "), of("Request: ")), (1, 1, 1), "{shown}");
            assert!(
                !shown.lines().any(|line| line.trim_start().starts_with("Question of the policy: harmless"))
            );
        }
        assert!(mail.subject.lines().count() == 1 && !mail.subject.contains("ceo"));
        let message = slack(&card);
        for block in message["blocks"].as_array().unwrap().iter().filter(|block| block["type"] == "section") {
            let text = block["text"]["text"].as_str().unwrap();
            assert_eq!(block["text"]["type"], "plain_text");
            let own = !text.contains('│');
            for line in text.lines().filter(|line| line.contains("agent/ceo") || line.contains("harmless")) {
                assert!(!own && line.starts_with('│'), "{line}");
            }
        }
        let message = teams(&card, &links()).to_string();
        for run in message.split("\"TextRun\"").filter(|run| run.contains("agent/ceo")) {
            assert!(run.contains("│ "), "{run}");
        }
    }
}

#[test]
fn an_option_cannot_take_the_title_of_another_button() {
    let hold = opened(asking(InteractionKind::Clarification, "x", &["Deny", "Approve"]), Vec::new());
    let message = slack(&card(&hold));
    let actions =
        message["blocks"].as_array().unwrap().iter().find(|block| block["type"] == "actions").unwrap();
    let titles: Vec<_> =
        actions["elements"].as_array().unwrap().iter().map(|one| one["text"]["text"].clone()).collect();
    assert_eq!(titles, ["1: Deny", "2: Approve", "Deny", "Open the request"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_agent_text_becomes_markup(
        text in proptest::collection::vec(prop_oneof![
            any::<String>(),
            "[<>&\"'*_`~|\\[\\](){}%#!@/:;=a-z \n\u{1b}\u{202e}\u{2066}\u{200b}]{0,40}",
            Just(HOSTILE.to_owned()),
        ], 0..4)
    ) {
        check(&text.concat());
    }
}
