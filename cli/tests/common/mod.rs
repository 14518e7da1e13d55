//! Running the command.

#![allow(dead_code)] // each test file uses its part

use std::io::{Read, Write};
use std::process::{Command, ExitStatus, Stdio};

/// A run of the command to come.
pub(crate) struct Recast {
    command: Command,
    stdin: Vec<u8>,
    piece: usize,
}

/// What came of a run.
pub(crate) struct Run {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

/// The command with these arguments.
pub(crate) fn recast<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Recast {
    let mut command = Command::new(env!("CARGO_BIN_EXE_recast"));
    command.args(arguments).env_remove("RECAST_LEVEL");
    Recast { command, stdin: Vec::new(), piece: usize::MAX }
}

impl Recast {
    /// Gives it these bytes on standard input.
    pub(crate) fn stdin(self, bytes: &[u8]) -> Self {
        Self { stdin: bytes.to_vec(), ..self }
    }

    /// As [`Recast::stdin`], written piece by piece.
    pub(crate) fn stdin_in_pieces(self, bytes: &[u8], piece: usize) -> Self {
        Self { stdin: bytes.to_vec(), piece, ..self }
    }

    /// Runs it.
    pub(crate) fn run(self) -> Run {
        self.reading(usize::MAX)
    }

    /// Runs it, and closes its standard output after so many bytes.
    pub(crate) fn reading(mut self, limit: usize) -> Run {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let writer = std::thread::spawn(move || {
            for piece in self.stdin.chunks(self.piece) {
                // The command may end without reading everything.
                if stdin.write_all(piece).and_then(|()| stdin.flush()).is_err() {
                    break;
                }
            }
        });
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        let mut output = Vec::new();
        stdout.by_ref().take(limit as u64).read_to_end(&mut output).unwrap();
        drop(stdout);
        let status = child.wait().unwrap();
        writer.join().unwrap();
        Run { status, stdout: output, stderr: errors.join().unwrap() }
    }

    /// Runs it, expects success, and returns its output.
    pub(crate) fn succeeds(self) -> Vec<u8> {
        let Run { status, stdout, stderr } = self.run();
        assert!(status.success(), "{status}: {stderr}");
        stdout
    }

    /// Runs it, expects a status and one line on standard error, and returns that.
    pub(crate) fn fails(self, status: i32) -> String {
        let run = self.run();
        assert_eq!(run.status.code(), Some(status), "{}", run.stderr);
        assert!(run.stderr.starts_with("recast: "), "{}", run.stderr);
        assert_eq!(run.stderr.trim_end().lines().count(), 1, "{}", run.stderr);
        run.stderr
    }
}
