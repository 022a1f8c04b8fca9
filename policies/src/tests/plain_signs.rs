//! Signs of the patterns of other languages load, since a text may hold them, and are told.

use super::House;

fn told(condition: &str) -> Vec<String> {
    let policy = format!(
        "permit (principal, action, resource is supplyChain::local_observation)\nwhen {{ {condition} }};"
    );
    let house = House::with(&policy).unwrap();
    house.policies.advice().iter().map(ToString::to_string).collect()
}

#[test]
fn a_sign_that_stands_for_itself_is_told_where_it_looks_like_a_pattern() {
    let star = "`*` stands for itself here: what begins, ends or has something in it is asked with `like`";
    let percent = "`%` stands for itself: in a pattern of `like` anything is `*`";
    let regular = "signs of regular expressions stand for themselves";
    for (condition, text, why) in [
        (r#"resource.observed_fact_text == "*urgent*""#, r#""*urgent*""#, star),
        (r#"resource.observed_fact_text != "*urgent*""#, r#""*urgent*""#, star),
        (r#""urgent*" == resource.observed_fact_text"#, r#""urgent*""#, star),
        (r#"["a", "acct:*"].contains(resource.observed_fact_text)"#, r#""acct:*""#, star),
        (r#"resource.observed_fact_text like "%urgent%""#, r#""%urgent%""#, percent),
        (r#"resource.observed_fact_text like "^DELETE.*$""#, r#""^DELETE.*$""#, regular),
        (r#"resource.observed_fact_text like "DELETE.*$""#, r#""DELETE.*$""#, regular),
        (r#"resource.observed_fact_text like ".*urgent.*""#, r#"".*urgent.*""#, regular),
        (r#"resource.observed_fact_text like "(?i)urgent*""#, r#""(?i)urgent*""#, regular),
        (r#"resource.observed_fact_text like "[a-z]*""#, r#""[a-z]*""#, regular),
        (r#"resource.observed_fact_text like "(?i)urgent""#, r#""(?i)urgent""#, regular),
        (r#"resource.observed_fact_text like "[a-z]""#, r#""[a-z]""#, regular),
    ] {
        let found = told(condition);
        assert_eq!(found.len(), 1, "{condition}: {found:?}");
        let at = 8 + condition.find(text).unwrap();
        assert!(
            found[0].starts_with(&format!("p.cedar:2:{at}: policy `p.cedar#1`: `{text}`: ")),
            "{found:?}"
        );
        assert!(found[0].contains(why), "{found:?}");
    }
    let now = told(r#"context.now == datetime("2030-12-24")"#);
    assert!(now.len() == 1 && now[0].contains("that is so for one second"), "{now:?}");
}

#[test]
fn signs_that_may_be_meant_are_not_told() {
    for condition in [
        r#"resource.observed_fact_text like "*urgent*""#,
        r#"resource.observed_fact_text like "100%*""#,
        r#"resource.observed_fact_text like "*.*""#,
        r#"resource.observed_fact_text like "a.*""#,
        r#"resource.observed_fact_text like "*^*""#,
        r#"resource.observed_fact_text like "*$""#,
        r#"resource.observed_fact_text like ".*""#,
        r#"resource.observed_fact_text like "*[x]*""#,
        r#"resource.observed_fact_text like "[a-""#,
        r#"resource.observed_fact_text == "*""#,
        r#"resource.observed_fact_text != "a*b""#,
        r#"context.now >= datetime("2030-12-24")"#,
        r#"context.now.toDate() == datetime("2030-12-24")"#,
    ] {
        assert_eq!(told(condition), Vec::<String>::new(), "{condition}");
    }
}
