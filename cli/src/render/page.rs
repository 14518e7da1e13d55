//! The page of a report: one self-contained HTML file.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use tempfile::NamedTempFile;

use crate::command_line::arguments;

use super::plots::Figure;
use super::table::Table;

/// A checked place for the page.
#[derive(Debug)]
pub(crate) struct PagePlace {
    path: PathBuf,
    staged: NamedTempFile,
}

impl PagePlace {
    /// Checks that a file may be written to the path of `--report`, if there is one.
    pub(crate) fn of(report: Option<&Path>, overwrite: bool) -> Result<Option<Self>> {
        let Some(path) = report else { return Ok(None) };
        let place = || -> Result<Self> {
            if path.symlink_metadata().is_ok() && !overwrite {
                bail!("exists; --overwrite replaces it");
            }
            if path.is_dir() {
                bail!("is a directory; name a file");
            }
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let mut builder = tempfile::Builder::new();
            builder.prefix(".recast-report-");
            #[cfg(unix)]
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
            let staged = builder.tempfile_in(parent.unwrap_or(Path::new(".")))?;
            Ok(Self { path: path.to_owned(), staged })
        };
        place().map(Some).with_context(|| format!("--report {}", path.display()))
    }

    /// Writes the page to a temporary file.
    pub(crate) fn write(&mut self, title: &str, sections: Vec<Section>) -> Result<()> {
        let text = page(title, sections)?;
        let written = self.staged.write_all(text.as_bytes()).and_then(|()| self.staged.flush());
        written.with_context(|| format!("--report {}", self.path.display()))
    }

    /// Moves it to its place.
    pub(crate) fn commit(self) -> Result<()> {
        let shown = format!("--report {}", self.path.display());
        self.staged.persist(&self.path).map_err(|error| error.error).context(shown)?;
        Ok(())
    }
}

/// All figures of a page take at most this many bytes; a larger page would be slow to open and to send.
const MOST_FIGURES: usize = 250_000;

const STYLE: &str = include_str!("page.css");

/// A part of a page: a table, and figures below it.
#[derive(Debug)]
pub(crate) struct Section {
    name: Option<String>,
    /// Labels, and the lines beside them.
    rows: Vec<(String, Vec<String>)>,
    /// A table below, with its columns.
    grid: Option<(Vec<&'static str>, Vec<Vec<String>>)>,
    figures: Vec<Figure>,
}

impl Section {
    /// A table, another one of several columns below it, and figures.
    pub(super) fn new(
        table: &Table,
        grid: Option<(Vec<&'static str>, Vec<Vec<String>>)>,
        figures: Vec<Figure>,
    ) -> Self {
        let rows = table.rows().map(|(label, text)| {
            (label.to_owned(), text.lines().map(str::to_owned).collect::<Vec<_>>())
        });
        Self { name: None, rows: rows.collect(), grid, figures }
    }

    /// The same with a heading.
    pub(super) fn named(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }

    pub(super) fn markup(&self) -> Markup {
        html! {
            section {
                @if let Some(name) = &self.name { h2 { (name) } }
                table {
                    @for (label, lines) in &self.rows {
                        tr {
                            th scope="row" { (label) }
                            td {
                                @for (index, line) in lines.iter().enumerate() {
                                    @if index > 0 { br; }
                                    (line)
                                }
                            }
                        }
                    }
                }
                @if let Some((columns, rows)) = self.grid.as_ref().filter(|(_, rows)| !rows.is_empty()) {
                    table {
                        tr { @for column in columns { th scope="col" { (column) } } }
                        @for row in rows { tr { @for cell in row { td { (cell) } } } }
                    }
                }
                @if !self.figures.is_empty() {
                    div class="figures" {
                        @for figure in &self.figures {
                            figure role="img" aria-label=(figure.caption) {
                                (PreEscaped(&figure.svg))
                                figcaption { (figure.caption) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn page(title: &str, mut sections: Vec<Section>) -> Result<String> {
    let mut bytes = 0;
    for section in &mut sections {
        bytes += section.figures.iter().map(|figure| figure.svg.len()).sum::<usize>();
        if bytes > MOST_FIGURES && !section.figures.is_empty() {
            section.figures.clear();
            let text =
                "left out, as the page would be too large; a report on this array alone has them";
            section.rows.push(("figures".to_owned(), vec![text.to_owned()]));
        }
    }
    let command = shlex::try_join(arguments().iter().map(String::as_str))?;
    let date = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { (title) }
                    table {
                        tr { th scope="row" { "command" } td { code { (command) } } }
                        tr { th scope="row" { "date" } td { (date) } }
                    }
                    @for section in &sections { (section.markup()) }
                    footer { "recast " (env!("CARGO_PKG_VERSION")) }
                }
            }
        }
    };
    Ok(page.into_string())
}
