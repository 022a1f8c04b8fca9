//! People who decide, as a test plays them.

use std::io::Write;
use std::net::SocketAddr;

use serde_json::{Value, json};

use super::{Answer, Up, wait_for};

/// One person at a gateway's address for people.
pub struct Person<'u> {
    up: &'u Up,
    name: &'static str,
    url: String,
}

impl<'u> Person<'u> {
    pub fn at(up: &'u Up, name: &'static str, people: SocketAddr) -> Self {
        Self { up, name, url: format!("https://{people}") }
    }

    pub fn get(&self, path: &str) -> Answer {
        let url = format!("{}{path}", self.url);
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", super::address(&url));
        let mut stream = self.up.connect(Some(self.name), &url);
        stream.write_all(request.as_bytes()).unwrap();
        Answer::read(&mut stream)
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.up.post(self.name, &format!("{}{path}", self.url), &[], body.to_string().as_bytes())
    }

    /// Every request of this state.
    pub fn list(&self, state: &str) -> Vec<Value> {
        let answer = self.get(&format!("/v1/approvals?state={state}"));
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        answer.json()["approvals"].as_array().unwrap().clone()
    }

    /// The one open request, once there is one.
    pub fn asked(&self) -> Value {
        let listed = wait_for("a request to a person", || self.list("open").first().cloned());
        self.get(&format!("/v1/approvals/{}", listed["id"].as_str().unwrap())).json()
    }

    /// Approves or denies a request as it stands.
    pub fn decide(&self, act: &str, hold: &Value) -> Answer {
        let body = json!({"digest": hold["digest"], "reason": "seen"});
        self.post(&format!("/v1/approvals/{}/{act}", hold["id"].as_str().unwrap()), &body)
    }
}
