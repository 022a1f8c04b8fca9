use std::thread::ThreadId;

use super::*;

fn here() -> ThreadId {
    std::thread::current().id()
}

#[tokio::test]
async fn all_work_is_done_by_one_thread_also_after_a_panic() {
    let aside = Aside::start("semgate-policies").unwrap();
    let first = aside.run(Haste::Awaited, here).await.unwrap();
    assert_ne!(first, here());
    #[allow(clippy::panic, reason = "this is what is tried")]
    let panics = || panic!("a load that panics");
    assert_eq!(aside.run(Haste::GivesWay, panics).await, None::<()>);
    assert_eq!(aside.clone().run(Haste::GivesWay, here).await, Some(first));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn it_gives_way_only_once_messages_are_served() {
    let aside = Aside::start("semgate-policies").unwrap();
    let nice = || rustix::process::getpriority_process(None).unwrap();
    let mine = nice();
    assert_eq!(aside.run(Haste::Awaited, nice).await, Some(mine));
    assert_eq!(aside.run(Haste::GivesWay, nice).await, Some(NICE.max(mine)));
    assert_eq!(nice(), mine, "of that thread alone");
}

#[test]
fn what_is_buried_is_taken_apart_there() {
    struct Tells(mpsc::Sender<ThreadId>);
    impl Drop for Tells {
        fn drop(&mut self) {
            let _ = self.0.send(here());
        }
    }
    let (tell, told) = mpsc::channel();
    let aside = Aside::start("semgate-policies").unwrap();
    let there = aside.wait(here).unwrap();
    aside.bury(Tells(tell));
    assert_eq!(told.recv(), Ok(there));
}

#[test]
fn it_rests_once_it_worked_long_enough_and_not_before() {
    rest();
    let begun = RESTED.get().unwrap();
    while begun.elapsed() < WORK {
        std::hint::spin_loop();
    }
    rest();
    let rested = RESTED.get().unwrap();
    assert!(rested >= begun + WORK + REST, "it slept");
}
