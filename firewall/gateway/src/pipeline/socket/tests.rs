use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

#[test]
fn the_key_of_the_specification_is_proved_as_there() {
    assert_eq!(super::wanted::accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

#[tokio::test]
async fn what_one_side_may_say_the_other_is_told_however_little_it_may_say_itself() {
    let (here, there) = tokio::io::duplex(1024);
    let (small, large) = (1_000, 1_000_000);
    let mut caller =
        WebSocketStream::from_raw_socket(here, Role::Server, Some(super::config(small, large))).await;
    let mut peer =
        WebSocketStream::from_raw_socket(there, Role::Client, Some(super::config(large, small))).await;
    let reply = Message::text("x".repeat(large));
    let (sent, heard) = tokio::join!(caller.send(reply.clone()), peer.next());
    sent.unwrap();
    assert_eq!(heard.unwrap().unwrap(), reply);
}

/// Fragments without bytes never came to the bound of a message.
#[tokio::test]
async fn attack_empty_fragments_without_an_end() {
    use super::pieces::{Pieces, Since};
    use tokio::io::AsyncWriteExt;
    let (here, mut there) = tokio::io::duplex(4096);
    let most = 10_000;
    let accounts = crate::server::account::Accounts::new(&crate::config::Limits::default());
    let now = semgate_inspect::Now { unix: 0, monotonic_ms: 0 };
    let charge = crate::server::account::Charge::new(&accounts.of(&"agent".into(), now).unwrap());
    let stream = Pieces::new(here, Since::default(), most, super::READ, charge);
    let mut caller =
        WebSocketStream::from_raw_socket(stream, Role::Server, Some(super::config(most, most))).await;
    let writing = tokio::spawn(async move {
        // a text that goes on, and continuations that go on, masked with nothing
        let (first, next) = ([0x01, 0x80, 0, 0, 0, 0], [0x00, 0x80, 0, 0, 0, 0]);
        there.write_all(&first).await.unwrap();
        let mut written = 0;
        while there.write_all(&next).await.is_ok() {
            written += next.len();
        }
        written
    });
    let fault = caller.next().await.unwrap().unwrap_err();
    let end = super::close::of_caller(&fault);
    let said = format!("{end:?}");
    assert!(said.contains("TooLarge") && said.contains("in too many pieces"), "{said}");
    drop(caller);
    assert!(writing.await.unwrap() < 3 * most + super::READ + 4096);
}
