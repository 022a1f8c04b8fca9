use std::cell::RefCell;

use tokio::io::AsyncReadExt;
use tokio::sync::oneshot;
use tokio::task::LocalSet;

use super::*;

/// Runs `body` on a core of its own.
fn on_a_core<F: Future<Output = ()>>(body: impl FnOnce(Rc<Turns>) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let local = LocalSet::new();
    local.block_on(&runtime, async {
        let turns = Turns::new();
        tokio::task::spawn_local(Rc::clone(&turns).run());
        body(turns).await;
    });
}

fn agent(name: &str) -> Arc<str> {
    name.into()
}

#[test]
fn attack_a_thousand_requests_of_one_agent_delay_another_by_one_unit_of_work() {
    on_a_core(|turns| async move {
        let order: Rc<RefCell<Vec<&str>>> = Rc::default();
        let mut ended = Vec::new();
        for _ in 0..1_000 {
            let (order, turns, (end, done)) = (Rc::clone(&order), Rc::clone(&turns), oneshot::channel());
            ended.push(done);
            turns.clone().spawn(&agent("greedy"), async move {
                for _ in 0..3 {
                    turns.unit().await;
                    order.borrow_mut().push("greedy");
                }
                let _ = end.send(());
            });
        }
        let (seen, at, (end, done)) = (Rc::clone(&order), Rc::clone(&turns), oneshot::channel());
        ended.push(done);
        turns.spawn(&agent("modest"), async move {
            for _ in 0..3 {
                at.unit().await;
                seen.borrow_mut().push("modest");
            }
            let _ = end.send(());
        });
        for done in ended {
            done.await.unwrap();
        }
        let order = order.borrow();
        assert_eq!(order.len(), 3_003);
        let last = order.iter().rposition(|agent| *agent == "modest").unwrap();
        assert!(
            last <= 6,
            "three units of the modest agent, each behind one of the greedy one, end at {last}"
        );
    });
}

#[test]
fn a_task_does_one_unit_in_a_turn_however_its_parts_are_polled() {
    use futures_util::StreamExt;
    use futures_util::stream::FuturesUnordered;
    on_a_core(|turns| async move {
        let (at, (end, done)) = (Rc::clone(&turns), oneshot::channel());
        let count = Rc::new(Cell::new(0));
        let counted = Rc::clone(&count);
        turns.spawn(&agent("group"), async move {
            let parts: FuturesUnordered<_> = (0..5).map(|_| at.unit()).collect();
            parts.for_each(|()| async { counted.set(counted.get() + 1) }).await;
            let _ = end.send(());
        });
        let (at, most) = (Rc::clone(&turns), Rc::new(Cell::new(0)));
        let (seen, high) = (Rc::clone(&count), Rc::clone(&most));
        turns.spawn(&agent("other"), async move {
            let mut before = 0;
            for _ in 0..20 {
                at.unit().await;
                high.set(high.get().max(seen.get() - before));
                before = seen.get();
            }
        });
        done.await.unwrap();
        assert_eq!((count.get(), most.get()), (5, 1));
    });
}

#[test]
fn a_task_that_is_woken_from_another_thread_goes_on_and_one_that_is_done_leaves_nothing() {
    on_a_core(|turns| async move {
        for _ in 0..100 {
            let ((wake, woken), (end, done)) = (oneshot::channel(), oneshot::channel());
            turns.spawn(&agent("one"), async move {
                let said: u8 = woken.await.unwrap();
                let _ = end.send(said);
            });
            std::thread::spawn(move || wake.send(7).unwrap());
            assert_eq!(done.await.unwrap(), 7);
        }
        tokio::task::yield_now().await;
        assert!(turns.tasks.borrow().is_empty());
        assert!(turns.agents.borrow().is_empty());
        assert!(lock(&turns.ready).queues.is_empty());
    });
}

#[test]
fn a_task_may_spawn_tasks_of_its_agent_and_of_others() {
    on_a_core(|turns| async move {
        let (inner, (end, done)) = (Rc::clone(&turns), oneshot::channel());
        turns.spawn(&agent("one"), async move {
            let again = Rc::clone(&inner);
            inner.spawn(&agent("two"), async move {
                again.spawn(&agent("one"), async move {
                    let _ = end.send(());
                });
            });
        });
        done.await.unwrap();
    });
}

#[test]
fn a_task_that_panics_ends_alone() {
    on_a_core(|turns| async move {
        let (at, (end, done)) = (Rc::clone(&turns), oneshot::channel());
        turns.spawn(&agent("one"), async { panic!("a fault of one connection") });
        turns.spawn(&agent("one"), async move {
            at.unit().await;
            let _ = end.send(());
        });
        done.await.unwrap();
        tokio::task::yield_now().await;
        assert!(turns.tasks.borrow().is_empty() && turns.agents.borrow().is_empty());
    });
}

#[test]
fn tasks_are_dropped_with_their_core() {
    let dropped = Arc::new(AtomicBool::new(false));
    struct Tell(Arc<AtomicBool>);
    impl Drop for Tell {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let tell = Tell(Arc::clone(&dropped));
    on_a_core(|turns| async move {
        let held = Rc::clone(&turns);
        turns.spawn(&agent("one"), async move {
            let _tell = tell;
            held.unit().await;
            std::future::pending::<()>().await;
        });
        tokio::task::yield_now().await;
    });
    assert!(dropped.load(Ordering::Relaxed));
}

#[test]
fn attack_a_peer_that_writes_without_end_is_read_in_turns() {
    on_a_core(|turns| async move {
        let (at, read) = (Rc::clone(&turns), Rc::new(Cell::new(0)));
        let counted = Rc::clone(&read);
        turns.spawn(&agent("greedy"), async move {
            let mut stream = at.reading(tokio::io::repeat(0));
            let mut buffer = vec![0; 4096];
            loop {
                counted.set(counted.get() + stream.read(&mut buffer).await.unwrap());
            }
        });
        let (at, (end, done)) = (Rc::clone(&turns), oneshot::channel());
        turns.spawn(&agent("modest"), async move {
            let mut before = 0;
            for _ in 0..10 {
                at.unit().await;
                assert!(read.get() - before <= READ + 4096, "{} bytes in a turn", read.get() - before);
                before = read.get();
            }
            let _ = end.send(());
        });
        done.await.unwrap();
    });
}
