//! A receiver of spans that is reached as its owner meant.

use super::*;
use crate::config::Config;
use crate::config::tests::GOOD;

fn with(settings: &str) -> Result<Config, ConfigFault> {
    Config::parse(&format!("{GOOD}[traces]\n{settings}"), Path::new("/etc/semgate"))
}

#[test]
fn a_receiver_has_the_path_of_the_protocol_and_reads_back_alike() {
    let config =
        with("endpoint = \"http://127.0.0.1:4318\"\nheaders = \"otlp.headers\"\nsample = 0.25\n").unwrap();
    let traces = config.traces.clone().unwrap();
    assert_eq!(traces.endpoint.path, "/v1/traces");
    assert_eq!(traces.headers.as_deref(), Some(Path::new("/etc/semgate/otlp.headers")));
    assert_eq!(traces.sample, Share(250_000));
    assert_eq!(Config::parse(&config.effective(), Path::new("/")), Ok(config));
    let other = with("endpoint = \"http://127.0.0.1:4318/otlp/v1/traces\"\n").unwrap().traces.unwrap();
    assert_eq!((other.endpoint.path.as_str(), other.sample), ("/otlp/v1/traces", Share(10_000)));
}

#[test]
fn a_receiver_that_others_could_read_or_pose_as_stops_the_start() {
    for (settings, key) in [
        ("endpoint = \"http://collector.example:4318\"\n", "traces.endpoint"),
        ("endpoint = \"https://collector.example:4318\"\n", "traces.tls_roots"),
        ("endpoint = \"http://127.0.0.1:4318\"\nsample = 1.5\n", "traces.sample"),
        ("endpoint = \"http://127.0.0.1:4318\"\nheader = \"x\"\n", "did you mean `headers`"),
    ] {
        let fault = with(settings).unwrap_err().to_string();
        assert!(fault.contains(key), "{settings}: {fault}");
    }
}

#[test]
fn a_share_takes_that_part_of_random_ids() {
    let share = Share(250_000);
    let ids = (0..100_000_u128).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
    let taken = ids.filter(|id| share.takes(*id)).count();
    assert!((24_000..26_000).contains(&taken), "{taken}");
    assert!(Share(WHOLE).takes(u128::MAX) && !Share(0).takes(0));
}
