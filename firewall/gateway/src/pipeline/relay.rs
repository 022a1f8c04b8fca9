//! A stream of events from the agent. Each event is judged, recorded and rewritten before it is forwarded.
//!
//! Nothing is read ahead: the next event is requested once the caller has taken the last one. So one event is in memory, and
//! a caller that leaves ends the agent's stream. The first refused event ends the stream with the protocol's own error.

mod course;
mod reader;

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame};
use semgate_inspect::{Code, Delivered, Refusal, Sent};
use tokio::time::{Instant, timeout_at};

use crate::pipeline::admit::headers::ContentType;
use crate::pipeline::events::{EVENT_STREAM, Event, Item, Name};
use crate::pipeline::forward::{Answering, Begun};
use crate::pipeline::gateway_refusals::{invalid, no_room};
use crate::pipeline::refuse::{self, Manner};
use crate::server::account::NoRoom;
use crate::upstream::{Lease, ReplyBody};

pub(crate) use course::{Course, Of, Opened};
pub(crate) use reader::{Framing, Reader};

/// Minimum interval between forwarded comments of the agent.
const ALIVE_EVERY: Duration = Duration::from_secs(1);

/// Interval of keep-alives on a quiet stream, as in the common libraries. It is well below the timeouts of intermediaries.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Writes after a caller closed its sending direction, to detect that it left. The first write only makes the other side
/// report its absence, so a second follows soon, and later ones now and then.
const PROBES: [Duration; 3] = [Duration::ZERO, Duration::from_millis(50), Duration::from_secs(1)];

/// Result of waiting.
enum More {
    /// Bytes from the agent.
    Came,
    /// Silence that requires a keep-alive.
    Quiet,
    /// The end of the agent's stream.
    End,
    /// The stream has reached its maximum time.
    TimeOver,
}

/// One relayed stream.
pub(crate) struct Relay {
    course: Course,
    /// `None` once the stream is over; dropping it notifies the agent.
    from: Option<(ReplyBody, Lease)>,
    reader: Reader,
    alive: Option<Instant>,
    /// Time of the last output to the caller.
    spoke: Instant,
    /// Number of writes since the caller closed its direction.
    probes: usize,
    /// True once the caller was given the whole stream.
    whole: bool,
    /// Id of the current event.
    at: Option<String>,
    /// Bytes read before the answer's head went out, see [`Relay::until_answered`].
    ready: VecDeque<Bytes>,
}

/// Returns true if an answer is a stream of events.
pub(crate) fn is_stream(answering: &Answering) -> bool {
    let mut types = answering.head.headers.get_all(CONTENT_TYPE).iter();
    types.any(|kind| {
        kind.as_bytes()
            .get(..EVENT_STREAM.len())
            .is_some_and(|is| is.eq_ignore_ascii_case(EVENT_STREAM.as_bytes()))
    })
}

impl Relay {
    /// Takes over an answer that [`is_stream`], or that has several lines.
    ///
    /// # Errors
    /// `upstream_invalid` for a status other than 200, and for a stream that is compressed, in another charset, or
    /// unrequested.
    pub(crate) fn begin(begun: Begun, framing: Framing, of: Of) -> Result<Self, Refusal> {
        let Begun { sent, answering } = begun;
        if framing == Framing::Lines {
            return Ok(Self::over(sent, answering, framing, of));
        }
        let head = &answering.head;
        let fault = |reason| Err(invalid(reason).with_rpc_id(sent.rpc_id().cloned()));
        if head.status != 200 {
            return fault("the upstream agent answered with a status that does not pass");
        }
        if head.headers.get_all(CONTENT_ENCODING).iter().any(|value| value != "identity") {
            return fault("the stream of the upstream agent is compressed");
        }
        if ContentType::of(&head.headers).is_none_or(|content| content.kind != EVENT_STREAM) {
            return fault("the stream of the upstream agent has no single content type");
        }
        Ok(Self::over(sent, answering, framing, of))
    }

    fn over(sent: Sent, answering: Answering, framing: Framing, of: Of) -> Self {
        let Answering { before, body, lease, .. } = answering;
        let limits = &of.worker.shared.limits;
        let most = limits.stream_time;
        let mut reader = Reader::new(framing, limits);
        reader.add(before);
        Self {
            course: Course::new(of, sent, lease.met(), most),
            from: Some((body, lease)),
            reader,
            alive: None,
            spoke: Instant::now(),
            probes: 0,
            whole: false,
            at: None,
            ready: VecDeque::new(),
        }
    }

