//! What the reader of a connection and the service behind it tell each other about one request.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Waker;

use super::FramingFault;
use super::agreed::Agreed;

/// What the guard and the service of one HTTP/1.1 connection tell each other.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// The fault, and the number of the request that it is in, from 1.
    fault: Cell<Option<(u64, FramingFault)>>,
    /// Requests that the service has begun.
    begun: Cell<u64>,
    /// Whether the service is at work: then silence is not idleness.
    busy: Cell<bool>,
    /// Whether the caller closed its direction of the connection, in which its requests came. The other is open for the answer.
    shut: Cell<bool>,
    /// Whoever reads the connection after that, until its answer is over.
    reader: RefCell<Option<Waker>>,
    /// What a request was answered with that is not HTTP any more.
    agreed: RefCell<Option<Agreed>>,
}

impl Watch {
    /// The service begins the next request; the value says which, and ends the work when dropped.
    pub(crate) fn begin(self: &Rc<Self>) -> Serving {
        let number = self.begun.get().saturating_add(1);
        self.begun.set(number);
        self.busy.set(true);
        Serving(Kind::Guarded(Busy { watch: Rc::clone(self), number }))
    }

    /// What the connection speaks after the last answer, if it is not HTTP.
    pub(crate) fn agreed(&self) -> Option<Agreed> {
        self.agreed.borrow_mut().take()
    }

    pub(super) fn found(&self, number: u64, fault: FramingFault) {
        self.fault.set(Some((number, fault)));
    }

    /// The caller closed its direction. The reader is woken when the answer is over.
    pub(super) fn shut(&self, reader: &Waker) {
        self.shut.set(true);
        *self.reader.borrow_mut() = Some(reader.clone());
    }

    /// Wakes whoever waits to read.
    pub(super) fn wake(&self) {
        let reader = self.reader.borrow_mut().take();
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    pub(super) fn busy(&self) -> bool {
        self.busy.get()
    }
}

/// One request between its head and its answer.
#[derive(Debug)]
pub(crate) struct Serving(Kind);

#[derive(Debug)]
enum Kind {
    Guarded(Busy),
    Stream(Option<FramingFault>),
}

#[derive(Debug)]
struct Busy {
    watch: Rc<Watch>,
    number: u64,
}

impl Serving {
    /// A request of an HTTP/2 connection, with what was found in its head.
    pub(crate) fn stream(fault: Option<FramingFault>) -> Self {
        Self(Kind::Stream(fault))
    }

    /// The caller's end of the connection, as far as the gateway sees it.
    pub(crate) fn caller(&self) -> Caller {
        match &self.0 {
            Kind::Guarded(busy) => Caller(Some(Rc::clone(&busy.watch))),
            Kind::Stream(_) => Caller(None),
        }
    }

    /// Which request of its connection it is, from 1.
    #[cfg(test)]
    pub(super) fn number(&self) -> u64 {
        match &self.0 {
            Kind::Guarded(busy) => busy.number,
            Kind::Stream(_) => 0,
        }
    }

    /// After this request's answer the connection speaks something else. Without effect in HTTP/2, where nothing is upgraded.
    pub(crate) fn agree(&self, agreed: Agreed) {
        if let Kind::Guarded(busy) = &self.0 {
            *busy.watch.agreed.borrow_mut() = Some(agreed);
        }
    }

    /// The fault in this request's head or body, if there was one so far.
    pub(crate) fn fault(&self) -> Option<FramingFault> {
        match &self.0 {
            Kind::Guarded(busy) => {
                busy.watch.fault.get().and_then(|(number, fault)| (number == busy.number).then_some(fault))
            }
            Kind::Stream(fault) => *fault,
        }
    }
}

/// Whoever waits for an answer. Over HTTP/2 a stream is reset by a caller who leaves, and nothing else is seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Caller(Option<Rc<Watch>>);

impl Caller {
    /// Whether the caller closed its direction of the connection. It may still read, or have left: only writing tells.
    pub(crate) fn is_shut(&self) -> bool {
        self.0.as_ref().is_some_and(|watch| watch.shut.get())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.watch.busy.set(false);
        self.watch.wake();
    }
}
