//! A serving thread that holds still.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::admin;
use crate::support::gateway::{Gateway, Scripted};
use crate::support::policies::REPLY;
use crate::support::{Ended, Up, wait_for};

/// Stops one thread as a debugger does, until its input ends.
const HOLD: &str = "
import ctypes, os, sys
libc, thread = ctypes.CDLL(None, use_errno=True), int(sys.argv[1])
if libc.ptrace(16, thread, 0, 0) != 0:
    sys.exit('ptrace: ' + os.strerror(ctypes.get_errno()))
os.waitpid(thread, 0x40000000)
print('held', flush=True)
sys.stdin.readline()
libc.ptrace(17, thread, 0, 0)
";

/// `/healthz` was answered by the thread that follows, whatever the serving threads did.
#[test]
fn attack_a_serving_thread_that_holds_still_is_named_at_healthz() {
    let up = Up::start();
    let agent = Scripted::saying(REPLY.to_owned());
    let gateway = Gateway::before(&up, agent.address, "");
    assert_eq!(admin(&gateway, "/healthz"), (200, "ok\n".to_owned()));
    let threads = std::fs::read_dir(format!("/proc/{}/task", gateway.child.id())).unwrap();
    let thread = threads
        .map(|entry| entry.unwrap())
        .find(|entry| std::fs::read_to_string(entry.path().join("comm")).unwrap().trim() == "semgate-0")
        .expect("the first serving thread");
    let mut python = Command::new("python3");
    python.args(["-c", HOLD]).arg(thread.file_name()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut holder = Ended(python.spawn().unwrap());
    let mut told = String::new();
    BufReader::new(holder.0.stdout.take().unwrap()).read_line(&mut told).unwrap();
    assert_eq!(told, "held\n", "this process may hold no thread here; run as root");
    assert_eq!(admin(&gateway, "/healthz"), (503, "no answer from: semgate-0\n".to_owned()));
    drop(holder.0.stdin.take());
    wait_for("the thread to go on", || (admin(&gateway, "/healthz").0 == 200).then_some(()));
}
