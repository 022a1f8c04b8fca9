//! Streams of calls.

use super::*;

pub(super) fn event(json: &Value) -> Piece {
    Piece::Data(framed(&proto("StreamResponse", json)))
}

pub(super) fn artifact(quantity: f64) -> Value {
    json!({"artifactUpdate": {"taskId": "t-1", "contextId": "c-1", "artifact": {
        "artifactId": "a-1", "parts": decision(quantity), "metadata": claim("INFORM")
    }}})
}

pub(super) async fn next(body: &mut hyper::body::Incoming) -> Option<hyper::body::Frame<Bytes>> {
    let frame = tokio::time::timeout(Duration::from_secs(20), body.frame()).await.expect("in time");
    frame.map(|frame| frame.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_of_a_stream_pass_as_they_come_and_the_first_that_may_not_ends_it() {
    let (says, say) = Says::bit_by_bit();
    let says = Mutex::new(Some(says));
    let agent = Agent::start(move |_| says.lock().unwrap().take().unwrap());
    let (house, gateway) = start(&agent, "");
    let mut client = h2::plain(gateway.port("grpc")).await;
    let answer = client.send_request(call("SendStreamingMessage", framed(&request()))).await.unwrap();
    assert_eq!(answer.status(), 200);
    let mut body = answer.into_body();
    for json in [json!({"task": task("t-1")}), artifact(7.0)] {
        say.send(event(&json)).unwrap();
        // the next is not said before this one came
        let data = next(&mut body).await.unwrap().into_data().unwrap();
        assert_eq!(said("StreamResponse", &data[5..]), json);
    }
    say.send(event(&artifact(-7.0))).unwrap();
    let trailers = next(&mut body).await.unwrap().into_trailers().unwrap();
    assert_eq!(trailers["grpc-status"], "13");
    assert!(trailers["grpc-message"].to_str().unwrap().starts_with("reply_refused: "));
    assert!(next(&mut body).await.is_none());
    tokio::time::timeout(Duration::from_secs(20), say.closed()).await.expect("the agent's call ends too");
    wait("the records", || house.audit().len() == 4);
    let verdicts: Vec<_> = house.audit().iter().map(|record| record["verdict"].clone()).collect();
    assert_eq!(verdicts, ["allowed", "allowed", "allowed", "refused"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_the_agent_ends_well_ends_well() {
    let end = json!({"statusUpdate": {"taskId": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_COMPLETED"}}});
    let pieces = [event(&json!({"task": task("t-1")})), event(&artifact(7.0)), event(&end), status(0)];
    // in pieces of any size
    let whole: Vec<u8> =
        pieces.iter().flat_map(|p| if let Piece::Data(d) = p { d.clone() } else { vec![] }).collect();
    let agent = Agent::start(move |_| {
        let mut all: Vec<_> = whole.chunks(7).map(|chunk| Piece::Data(chunk.to_vec())).collect();
        all.push(status(0));
        Says::pieces(all)
    });
    let (_house, gateway) = start(&agent, "");
    let mut client = h2::plain(gateway.port("grpc")).await;
    let answer = ask(&mut client, call("SendStreamingMessage", framed(&request()))).await;
    assert_eq!((answer.status(), answer.messages.len()), (0, 3), "{answer:?}");
    assert_eq!(agent.seen()[0].headers["grpc-timeout"], "3600000m");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_who_leaves_a_stream_takes_the_agents_call_along() {
    let (says, say) = Says::bit_by_bit();
    let says = Mutex::new(Some(says));
    let agent = Agent::start(move |_| says.lock().unwrap().take().unwrap());
    let (house, gateway) = start(&agent, "");
    let mut client = h2::plain(gateway.port("grpc")).await;
    let answer = client.send_request(call("SendStreamingMessage", framed(&request()))).await.unwrap();
    say.send(event(&json!({"task": task("t-1")}))).unwrap();
    let mut body = answer.into_body();
    assert!(next(&mut body).await.unwrap().is_data());
    drop(body);
    tokio::time::timeout(Duration::from_secs(20), say.closed()).await.expect("the agent's call ends too");
    wait("the records", || house.audit().len() == 3);
}
