//! Refused tasks of one agent. A client that did not read the refusal asks about the task, and gets the same one again.

use std::collections::VecDeque;

use semgate_inspect::{Code, Refusal};

/// Refused tasks that are remembered: more than a client has in flight.
const MOST: usize = 32;
/// Milliseconds for which a refusal is remembered. Clients ask within seconds.
const KEPT_MS: u64 = 600_000;

/// Refused tasks, the oldest first.
#[derive(Default)]
pub(super) struct RefusedTasks(VecDeque<RefusedTask>);

struct RefusedTask {
    route: Box<str>,
    task: Box<str>,
    code: Code,
    reason: Box<str>,
    hint: Box<str>,
    until_ms: u64,
}

impl RefusedTasks {
    /// Remembers the refusal of a task. The newest of an id counts.
    pub(super) fn add(&mut self, route: &str, task: &str, refusal: &Refusal, now_ms: u64) {
        self.0.retain(|old| old.until_ms > now_ms && !old.is(route, task));
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0.push_back(RefusedTask {
            route: route.into(),
            task: task.into(),
            code: refusal.code(),
            reason: refusal.reason().into(),
            hint: refusal.hint().into(),
            until_ms: now_ms.saturating_add(KEPT_MS),
        });
    }

    /// The refusal of a task.
    pub(super) fn of(&self, route: &str, task: &str, now_ms: u64) -> Option<Refusal> {
        let known = self.0.iter().find(|old| old.until_ms > now_ms && old.is(route, task))?;
        Some(Refusal::new(known.code, &*known.reason).with_hint(&*known.hint))
    }
}

impl RefusedTask {
    fn is(&self, route: &str, task: &str) -> bool {
        &*self.route == route && &*self.task == task
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_task_is_answered_alike_for_a_while_and_on_its_route_alone() {
        let mut tasks = RefusedTasks::default();
        tasks.add("ldp", "t-1", &Refusal::new(Code::PolicyDenied, "no").with_hint("ask"), 5);
        let again = tasks.of("ldp", "t-1", 6).unwrap();
        assert_eq!((again.code(), again.reason(), again.hint()), (Code::PolicyDenied, "no", "ask"));
        assert!(tasks.of("other", "t-1", 6).is_none());
        assert!(tasks.of("ldp", "t-2", 6).is_none());
        assert!(tasks.of("ldp", "t-1", 5 + KEPT_MS).is_none());
    }

    #[test]
    fn the_oldest_of_too_many_is_forgotten() {
        let mut tasks = RefusedTasks::default();
        let refusal = Refusal::new(Code::PolicyDenied, "no");
        for n in 0..=MOST {
            tasks.add("ldp", &format!("t-{n}"), &refusal, 1);
        }
        assert!(tasks.of("ldp", "t-0", 2).is_none());
        assert!(tasks.of("ldp", "t-1", 2).is_some());
        assert_eq!(tasks.0.len(), MOST);
    }
}
