//! A solver as a child process: SMT-LIB in, `sat`, `unsat` or `unknown` out, and killed where it takes too long.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::smt::for_z3;

/// The time that a solver may take to say its version and to answer the two questions of the probe.
const PROBE: Duration = Duration::from_secs(5);
/// The time that a solver keeps beyond the limit it was told, before it is killed.
const GRACE: Duration = Duration::from_millis(500);
/// The longest line that is read of a solver.
const MAX_LINE: u64 = 65_536;

/// Bounds of an analysis.
#[derive(Debug, Clone, Copy)]
pub struct SolverLimits {
    /// Time for one query.
    pub query: Duration,
    /// Time for all queries together.
    pub total: Duration,
}

impl Default for SolverLimits {
    /// Two seconds a query, thirty together: z3 takes milliseconds for nearly all of them.
    fn default() -> Self {
        Self { query: Duration::from_secs(2), total: Duration::from_secs(30) }
    }
}

/// The time since the analysis began.
pub type Clock = Box<dyn Fn() -> Duration>;

/// An answer to a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// No request satisfies it.
    Never,
    /// Some request satisfies it.
    Possible,
    /// The solver gave up, failed, or ran out of time.
    Undecided,
}

/// Why a program cannot be used as a solver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SolverFault {
    /// It cannot be started.
    Start(String),
    /// It does not say that it is z3 or cvc5.
    Unknown,
    /// It does not answer two trivial questions as every solver does.
    Wrong,
}

impl fmt::Display for SolverFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(why) => write!(f, "it does not start: {why}"),
            Self::Unknown => f.write_str("`--version` names neither z3 nor cvc5"),
            Self::Wrong => f.write_str("it does not answer as a solver"),
        }
    }
}

impl std::error::Error for SolverFault {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Z3 { overflow: bool },
    Cvc5,
}

/// A solver that was probed, with the process that answers at present.
pub struct Solver {
    program: PathBuf,
    name: String,
    dialect: Dialect,
    limits: SolverLimits,
    clock: Clock,
    process: Option<Process>,
    /// Numbers the queries, so that no late answer is taken for the next.
    asked: u64,
    undecided: u64,
    cut_off: bool,
    failed: bool,
}

impl fmt::Debug for Solver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Solver")
            .field("program", &self.program)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Solver {
    /// Probes a program: asks its version, and one question of each answer.
    ///
    /// # Errors
    /// See [`SolverFault`].
    pub fn open(program: &Path, limits: SolverLimits, clock: Clock) -> Result<Self, SolverFault> {
        let (name, mut dialect) = version(program)?;
        if matches!(dialect, Dialect::Z3 { .. }) {
            let newer = "(declare-const a (_ BitVec 64))\n(assert (bvsaddo a a))\n(assert (bvssubo a a))\n(assert (bvsmulo a a))";
            let mut process = Process::start(program, dialect, PROBE)?;
            dialect = Dialect::Z3 { overflow: !matches!(process.ask(newer, 0, PROBE), Reply::Decided(_)) };
        }
        let mut solver = Self {
            program: program.to_owned(),
            name,
            dialect,
            limits: SolverLimits { query: PROBE, total: Duration::MAX },
            clock,
            process: None,
            asked: 0,
            undecided: 0,
            cut_off: false,
            failed: false,
        };
        let probe = |constant: &str| {
            format!(
                "(reset)\n(set-logic ALL)\n(declare-const s (Set String))\n(assert (= (set.member \"a\" s) {constant}))\n(assert (set.member \"a\" s))\n(check-sat)\n"
            )
        };
        let answers = [solver.ask(&probe("true")), solver.ask(&probe("false"))];
        if answers != [Answer::Possible, Answer::Never] {
            return Err(SolverFault::Wrong);
        }
        solver.process = None;
        (solver.limits, solver.asked) = (limits, 0);
        Ok(solver)
    }

    /// Name and version, such as `z3 5.4.1`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Queries that were put to it.
    #[must_use]
    pub const fn asked(&self) -> u64 {
        self.asked
    }

    /// Queries without a decision.
    #[must_use]
    pub const fn undecided(&self) -> u64 {
        self.undecided
    }

    /// True where the time for all queries ended before the queries did.
    #[must_use]
    pub const fn cut_off(&self) -> bool {
        self.cut_off
    }

    /// True where it answered something other than an answer.
    #[must_use]
    pub const fn failed(&self) -> bool {
        self.failed
    }

    /// Puts one script, which ends with `(check-sat)`.
    pub fn ask(&mut self, script: &str) -> Answer {
        let answer = self.decide(script);
        self.undecided += u64::from(answer == Answer::Undecided);
        answer
    }

    fn decide(&mut self, script: &str) -> Answer {
        let left = self.limits.total.saturating_sub((self.clock)());
        if left.is_zero() {
            self.cut_off = true;
            return Answer::Undecided;
        }
        let script = match self.dialect {
            Dialect::Z3 { overflow } => match for_z3(script, overflow) {
                Some(script) => script,
                None => return Answer::Undecided,
            },
            Dialect::Cvc5 => script.to_owned(),
        };
        let script = script.trim_end().strip_suffix("(check-sat)").unwrap_or(&script).to_owned();
        self.asked += 1;
        if self.process.is_none() {
            self.process = Process::start(&self.program, self.dialect, self.limits.query).ok();
        }
        let wait = self.limits.query.saturating_add(GRACE).min(left);
        let reply =
            self.process.as_mut().map_or(Reply::Nonsense, |process| process.ask(&script, self.asked, wait));
        match reply {
            Reply::Decided(answer) => return answer,
            Reply::Silence => {}
            Reply::Nonsense => self.failed = true,
        }
        self.process = None;
        Answer::Undecided
    }
}

