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
