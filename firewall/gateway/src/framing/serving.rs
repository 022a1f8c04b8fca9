//! What the reader of a connection and the service behind it tell each other about one request.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

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

impl Drop for Busy {
    fn drop(&mut self) {
        self.watch.busy.set(false);
    }
}