/// Runs `--version`.
fn version(program: &Path) -> Result<(String, Dialect), SolverFault> {
    let mut command = Command::new(program);
    command.arg("--version");
    let mut process = Process::spawn(&mut command)?;
    let text = process.lines.recv_timeout(PROBE).unwrap_or_default();
    let mut words = text.split_whitespace();
    let number = |after: &str| {
        let number = text.split_whitespace().skip_while(|word| !word.eq_ignore_ascii_case(after)).nth(1);
        number.filter(|word| word.starts_with(|c: char| c.is_ascii_digit())).map(str::to_owned)
    };
    drop(process.child.kill());
    if words.next() == Some("Z3") {
        let number = number("version").ok_or(SolverFault::Unknown)?;
        return Ok((format!("z3 {number}"), Dialect::Z3 { overflow: false }));
    }
    if text.contains("cvc5") {
        let number = number("version").ok_or(SolverFault::Unknown)?;
        return Ok((format!("cvc5 {number}"), Dialect::Cvc5));
    }
    Err(SolverFault::Unknown)
}

/// A running solver. Two threads feed and read it, so that neither a full pipe nor silence holds up who asks.
struct Process {
    child: Child,
    scripts: Sender<String>,
    lines: Receiver<String>,
}

impl Process {
    fn start(program: &Path, dialect: Dialect, query: Duration) -> Result<Self, SolverFault> {
        let limit = query.as_millis();
        let mut command = Command::new(program);
        match dialect {
            Dialect::Z3 { .. } => command.args(["-in", "-smt2"]).arg(format!("-t:{limit}")),
            Dialect::Cvc5 => {
                command.args(["--lang", "smt", "--strings-exp"]).arg(format!("--tlimit-per={limit}"))
            }
        };
        Self::spawn(&mut command)
    }

    fn spawn(command: &mut Command) -> Result<Self, SolverFault> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|why| SolverFault::Start(why.to_string()))?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(SolverFault::Start("no pipes".to_owned()));
        };
        let (scripts, to_write) = channel::<String>();
        let (read, lines) = channel();
        thread::spawn(move || {
            for script in to_write {
                if stdin.write_all(script.as_bytes()).and_then(|()| stdin.flush()).is_err() {
                    break;
                }
            }
        });
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            loop {
                let mut line = String::new();
                let ended = Read::by_ref(&mut stdout).take(MAX_LINE).read_line(&mut line);
                if !matches!(ended, Ok(1..)) || read.send(line.trim().to_owned()).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, scripts, lines })
    }

    /// Puts a script. An answer counts only if the mark of this query is the line after it.
    fn ask(&mut self, script: &str, number: u64, wait: Duration) -> Reply {
        let mark = format!("query-{number}");
        let text = format!("{script}\n(check-sat)\n(echo \"{mark}\")\n");
        if self.scripts.send(text).is_err() {
            return Reply::Nonsense;
        }
        let first = match self.lines.recv_timeout(wait) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return Reply::Silence,
            Err(RecvTimeoutError::Disconnected) => return Reply::Nonsense,
        };
        let answer = match first.as_str() {
            "sat" => Answer::Possible,
            "unsat" => Answer::Never,
            "unknown" | "timeout" => return Reply::Silence,
            // a term that this version does not take
            error if error.starts_with("(error ") => return Reply::Silence,
            _ => return Reply::Nonsense,
        };
        match self.lines.recv_timeout(GRACE) {
            Ok(line) if line.trim_matches('"') == mark => Reply::Decided(answer),
            _ => Reply::Nonsense,
        }
    }
}

/// The outcome of one script.
enum Reply {
    Decided(Answer),
    /// The solver gave up, or its time ended.
    Silence,
    /// It ended, or said something that is no answer.
    Nonsense,
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
