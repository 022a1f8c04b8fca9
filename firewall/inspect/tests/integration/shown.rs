//! A condition on a credential of certificates is refused when it is loaded where no certificate that is read here could show it.

use semgate_certs::{ANY_POLICY, STANDARD_USAGES, Usage};
use semgate_policies::{Policies, PolicyLimits, PolicySource};

/// What is wrong with a policy that asks for it.
fn faults(credential: &str) -> Vec<String> {
    let text = format!(
        "permit (principal, action, resource) when {{ principal.credentials.contains(\"{credential}\") }};"
    );
    let source = PolicySource { files: vec![("p.cedar".to_owned(), text)], ..PolicySource::shipped() };
    let (_, bytes) = &semgate_contexts::library::all()[0];
    let context = semgate_contexts::Context::check(bytes, &Default::default(), &Default::default()).unwrap();
    let loaded = Policies::load(&source, &[context.into()], &PolicyLimits::default());
    loaded.err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

#[test]
fn bug_a_usage_that_certificates_never_show_was_taken_for_a_credential() {
    let ours = Usage::ALL.into_iter().map(Usage::oid);
    let usages = STANDARD_USAGES.into_iter().map(str::to_owned).chain(ours).map(|oid| format!("eku:{oid}"));
    for mark in usages.chain([format!("policy:{ANY_POLICY}")]) {
        let told = faults(&format!("cert:{mark}"));
        assert!(told.iter().any(|fault| fault.contains("are never credentials")), "{mark}: {told:#?}");
    }
    // those beside them are other people's
    for mark in ["eku:1.3.6.1.5.5.7.3.17", "eku:2.5.29.32.0", "policy:1.3.6.1.5.5.7.3.2"] {
        assert_eq!(faults(&format!("cert:{mark}")), [""; 0], "{mark}");
    }
}
