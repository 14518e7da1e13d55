//! Running the command on the arrays of the library's tests.

#![allow(dead_code, unused_imports)] // each test file uses its part

#[path = "../../../../pack/tests/library/common/mod.rs"]
mod fixture;

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use serde_json::Value;

pub(crate) use fixture::*;

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
    command.args(arguments).env_remove("RECAST_LEVEL").env_remove("RUST_BACKTRACE");
    Recast { command, stdin: Vec::new(), piece: usize::MAX }
}

/// The command in an address space of so many KiB.
pub(crate) fn recast_within(memory: u64, arguments: &[&str]) -> Recast {
    let line = format!("ulimit -v {memory} && exec \"$0\" \"$@\"");
    let mut command = Command::new("bash");
    command.args(["-c", &line, env!("CARGO_BIN_EXE_recast")]).args(arguments);
    command.env_remove("RECAST_LEVEL").env_remove("RUST_BACKTRACE");
    Recast { command, stdin: Vec::new(), piece: usize::MAX }
}

impl Recast {
    /// Runs it without a variable of the environment.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Runs it with a variable of the environment.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs it in this folder.
    pub(crate) fn inside(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Gives it these bytes on standard input.
    pub(crate) fn stdin(self, bytes: &[u8]) -> Self {
        Self { stdin: bytes.to_vec(), ..self }
    }

    /// As [`Recast::stdin`], written piece by piece.
    pub(crate) fn stdin_in_pieces(self, bytes: &[u8], piece: usize) -> Self {
        Self { stdin: bytes.to_vec(), piece, ..self }
    }

    /// Begins to run it.
    pub(crate) fn start(mut self) -> Child {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.command.spawn().unwrap()
    }

    /// Runs it.
    pub(crate) fn run(self) -> Run {
        self.reading(usize::MAX)
    }

    /// Runs it, and closes its standard output after so many bytes.
    pub(crate) fn reading(mut self, limit: usize) -> Run {
        let (input, piece) = (std::mem::take(&mut self.stdin), self.piece);
        let mut child = self.start();
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let writer = std::thread::spawn(move || {
            for piece in input.chunks(piece) {
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

    /// Runs it, expects a status and one line on standard error, and returns that; of wrong usage, what clap
    /// says of it.
    pub(crate) fn fails(self, status: i32) -> String {
        let run = self.run();
        assert_eq!(run.status.code(), Some(status), "{}", run.stderr);
        if status == 2 {
            assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
            assert!(
                run.stderr.ends_with("For more information, try '--help'.\n"),
                "{}",
                run.stderr
            );
            return run.stderr;
        }
        assert!(run.stderr.starts_with("recast: "), "{}", run.stderr);
        assert_eq!(run.stderr.trim_end().lines().count(), 1, "{}", run.stderr);
        run.stderr
    }
}

impl Recast {
    /// Runs it, expects success, and returns what it prints.
    pub(crate) fn prints(self) -> String {
        String::from_utf8(self.succeeds()).unwrap()
    }

    /// Runs it, expects success, and returns the JSON document that it prints.
    pub(crate) fn reports(self) -> Value {
        serde_json::from_slice(&self.succeeds()).unwrap()
    }
}

/// Runs a line of bash, in which `"$0"` is the command and `"$1"` and so on are the arguments.
pub(crate) fn bash(line: &str, arguments: &[&str]) -> Output {
    let mut bash = Command::new("bash");
    bash.args(["-c", line, env!("CARGO_BIN_EXE_recast")]).args(arguments).output().unwrap()
}

/// Zips a folder with Python, whose standard library can.
pub(crate) fn zip(folder: &Path, archive: &Path) {
    let code = "import shutil, sys; shutil.make_archive(sys.argv[2][:-4], 'zip', sys.argv[1])";
    let status = Command::new("python3").args(["-c", code]).args([folder, archive]).status();
    assert!(status.is_ok_and(|status| status.success()), "python3 is needed to make a zip file");
}

/// A path as an argument.
pub(crate) fn path(path: &Path) -> String {
    path.display().to_string()
}

impl Trial {
    /// Input and output as arguments.
    pub(crate) fn places(&self) -> [String; 2] {
        [path(&self.input()), path(&self.output())]
    }

    /// `recast pack` of the array or group with these flags.
    pub(crate) fn command(&self, flags: &[&str]) -> Recast {
        let [input, output] = self.places();
        recast(&[&["pack", &input, &output], flags].concat())
    }

    /// Packs, and returns the report in JSON.
    pub(crate) fn packs(&self, flags: &[&str]) -> Value {
        self.command(&[flags, &["--json"]].concat()).reports()
    }

    /// Packs, which must fail and leave nothing behind.
    pub(crate) fn fails(&self, flags: &[&str]) -> String {
        self.fails_with(flags, 1)
    }

    /// Packs with arguments that make no sense.
    pub(crate) fn usage(&self, flags: &[&str]) -> String {
        self.fails_with(flags, 2)
    }

    fn fails_with(&self, flags: &[&str], status: i32) -> String {
        let before = names(self.path());
        let error = self.command(flags).fails(status);
        assert_eq!(names(self.path()), before);
        error
    }
}
