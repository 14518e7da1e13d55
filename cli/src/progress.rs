//! Progress bars, and the signal that ends a job.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use recast_pack::text::visible;
use recast_pack::{Pass, Progress, Runtime};

use crate::args::{Cat, Resources, Show};
use crate::failure::INTERRUPTED;

/// The most drawings a second; a log of a terminal keeps each of them.
const DRAWINGS: u8 = 5;

/// Draws a bar on standard error if that is a terminal: one for each pass over an array, or for a group two that stay until
/// its end.
struct Bars {
    /// Where they are drawn.
    target: fn() -> ProgressDrawTarget,
    shown: Mutex<Shown>,
}

/// The bars that are shown.
#[derive(Default)]
struct Shown {
    pass: Option<ProgressBar>,
    group: Option<OfGroup>,
}

/// The bar of a group, above that of one array.
struct OfGroup {
    both: MultiProgress,
    arrays: ProgressBar,
}

impl Bars {
    fn new(target: fn() -> ProgressDrawTarget) -> Self {
        Self { target, shown: Mutex::default() }
    }

    fn with(&self, work: impl FnOnce(&mut Shown)) {
        work(&mut self.shown.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Sets the text of a bar; all are valid.
fn style(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

impl Progress for Bars {
    fn begin(&self, pass: &Pass) {
        self.with(|shown| {
            let bar = shown.pass.get_or_insert_with(|| match &shown.group {
                None => ProgressBar::with_draw_target(None, (self.target)()),
                Some(group) => group.both.add(ProgressBar::no_length()),
            });
            style(
                bar,
                if pass.is_in_bytes {
                    "{msg:10} {wide_bar} {percent}%, {binary_bytes_per_sec}, {eta} left"
                } else {
                    "{msg:10} {wide_bar} {pos}/{len} chunks, {per_sec}, {eta} left"
                },
            );
            bar.set_length(pass.total);
            bar.set_message(pass.name);
            bar.reset();
        });
    }

    fn advance(&self, units: u64) {
        self.with(|shown| {
            if let Some(bar) = &shown.pass {
                bar.inc(units);
            }
        });
    }

    fn end(&self) {
        self.with(|shown| {
            // To clear a bar and draw it anew costs as much as all else of a small array.
            if shown.group.is_none()
                && let Some(bar) = shown.pass.take()
            {
                bar.finish_and_clear();
            }
        });
    }

    fn begin_group(&self, arrays: u64) {
        self.with(|shown| {
            let both = MultiProgress::with_draw_target((self.target)());
            let arrays = both.add(ProgressBar::new(arrays));
            style(&arrays, "{wide_msg} {pos}/{len} arrays, {eta} left");
            shown.group = Some(OfGroup { both, arrays });
        });
    }

    fn next_array(&self, path: &str) {
        self.with(|shown| {
            if let Some(group) = &shown.group {
                group.arrays.set_message(visible(path));
                group.arrays.inc(1);
            }
        });
    }

    fn end_group(&self) {
        self.with(|shown| {
            let group = shown.group.take().map(|group| group.arrays);
            for bar in shown.pass.take().into_iter().chain(group) {
                bar.finish_and_clear();
            }
        });
    }
}

impl Resources {
    /// For jobs that clean up after themselves.
    pub(crate) fn runtime(self, show: Show) -> Result<Runtime> {
        let Self { threads, max_memory, accept_fill_value } = self;
        let progress: Option<Arc<dyn Progress>> = if show.quiet {
            None
        } else {
            Some(Arc::new(Bars::new(|| ProgressDrawTarget::stderr_with_hz(DRAWINGS))))
        };
        let interrupt = interruption()?;
        Ok(Runtime {
            threads,
            max_memory,
            accept_fill_value,
            progress,
            interrupt,
            ..Runtime::default()
        })
    }
}

impl Cat {
    pub(crate) fn runtime(&self) -> Result<Runtime> {
        let (threads, accept_fill_value) = (self.threads, self.accept_fill_value);
        exit_when_interrupted()?;
        Ok(Runtime { threads, accept_fill_value, ..Runtime::default() })
    }
}

const NO_SIGNALS: &str = "signals cannot be handled (it takes a thread; ulimit -u limits these)";

/// The flag that Ctrl-C sets, so that a job can clean up. A second Ctrl-C ends the process at once.
fn interruption() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let handler = Arc::clone(&flag);
    let handle = move || {
        if handler.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED.into());
        }
    };
    ctrlc::set_handler(handle).context(NO_SIGNALS)?;
    Ok(flag)
}

/// Ends the process on Ctrl-C, for commands with nothing to clean up.
pub(crate) fn exit_when_interrupted() -> Result<()> {
    let handle = || std::process::exit(INTERRUPTED.into());
    ctrlc::set_handler(handle).context(NO_SIGNALS)
}

#[cfg(test)]
mod tests {
    use std::fmt;
    use std::io;
    use std::sync::atomic::AtomicUsize;

    use indicatif::TermLike;

    use super::*;

    static DRAWN: AtomicUsize = AtomicUsize::new(0);

    /// A terminal that counts how often it is drawn to.
    struct Counting;

    impl fmt::Debug for Counting {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Counting")
        }
    }

    impl TermLike for Counting {
        fn width(&self) -> u16 {
            80
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, _: &str) -> io::Result<()> {
            Ok(())
        }

        fn write_str(&self, _: &str) -> io::Result<()> {
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            DRAWN.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }

    /// Small arrays draw nothing of their own: drawing is limited by the time it takes, here to one drawing a second
    /// after the first ones.
    #[test]
    fn a_group_of_many_small_arrays_is_drawn_a_few_times() {
        let bars = Bars::new(|| ProgressDrawTarget::term_like_with_hz(Box::new(Counting), 1));
        bars.begin_group(500);
        for number in 0..500 {
            bars.next_array(&format!("array {number}"));
            for name in ["range", "write", "verify"] {
                bars.begin(&Pass { name, is_in_bytes: true, total: 100 });
                bars.advance(50);
                bars.advance(50);
                bars.end();
            }
        }
        bars.end_group();
        let drawn = DRAWN.load(Ordering::Relaxed);
        assert!((1..500).contains(&drawn), "{drawn}");
    }
}
