//! Shared state of a connection's reader and its service about one request.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Waker;

use super::FramingFault;
use super::agreed::Agreed;

/// Shared state of the guard and the service of one HTTP/1.1 connection.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// The fault, and the number of its request, from 1.
    fault: Cell<Option<(u64, FramingFault)>>,
    /// Number of requests that the service has begun.
    begun: Cell<u64>,
    /// True while the service works; silence is not idleness then.
    busy: Cell<bool>,
    /// True once the caller closed its sending direction. The other direction stays open for the answer.
    shut: Cell<bool>,
    /// Reader of the connection after that, until the answer is over.
    reader: RefCell<Option<Waker>>,
    /// Protocol agreed on in the last answer, if it is not HTTP.
    agreed: RefCell<Option<Agreed>>,
}

impl Watch {
    /// Begins the service's next request. The value has its number, and ends the work when dropped.
    pub(crate) fn begin(self: &Rc<Self>) -> Serving {
        let number = self.begun.get().saturating_add(1);
        self.begun.set(number);
        self.busy.set(true);
        Serving(Kind::Guarded(Busy { watch: Rc::clone(self), number }))
    }

    /// The protocol after the last answer, if it is not HTTP.
    pub(crate) fn agreed(&self) -> Option<Agreed> {
        self.agreed.borrow_mut().take()
    }

    pub(super) fn faulted(&self, number: u64, fault: FramingFault) {
        self.fault.set(Some((number, fault)));
    }

    /// Records that the caller closed its direction. The end of the answer wakes the reader.
    pub(super) fn shut(&self, reader: &Waker) {
        self.shut.set(true);
        *self.reader.borrow_mut() = Some(reader.clone());
    }

    /// Wakes the waiting reader.
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
    /// A request of an HTTP/2 connection, with any fault in its head.
    pub(crate) fn stream(fault: Option<FramingFault>) -> Self {
        Self(Kind::Stream(fault))
    }

    /// The caller's end of the connection, as far as the gateway can see.
    pub(crate) fn caller(&self) -> Caller {
        match &self.0 {
            Kind::Guarded(busy) => Caller(Some(Rc::clone(&busy.watch))),
            Kind::Stream(_) => Caller(None),
        }
    }

    /// Number of the request on its connection, from 1.
    #[cfg(test)]
    pub(super) fn number(&self) -> u64 {
        match &self.0 {
            Kind::Guarded(busy) => busy.number,
            Kind::Stream(_) => 0,
        }
    }

    /// Switches the protocol after this request's answer. No effect in HTTP/2, which has no upgrades.
    pub(crate) fn agree(&self, agreed: Agreed) {
        if let Kind::Guarded(busy) = &self.0 {
            *busy.watch.agreed.borrow_mut() = Some(agreed);
        }
    }

    /// The fault found so far in this request's head or body.
    pub(crate) fn fault(&self) -> Option<FramingFault> {
        match &self.0 {
            Kind::Guarded(busy) => {
                busy.watch.fault.get().and_then(|(number, fault)| (number == busy.number).then_some(fault))
            }
            Kind::Stream(fault) => *fault,
        }
    }
}

/// The caller that waits for an answer. Over HTTP/2, its leaving shows only as a stream reset.
#[derive(Clone, Debug, Default)]
pub(crate) struct Caller(Option<Rc<Watch>>);

impl Caller {
    /// Returns true if the caller closed its sending direction. It may still read, or have left; only a write tells.
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
