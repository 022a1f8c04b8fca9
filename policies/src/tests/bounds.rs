//! A policy that asks for more than a gateway's limits let come loads and is told, since one set may be for gateways with several limits.

use super::{one_file, shipped_contexts};
use crate::{Floors, Policies, PolicyLimits, ScoreBounds};

const BOUNDS: ScoreBounds = ScoreBounds { message_bytes: 1000, concepts: 64, text_length: 3000 };

fn warned(condition: &str, scores: Option<ScoreBounds>) -> Vec<String> {
    let text = format!(
        "permit (principal, action, resource is payment::transfer);\nforbid (principal, action, resource is payment::transfer)\nwhen {{ {condition} }};"
    );
    let limits = PolicyLimits { scores, ..PolicyLimits::default() };
    let loaded = Policies::load_above(&one_file(&text), &shipped_contexts(), &Floors::new(), &limits);
    let loaded = loaded.unwrap_or_else(|faults| panic!("{text}: {faults:?}"));
    loaded.warnings().iter().map(ToString::to_string).collect()
}

#[test]
fn bug_a_bound_above_the_limits_of_the_gateway_was_not_told() {
    for (condition, limits) in [
        (
            "context.scores.message_bytes > 1000",
            "from `1` to `1000` by `limits.body_bytes`, `reply_bytes` and `event_bytes`",
        ),
        ("context.scores.concepts > 64", "from `1` to `64` by `limits.concepts` and `limits.reply_concepts`"),
        (
            "context.scores.ambiguous > 64",
            "from `0` to `64` by `limits.concepts` and `limits.reply_concepts`",
        ),
    ] {
        let score = condition.split(' ').next().unwrap();
        let told = format!(
            "p.cedar:3:8: policy `p.cedar#2`: its condition is true for no message (`{condition}`: `{score}` is {limits} of the configuration)"
        );
        assert_eq!(warned(condition, Some(BOUNDS)), [told]);
        assert_eq!(warned(condition, None), [""; 0], "{condition}: no configuration is known");
    }
    for condition in [
        "context.scores.message_bytes >= 1000",
        "context.scores.concepts == 64",
        "context.scores.message_bytes > 1000 || resource.currency == \"EUR\"",
    ] {
        assert_eq!(warned(condition, Some(BOUNDS)), [""; 0], "{condition}");
    }
}
