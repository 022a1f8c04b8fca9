//! A console for tests: real certificates in a directory of its own, and no server to talk to.

use std::path::Path;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::{Request, header};
use http_body_util::BodyExt;
use hyper_util::service::TowerToHyperService;
use ring::rand::SystemRandom;
use semgate_certs::{
    Chain, Family, Issuer, IssuingProfile, KeyPair, LeafProfile, LineScope, Peer, RootProfile, SpiffeId,
};

use crate::app::App;
use crate::clock::now;
use crate::config::Config;
use crate::guard::{COOKIE, Caller};
use crate::router::router;
use crate::sessions::Factor;

/// The settings of the tests. Nothing answers at port 9, which no test needs.
pub(crate) const SETTINGS: &str = r#"
listen = "127.0.0.1:9480"
people_roots = "roots.pem"
audit_file = "audit.jsonl"
link = "human://bob.sre"
[tls]
certificate = "server.pem"
key = "server.key"
[identity]
certificate = "console.pem"
key = "console.key"
[authority]
url = "https://127.0.0.1:9"
roots = "roots.pem"
[[gateway]]
name = "one"
admin = "http://127.0.0.1:9"
approvals = "https://127.0.0.1:9"
roots = "roots.pem"
[[person]]
id = "spiffe://semgate.test/human/bob.sre"
human = "human://bob.sre"
name = "Bob"
roles = ["viewer", "auditor", "operator", "approver"]
[[person]]
id = "spiffe://semgate.test/human/viewer"
name = "Vi"
roles = ["viewer"]
[[person]]
id = "spiffe://semgate.test/human/auditor"
name = "Au"
roles = ["auditor"]
[[person]]
id = "spiffe://semgate.test/human/operator"
name = "Op"
roles = ["operator"]
[[person]]
id = "spiffe://semgate.test/human/approver"
human = "human://approver"
name = "Ap"
roles = ["approver"]
"#;

/// A console and its certificate issuer.
pub(crate) struct Bed {
    pub(crate) app: Arc<App>,
    pub(crate) dir: tempfile::TempDir,
    issuer: Issuer,
}

/// One answer.
pub(crate) struct Got {
    pub(crate) head: http::response::Parts,
    pub(crate) text: String,
}

impl Got {
    pub(crate) fn status(&self) -> u16 {
        self.head.status.as_u16()
    }

    pub(crate) fn header(&self, name: header::HeaderName) -> &str {
        self.head.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }
}

fn write(dir: &Path, name: &str, chain: &Chain, key: &KeyPair) {
    std::fs::write(dir.join(format!("{name}.pem")), chain.to_pem()).unwrap();
    std::fs::write(dir.join(format!("{name}.key")), key.to_pem()).unwrap();
}

impl Bed {
    pub(crate) fn new() -> Self {
        let (random, begins) = (SystemRandom::new(), now() - 3_600);
        let key = || KeyPair::generate(&random).unwrap();
        let root = Issuer::root(&RootProfile::new("Root", begins), key(), &random).unwrap();
        let profile = IssuingProfile::new("TLS", Family::Tls, begins).lines(LineScope::All);
        let issuer = root.issuing(&profile, key(), &random).unwrap();
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("roots.pem"), root.chain().to_pem()).unwrap();
        let server = LeafProfile::server(None, Vec::new(), vec!["127.0.0.1".parse().unwrap()], begins);
        for (name, profile) in [("server", server), ("console", agent("spiffe://semgate.test/console"))] {
            let own = key();
            write(dir.path(), name, &issuer.leaf(&profile, own.public(), &random).unwrap(), &own);
        }
        let config = Config::parse(SETTINGS, dir.path()).unwrap();
        Self { app: Arc::new(App::open(config).unwrap()), dir, issuer }
    }

    /// The peer with a certificate of this id.
    pub(crate) fn peer(&self, id: &str) -> Arc<Peer> {
        let random = SystemRandom::new();
        let key = KeyPair::generate(&random).unwrap();
        let chain = self.issuer.leaf(&agent(id), key.public(), &random).unwrap();
        Arc::new(self.app.materials.get().people.identify(chain.certificates(), now()).unwrap())
    }

    /// A session of this person by a link. Returns the cookie and the token.
    pub(crate) fn session(&self, name: &str) -> (String, String) {
        self.session_by(name, Factor::Link)
    }

    pub(crate) fn session_by(&self, name: &str, factor: Factor) -> (String, String) {
        let id = SpiffeId::parse(&format!("spiffe://semgate.test/human/{name}")).unwrap();
        let person = self.app.person(&id).unwrap();
        let cookie = self.app.sessions().begin(person, factor, now()).unwrap();
        let csrf = self.app.sessions().of(&cookie, now(), true).unwrap().csrf;
        (cookie, csrf)
    }

    /// Sends a request through the router.
    pub(crate) async fn send(&self, mut request: Request<Body>, peer: Option<Arc<Peer>>) -> Got {
        request.extensions_mut().insert(Caller(peer));
        let router = TowerToHyperService::new(router(&self.app));
        let answer: Response = hyper::service::Service::call(&router, request).await.unwrap();
        let (head, body) = answer.into_parts();
        // a stream does not end
        let kind = head.headers.get(header::CONTENT_TYPE).map(|kind| kind.as_bytes());
        if kind == Some(b"text/event-stream") {
            return Got { head, text: String::new() };
        }
        let bytes = body.collect().await.unwrap().to_bytes();
        Got { head, text: String::from_utf8_lossy(&bytes).into_owned() }
    }

    pub(crate) async fn get(&self, path: &str, cookie: &str) -> Got {
        let request = Request::get(path).header(header::COOKIE, format!("{COOKIE}={cookie}"));
        self.send(request.body(Body::empty()).unwrap(), None).await
    }

    /// A form of this origin.
    pub(crate) async fn post(&self, path: &str, cookie: &str, form: &str) -> Got {
        self.send(self.form(path, cookie, form), None).await
    }

    pub(crate) fn form(&self, path: &str, cookie: &str, form: &str) -> Request<Body> {
        Request::post(path)
            .header(header::COOKIE, format!("{COOKIE}={cookie}"))
            .header(header::ORIGIN, &self.app.origin)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(form.to_owned()))
            .unwrap()
    }

    /// The lines of the audit log.
    pub(crate) fn audited(&self) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(self.dir.path().join("audit.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn agent(id: &str) -> LeafProfile {
    LeafProfile::agent(SpiffeId::parse(id).unwrap(), now() - 60)
}
