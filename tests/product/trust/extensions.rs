//! Extensions that refuse a certificate, through the running binary.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{SEMGATE, Up};
use crate::trust::{good, semgate, text};

const CA: &str = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n";
const AGENT: &str = "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=clientAuth\n\
    subjectAltName=URI:spiffe://semgate.test/agent/retailer-7\n";

fn openssl(dir: &Path, words: &[&str]) {
    good(&Command::new("openssl").args(words).current_dir(dir).output().unwrap());
}

/// Makes `name.pem` and `name.key` with these extensions, signed by the files of `by` or by itself.
fn certificate(dir: &Path, name: &str, extensions: &str, by: Option<&Path>) {
    let file = |ending: &str| format!("{name}.{ending}");
    let config =
        format!("[req]\ndistinguished_name=dn\n[dn]\n[ext]\nsubjectKeyIdentifier=hash\n{extensions}");
    fs::write(dir.join(file("cnf")), config).unwrap();
    let (key, pem, request, config) = (file("key"), file("pem"), file("csr"), file("cnf"));
    let curve = ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out"];
    openssl(dir, &[&curve[..], &[&key]].concat());
    let subject = format!("/CN={name}");
    openssl(dir, &["req", "-new", "-key", &key, "-subj", &subject, "-config", &config, "-out", &request]);
    let issuer = by.map(|by| (by.with_extension("pem"), by.with_extension("key")));
    let signed_by = match &issuer {
        Some((certificate, key)) => vec!["-CA", text(certificate), "-CAkey", text(key), "-set_serial", "77"],
        None => vec!["-signkey", &key],
    };
    let sign = [
        "x509",
        "-req",
        "-in",
        &request,
        "-days",
        "20",
        "-extfile",
        &config,
        "-extensions",
        "ext",
        "-out",
        &pem,
    ];
    openssl(dir, &[&sign[..], &signed_by].concat());
}

#[test]
fn a_gateway_does_not_start_with_a_root_whose_extensions_refuse_it_and_says_which_file_and_why() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("up");
    let up = Up::start_in(&dir);
    let config = fs::read_to_string(up.path("/firewall_config")).unwrap();
    // the state directory is to be free
    up.stop();
    let with_domain = dir.join("mesh.toml");
    let domain = "[[trust_domain]]\nname = \"mesh.test\"\nroots = \"mesh.pem\"\n";
    fs::write(&with_domain, format!("{config}\n{domain}")).unwrap();
    let critical = "a certificate cannot serve as a root: a critical extension is not understood";
    let empty = "a certificate cannot serve as a root: a leaf has name constraints, or they hold no subtree";
    for (extension, fault) in [
        ("", None),
        ("1.3.6.1.4.1.55738.99=ASN1:NULL\n", None),
        ("1.3.6.1.4.1.55738.99=critical,ASN1:NULL\n", Some(critical)),
        ("authorityKeyIdentifier=critical,keyid:always\n", Some(critical)),
        ("certificatePolicies=critical,2.5.29.32.0\n", Some(critical)),
        ("nameConstraints=critical,DER:3000\n", Some(empty)),
        ("nameConstraints=critical,DER:3004A000A100\n", Some(empty)),
    ] {
        certificate(&dir, "mesh", &format!("{CA}{extension}"), None);
        let checked = semgate(&["firewall", "check", "--config", text(&with_domain)]);
        let said = String::from_utf8_lossy(&checked.stderr).into_owned();
        assert_eq!(checked.status.success(), fault.is_none(), "{extension}: {said}");
        let Some(fault) = fault else { continue };
        assert!(said.contains(fault) && said.contains("mesh.pem"), "{extension}: {said}");
        let run =
            Command::new(SEMGATE).args(["firewall", "run", "--config"]).arg(&with_domain).output().unwrap();
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(!run.status.success() && said.contains(fault), "{extension}: {said}");
    }
}

#[test]
fn an_agent_whose_certificate_holds_name_constraints_is_refused_whether_they_are_critical_or_not() {
    let up = Up::start();
    let issuer = up.dir.join("offline/tls-issuing");
    let decision = r#"{"item_id":"beer","quantity":120}"#;
    let constraints = "nameConstraints=permitted;DNS:example.com\n";
    for (extension, accepted) in [
        ("", true),
        (constraints, false),
        (&constraints.replace('=', "=critical,"), false),
        ("authorityInfoAccess=critical,OCSP;URI:http://a/\n", false),
        ("authorityInfoAccess=OCSP;URI:http://a/\n", true),
    ] {
        certificate(&up.dir, "peer", &format!("{AGENT}{extension}"), Some(&issuer));
        let [leaf, above] = ["peer.pem", "offline/tls-issuing.pem"]
            .map(|file| fs::read_to_string(up.dir.join(file)).unwrap());
        fs::write(up.path("/agents/retailer-7/cert"), leaf + &above).unwrap();
        fs::copy(up.dir.join("peer.key"), up.path("/agents/retailer-7/key")).unwrap();
        let said = up.semgate(&["--json", "say", "supplyChain:v1.0", "current_decision", decision]);
        let why = String::from_utf8_lossy(&said.stderr).into_owned();
        assert_eq!(said.status.success(), accepted, "{extension}: {why}");
    }
}
