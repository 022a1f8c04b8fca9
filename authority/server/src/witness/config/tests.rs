use super::*;

#[test]
fn what_is_made_loads_and_what_cannot_be_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let log = semgate_statement::LogKey::from_seed("semgate.test/log", &[5; 32]).unwrap();
    let vkey = init_witness(dir.path(), "w.example", &[log.verifier().to_string()]).unwrap();
    let settings = WitnessSettings::load(&dir.path().join("witness.toml")).unwrap();
    assert_eq!(settings.logs, [log.verifier().clone()]);
    let key = CosignerKey::from_text(&std::fs::read_to_string(settings.key).unwrap()).unwrap();
    assert_eq!(key.verifier().to_string(), vkey);
    assert!(matches!(init_witness(dir.path(), "w.example", &[]), Err(InitFault::Exists(_))));
    let text = std::fs::read_to_string(dir.path().join("witness.toml")).unwrap();
    for (from, to, what) in [
        ("listen = \"127.0.0.1:8446\"", "listen = \"0.0.0.0:8446\"", "not on loopback"),
        ("state =", "place =", "unknown field `place`"),
        ("semgate.test/log+", "semgate.test/log+0", "log.key"),
    ] {
        let fault = WitnessSettings::parse(&text.replace(from, to), dir.path()).unwrap_err();
        assert!(fault.what.contains(what), "{fault:?}");
    }
    let twice = format!("{text}\n[[log]]\nkey = \"{}\"\n", log.verifier());
    assert!(WitnessSettings::parse(&twice, dir.path()).unwrap_err().what.contains("one origin"));
    let of = |origin: &str| semgate_statement::LogKey::from_seed(origin, &[6; 32]).unwrap();
    let also = |origin: &str| format!("{text}also = [\"{}\"]\n", of(origin).verifier());
    let both = WitnessSettings::parse(&also("semgate.test/log"), dir.path()).unwrap();
    assert_eq!(both.logs[0].to_string(), format!("{} {}", log.verifier(), of("semgate.test/log").verifier()));
    let fault = WitnessSettings::parse(&also("other.test/log"), dir.path()).unwrap_err();
    assert!(fault.what.contains("another origin"), "{fault:?}");
}
