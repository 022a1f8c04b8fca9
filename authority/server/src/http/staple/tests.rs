use http::HeaderValue;

use super::*;

fn is_asked_for_in(accept: &[&str]) -> bool {
    let mut headers = HeaderMap::new();
    for one in accept {
        headers.append(header::ACCEPT, HeaderValue::from_str(one).unwrap());
    }
    is_asked_for(&headers)
}

#[test]
fn who_says_that_the_stapled_form_is_not_acceptable_is_not_given_it() {
    const IT: &str = context::STAPLED_MEDIA_TYPE;
    assert!(
        !is_asked_for_in(&[]) && !is_asked_for_in(&["*/*"]) && !is_asked_for_in(&["application/jose+json"])
    );
    for weight in ["q=0", " q=0.0", "q=0.000 ", "Q=0", "v=1; q=0"] {
        assert!(!is_asked_for_in(&[&format!("{IT};{weight}")]), "{weight}");
        assert!(!is_asked_for_in(&[&format!("application/jose+json, {IT};{weight}, */*")]), "{weight}");
    }
    for weight in ["q=1", "q=0.001", "q=", "v=0", "q=none"] {
        assert!(is_asked_for_in(&[&format!("{IT};{weight}")]), "{weight}");
    }
    assert!(is_asked_for_in(&["text/plain;q=0", &IT.to_uppercase()]));
}
