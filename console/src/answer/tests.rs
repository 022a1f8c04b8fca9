//! Tests of `answer`.

use super::*;
use crate::tests::Bed;

#[test]
fn the_policy_names_nothing_inline_and_nothing_foreign() {
    assert!(CSP.starts_with("default-src 'none'"));
    for word in ["unsafe", "http", "data:", "blob:", "*", "nonce"] {
        assert!(!CSP.contains(word), "{word}");
    }
    for rule in ["frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'", "script-src 'self'"] {
        assert!(CSP.contains(rule), "{rule}");
    }
}

#[tokio::test]
async fn every_answer_has_the_headers() {
    let bed = Bed::new();
    let (cookie, _) = bed.session("bob.sre");
    for path in ["/", "/login", "/assets/console.css", "/assets/nothing", "/nothing", "/approvals", "/log"] {
        let got = bed.get(path, &cookie).await;
        for (name, value) in ALWAYS {
            assert_eq!(got.header(name.clone()), value, "{path}: {name}");
        }
        let kept = if path.ends_with(".css") { "no-cache" } else { "no-store" };
        assert_eq!(got.header(header::CACHE_CONTROL), kept, "{path}");
    }
}

#[test]
fn templates_hold_no_inline_script_and_no_inline_style_and_mark_nothing_safe() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    let mut count = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for word in ["|safe", "| safe", " style=", "<style", " onclick", " onload", "javascript:", "//"] {
            assert!(!text.contains(word), "{}: {word}", path.display());
        }
        assert!(
            text.matches("<script").count() == text.matches("<script src=\"/assets/").count(),
            "{}",
            path.display()
        );
        assert!(
            text.matches("method=\"post\"").count() <= text.matches("name=\"csrf\"").count()
                || path.ends_with("login.html"),
            "{}: a form without a token",
            path.display()
        );
        count += 1;
    }
    assert!(count > 10, "{count}");
}
