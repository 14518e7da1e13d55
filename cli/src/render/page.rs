//! The page of a report: one self-contained HTML file.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use recast_pack::StagedFile;
use recast_pack::text::visible;

use crate::command_line::arguments;

use super::plots::Figure;
use super::table::Table;

/// A checked place for the page of `--report`.
#[derive(Debug)]
pub(crate) struct PagePlace {
    path: PathBuf,
    staged: StagedFile,
}

impl PagePlace {
    /// Checks that a file may be written to the path of `--report`, if there is one.
    pub(crate) fn of(report: Option<&Path>, overwrite: bool) -> Result<Option<Self>> {
        let Some(path) = report else { return Ok(None) };
        let staged = StagedFile::new(path, overwrite).with_context(|| shown(path))?;
        Ok(Some(Self { path: path.to_owned(), staged }))
    }

    /// Writes the page to a temporary file.
    pub(crate) fn write(&mut self, title: &str, sections: Vec<Section>) -> Result<()> {
        self.staged.write(&page(title, sections)?).with_context(|| shown(&self.path))
    }

    /// Moves it to its place.
    pub(crate) fn commit(self) -> Result<()> {
        self.staged.commit().with_context(|| shown(&self.path))
    }
}

fn shown(path: &Path) -> String {
    format!("--report {}", path.display())
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
    listing: Option<(Vec<&'static str>, Vec<Vec<String>>)>,
    figures: Vec<Figure>,
}

impl Section {
    /// A table, another one of several columns below it, and figures.
    pub(super) fn new(
        table: &Table,
        listing: Option<(Vec<&'static str>, Vec<Vec<String>>)>,
        figures: Vec<Figure>,
    ) -> Self {
        let rows = table.rows().map(|(label, lines)| (label.to_owned(), lines.to_vec()));
        Self { name: None, rows: rows.collect(), listing, figures }
    }

    /// The same with a heading.
    pub(super) fn named(self, name: &str) -> Self {
        Self { name: Some(visible(name)), ..self }
    }

    pub(super) fn markup(&self) -> Markup {
        html! {
            section {
                @if let Some(name) = &self.name { h2 id=(name) { (name) } }
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
                @if let Some((columns, rows)) = self.listing.as_ref().filter(|(_, rows)| !rows.is_empty()) {
                    div class="wide" {
                        table {
                            tr { @for column in columns { th scope="col" { (column) } } }
                            @for row in rows { tr { @for cell in row { td { (cell) } } } }
                        }
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

/// Links to the sections with a heading, if there are some.
fn contents(sections: &[Section]) -> Markup {
    let names: Vec<&String> = sections.iter().filter_map(|section| section.name.as_ref()).collect();
    html! {
        @if names.len() > 1 {
            nav aria-label="Arrays" {
                ul { @for name in names { li { a href={ "#" (utf8_percent_encode(name, NON_ALPHANUMERIC)) } { (name) } } } }
            }
        }
    }
}

fn page(title: &str, mut sections: Vec<Section>) -> Result<String> {
    let title = visible(title);
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
    let command = visible(&shlex::try_join(arguments().iter().map(String::as_str))?);
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
                    (contents(&sections))
                    @for section in &sections { (section.markup()) }
                    footer { "recast " (env!("CARGO_PKG_VERSION")) }
                }
            }
        }
    };
    Ok(page.into_string())
}
