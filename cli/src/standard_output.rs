//! Standard output, and the case that nobody reads it.

use std::io::{self, Write};

/// The reader of standard output has gone away.
#[derive(Debug, thiserror::Error)]
#[error("nobody reads standard output any more")]
pub(crate) struct ReaderGone;

/// Standard output. Its broken pipe is a [`ReaderGone`], which distinguishes it from a broken connection.
pub(crate) fn standard_output() -> impl Write {
    struct Output(io::StdoutLock<'static>);

    fn named(error: io::Error) -> io::Error {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return io::Error::new(io::ErrorKind::BrokenPipe, ReaderGone);
        }
        error
    }

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes).map_err(named)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.0.flush().map_err(named)
        }
    }

    Output(io::stdout().lock())
}