    /// Content type of the caller's stream.
    pub(crate) const fn kind(&self) -> &'static str {
        self.reader.kind()
    }

    /// Reads on until the answer that opens a session was judged, so that no other session is named. At most one event's
    /// bytes come before it.
    pub(crate) async fn until_answered(&mut self) -> Opened {
        let most = self.course.of().worker.shared.limits.event_bytes;
        let mut held = 0_usize;
        while self.course.opens() == Opened::NotYet {
            let Some(piece) = self.next().await else { break };
            held = held.saturating_add(piece.len());
            self.ready.push_back(piece);
            if self.from.is_none() {
                break;
            }
            if held > most && self.course.opens() == Opened::NotYet {
                let much = invalid("the server sends more than one event may hold before it answers");
                let last = self.fail(much.with_rpc_id(self.course.rpc_id()));
                self.ready.extend(last);
                break;
            }
        }
        self.course.opens()
    }

    /// The next piece, starting with those read before.
    async fn piece(&mut self) -> Option<Bytes> {
        match self.ready.pop_front() {
            Some(piece) => Some(piece),
            None => self.next().await,
        }
    }

    /// The next piece for the caller; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        match self.step().await {
            Ok(piece) => piece,
            Err(refusal) => self.fail(refusal.with_rpc_id(self.course.rpc_id())),
        }
    }

    async fn step(&mut self) -> Result<Option<Bytes>, Refusal> {
        loop {
            match self.reader.next().map_err(|fault| invalid(fault.reason()))? {
                Some(Item::Event(event)) => {
                    self.course.of().worker.turns.unit().await;
                    self.at.clone_from(&event.id);
                    if let Some(piece) = self.event(event)? {
                        self.spoke = Instant::now();
                        return Ok(Some(piece));
                    }
                }
                Some(Item::Alive) if self.alive.is_none_or(|last| last.elapsed() >= ALIVE_EVERY) => {
                    self.alive = Some(Instant::now());
                    self.spoke = Instant::now();
                    return Ok(self.reader.alive());
                }
                Some(Item::Alive) => {}
                None => match self.more().await? {
                    More::Came => {}
                    More::Quiet => {
                        self.spoke = Instant::now();
                        return Ok(self.reader.alive());
                    }
                    More::TimeOver => {
                        self.from = None;
                        return Ok(None);
                    }
                    More::End => {
                        let last = self.reader.end().map_err(|fault| invalid(fault.reason()))?;
                        if let Some((_, lease)) = self.from.take() {
                            self.course.of().worker.pool.keep(lease);
                        }
                        return last.map_or(Ok(None), |last| self.event(last));
                    }
                },
            }
        }
    }

    /// Maximum silence towards the caller, if the framing has keep-alives.
    fn patience(&self) -> Option<Duration> {
        self.reader.alive()?;
        if self.course.of().caller.is_shut() {
            return PROBES.get(self.probes).or(PROBES.last()).copied();
        }
        self.course.is_quiet().then_some(KEEP_ALIVE)
    }

    /// Waits for bytes of the agent.
    async fn more(&mut self) -> Result<More, Refusal> {
        // forwarded bytes are no longer held
        self.hold(0)?;
        loop {
            if self.course.is_over() {
                return Ok(More::TimeOver);
            }
            let patience = self.patience();
            if patience.is_some_and(|patience| self.spoke.elapsed() >= patience) {
                self.probes += usize::from(self.course.of().caller.is_shut());
                return Ok(More::Quiet);
            }
            self.course.still()?;
            let quiet = patience.map_or(self.course.next_look(), |patience| self.spoke + patience);
            let look = self.course.next_look().min(quiet);
            let caller = self.course.of().caller.clone();
            let Some((body, _)) = &mut self.from else { return Ok(More::End) };
            // the driver of the caller's connection also polls this when the caller closes its direction
            let (was_shut, mut frame) = (caller.is_shut(), body.frame());
            let came = poll_fn(|cx| match Pin::new(&mut frame).poll(cx) {
                Poll::Pending if caller.is_shut() != was_shut => Poll::Ready(None),
                frame => frame.map(Some),
            });
            let Some(came) = timeout_at(look, came).await.map_or(Some(Err(())), |came| came.map(Ok)) else {
                continue;
            };
            match came {
                Ok(Some(Ok(frame))) => {
                    let Ok(data) = frame.into_data() else { continue };
                    if !data.is_empty() {
                        self.course.answered();
                        self.hold(data.len())?;
                        self.reader.add(data);
                        return Ok(More::Came);
                    }
                }
                Ok(Some(Err(_))) => return Err(invalid("the upstream agent's stream was cut")),
                Ok(None) => return Ok(More::End),
                Err(_) => {}
            }
        }
    }

    /// Charges the caller with the bytes of an unfinished event.
    fn hold(&self, more: usize) -> Result<(), Refusal> {
        let bytes = self.reader.buffered().saturating_add(more);
        self.course.of().charge.hold_only(bytes).map_err(|NoRoom| no_room(Delivered::Yes))
    }

    fn event(&mut self, event: Event) -> Result<Option<Bytes>, Refusal> {
        let Event { data, id, retry, name } = event;
        let error = name == Some(Name::Error);
        // outside a session nothing is resumed, and an id would be an uninspected word of the agent
        let (id, retry) = if self.course.resumes() { (id, retry) } else { (None, None) };
        let Some(data) = data.filter(|data| !data.is_empty()) else {
            // only the position and time for a resumption
            let resumes = !error && (id.is_some() || retry.is_some());
            if resumes {
                self.course.delivered(id.as_deref());
            }
            return Ok(
                resumes.then(|| self.reader.write(&Event { data: Some(Bytes::new()), id, retry, name }))
            );
        };
        let permit = match self.course.judge(data) {
            Err(refusal) if self.course.leaves_out(&refusal) => return Ok(None),
            Err(refusal) if self.course.answers_before(&refusal) => {
                let of = self.course.of();
                let written = refuse::say(&refusal, of.manner.read(), of.decision);
                self.course.delivered(id.as_deref());
                return Ok(Some(self.reader.write(&Event { data: Some(written.body), id, retry, name })));
            }
            judged => judged?,
        };
        if error {
            return Err(invalid("an event named `error` holds no error"));
        }
        let body = self.course.pass(permit)?;
        self.course.delivered(id.as_deref());
        Ok(Some(self.reader.write(&Event { data: Some(body), id, retry, name })))
    }

    /// The last event of a stream that may not continue; `None` if the request was answered already.
    fn fail(&mut self, refusal: Refusal) -> Option<Bytes> {
        self.from = None;
        self.course.refused(&refusal);
        let of = self.course.of();
        // the agent's end of a stream is the same for all its listeners (A2A 1.0 §3.5.2); each head has its own decision
        let by_agent = matches!(
            refusal.code(),
            Code::AgentError | Code::UpstreamInvalid | Code::UpstreamTimeout | Code::UpstreamUnavailable
        );
        let decision = (!by_agent).then_some(of.decision);
        if self.course.is_of_session() {
            // a caller that resumes here continues with the following event
            self.course.delivered(self.at.as_deref());
            let data = Some(refuse::unasked(&refusal, decision));
            let name = Some(Name::Message);
            return Some(self.reader.write(&Event { data, id: self.at.take(), name, ..Event::default() }));
        }
        if !self.course.may_answer() {
            return None;
        }
        let written = refuse::say(&refusal, of.manner.read(), decision);
        let name = match of.manner {
            Manner::Mcp(_) => Some(Name::Message),
            manner if manner.is_rpc() => None,
            _ => Some(Name::Error),
        };
        Some(self.reader.write(&Event { data: Some(written.body), name, ..Event::default() }))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if self.from.is_some() {
            self.course.abandoned();
        } else if self.whole {
            self.course.arrived();
        }
    }
}

type Step = Pin<Box<dyn Future<Output = (Box<Relay>, Option<Bytes>)>>>;

/// The relay as an answer's body.
pub(crate) enum Relayed {
    /// No piece is requested.
    Resting(Box<Relay>),
    /// The next piece is awaited.
    Working(Step),
    /// All pieces were forwarded.
    Over,
}

impl Body for Relayed {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        loop {
            match std::mem::replace(this, Self::Over) {
                Self::Over => return Poll::Ready(None),
                Self::Resting(mut relay) if relay.from.is_none() && relay.ready.is_empty() => {
                    relay.whole = true;
                    return Poll::Ready(None);
                }
                Self::Resting(mut relay) => {
                    *this = Self::Working(Box::pin(async move {
                        let piece = relay.piece().await;
                        (relay, piece)
                    }));
                }
                Self::Working(mut step) => {
                    let Poll::Ready((mut relay, piece)) = step.as_mut().poll(cx) else {
                        *this = Self::Working(step);
                        return Poll::Pending;
                    };
                    relay.whole = piece.is_none();
                    *this = Self::Resting(relay);
                    return Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))));
                }
            }
        }
    }
}
