//! The page of a report: one HTML file that needs no other, with plots as SVG.

use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use plotters::prelude::*;
use tempfile::NamedTempFile;

use recast_pack::text::{count, measured};
use recast_pack::{Charts, ErrorMap, Histogram};

use super::table::Table;

/// A place for the page, found fit for it.
#[derive(Debug)]
pub(crate) struct PagePlace {
    path: PathBuf,
    staged: NamedTempFile,
}

impl PagePlace {
    /// Checks that a file may be written to the path of `--report`, if there is one.
    pub(crate) fn of(report: Option<&Path>, overwrite: bool) -> Result<Option<Self>> {
        report.map(|path| Self::new(path, overwrite)).transpose()
    }

    fn new(path: &Path, overwrite: bool) -> Result<Self> {
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
        place().with_context(|| format!("--report {}", path.display()))
    }

    /// Writes the page, not yet to its place.
    pub(crate) fn write(&mut self, page: &str) -> Result<()> {
        let written = self.staged.write_all(page.as_bytes()).and_then(|()| self.staged.flush());
        written.with_context(|| format!("--report {}", self.path.display()))
    }

    /// Moves it to its place.
    pub(crate) fn commit(self) -> Result<()> {
        let shown = format!("--report {}", self.path.display());
        self.staged.persist(&self.path).map_err(|error| error.error).context(shown)?;
        Ok(())
    }
}

/// Width and height of a plot, in its own units; the page scales it. Its text is as large as the page's
/// in a wide window, and still legible on a telephone.
const SIZE: (u32, u32) = (460, 270);
/// Of the bars; legible on white and on black.
const BAR: RGBColor = RGBColor(0x2f, 0x7f, 0xc1);

/// A part of a page: a table, and plots below it.
pub(crate) fn section(table: &Table, charts: &Charts) -> Result<String> {
    let mut figures = String::new();
    let mut figure = |caption: &str, svg: String| -> Result<()> {
        let svg = svg.replacen("<svg ", &format!("<svg role=\"img\" aria-label=\"{caption}\" "), 1);
        // The text of a plot follows the colours of the page.
        let svg = svg.replace("\"#000000\"", "\"currentColor\"");
        Ok(write!(figures, "<figure>\n{svg}<figcaption>{caption}</figcaption>\n</figure>\n")?)
    };
    figure("Values", histogram(&charts.values, "value")?)?;
    if let Some(codes) = &charts.codes {
        figure("Stored values", histogram(codes, "stored value")?)?;
    }
    figure("Errors: decoded − original", histogram(&charts.errors, "error")?)?;
    let map = &charts.map;
    let over = match map.dimensions.as_slice() {
        [] => "the only element".to_owned(),
        [only] => format!("along dimension {only}"),
        [rows, columns] => format!("over dimensions {rows} (down) and {columns} (across)"),
        _ => String::new(),
    };
    let caption = format!("Largest |error| {over}");
    figure(&caption, if map.extents[0] > 1 { heat_map(map)? } else { profile(map)? })?;
    Ok(format!("{}<div class=\"figures\">\n{figures}</div>\n", html(table)?))
}

/// A part of a page that has several.
pub(crate) fn named_section(name: &str, section: &str) -> String {
    format!("<section>\n<h2>{}</h2>\n{section}</section>\n", escaped(name))
}

/// A page of a title and its parts.
pub(crate) fn page(title: &str, parts: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n{parts}<footer>recast {}</footer>\n</main>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    )
}

const STYLE: &str = "
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; }
main { max-width: 82rem; margin: 0 auto; padding: 1rem 1.25rem; }
h1, h2 { font-size: 1.25rem; overflow-wrap: anywhere; }
section { border-top: 1px solid; margin-top: 2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .15rem 1.5rem .15rem 0; }
th { font-weight: 600; white-space: nowrap; }
td { overflow-wrap: anywhere; }
.figures { display: grid; gap: 1.5rem; margin-top: 1.5rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); }
figure { margin: 0; }
figcaption { text-align: center; }
svg { display: block; width: 100%; height: auto; }
svg rect { shape-rendering: crispEdges; }
footer { margin-top: 2rem; opacity: .7; }
";

/// A table of a page.
pub(crate) fn html(table: &Table) -> Result<String> {
    let mut text = "<table>\n".to_owned();
    for (label, value) in table.rows() {
        let value = escaped(value).replace('\n', "<br>");
        writeln!(text, "<tr><th scope=\"row\">{}</th><td>{value}</td></tr>", escaped(label))?;
    }
    text.push_str("</table>\n");
    Ok(text)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// What the plotting library reports is of many types.
fn drawn<T, E: std::fmt::Display>(result: std::result::Result<T, E>) -> Result<T> {
    result.map_err(|error| anyhow!("drawing a plot: {error}"))
}

/// A label of an axis: as few digits as tell it from its neighbours.
fn tick(number: f64, extent: f64) -> String {
    if number == 0.0 || number.abs() < extent * 1e-9 {
        return "0".to_owned();
    }
    let magnitude = number.abs().log10().floor();
    if !(-4.0..7.0).contains(&magnitude) {
        let text = format!("{number:.2e}");
        return text.replace(".00e", "e").replace("0e", "e");
    }
    let digits = (2.0 - extent.log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{number:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A plot of bars.
struct Bars<'a> {
    x: Range<f64>,
    highest: f64,
    labels: [&'a str; 2],
    x_tick: &'a dyn Fn(&f64) -> String,
    y_tick: &'a dyn Fn(&f64) -> String,
}

impl Bars<'_> {
    /// Draws bars, each with its ends and its height.
    fn draw(&self, bars: impl Iterator<Item = (f64, f64, f64)>) -> Result<String> {
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
            let chart = ChartBuilder::on(&area)
                .margin(8)
                .margin_right(24)
                .x_label_area_size(44)
                .y_label_area_size(80)
                .build_cartesian_2d(self.x.clone(), 0.0..self.highest * 1.05);
            let mut chart = drawn(chart)?;
            let mut mesh = chart.configure_mesh();
            mesh.disable_x_mesh()
                .x_labels(7)
                .y_labels(5)
                .x_desc(self.labels[0])
                .y_desc(self.labels[1])
                .light_line_style(TRANSPARENT)
                .bold_line_style(BLACK.mix(0.12))
                .label_style(("sans-serif", 13))
                .axis_desc_style(("sans-serif", 14))
                .x_label_formatter(self.x_tick)
                .y_label_formatter(self.y_tick);
            drawn(mesh.draw())?;
            let bars = bars.map(|(start, end, height)| {
                Rectangle::new([(start, 0.0), (end, height)], BAR.filled())
            });
            drawn(chart.draw_series(bars))?;
            drawn(area.present())?;
        }
        Ok(svg)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as the plotting library calls it
fn whole(number: &f64) -> String {
    count(number.round().max(0.0) as u64)
}

fn histogram(histogram: &Histogram, label: &str) -> Result<String> {
    let highest = histogram.bins().map(|(_, _, count)| count).max().unwrap_or(0).max(1);
    let is_constant = histogram.greatest <= histogram.least;
    let x = if is_constant {
        histogram.least - 0.5..histogram.least + 0.5
    } else {
        histogram.least..histogram.greatest
    };
    let extent = x.end - x.start;
    let bars = histogram.bins().filter(|(_, _, count)| *count > 0).map(|(start, end, count)| {
        let constant = (histogram.least - 0.01, histogram.least + 0.01);
        let (start, end) = if is_constant { constant } else { (start, end) };
        (start, end, count as f64)
    });
    let plot = Bars {
        x: x.clone(),
        highest: highest as f64,
        labels: [label, "elements"],
        x_tick: &|number| tick(*number, extent),
        y_tick: &whole,
    };
    plot.draw(bars)
}

/// The errors along one dimension.
fn profile(map: &ErrorMap) -> Result<String> {
    let highest = map.cells().map(|(_, _, error)| error).fold(0.0, f64::max);
    let highest = if highest > 0.0 { highest } else { 1.0 };
    let width = map.extents[1] as f64 / map.cells[1] as f64;
    let bars = map.cells().map(|(_, column, error)| {
        let start = column as f64 * width;
        (start, start + width, error)
    });
    let plot = Bars {
        x: 0.0..map.extents[1] as f64,
        highest,
        labels: ["index", "largest |error|"],
        x_tick: &whole,
        y_tick: &|number| tick(*number, highest),
    };
    plot.draw(bars)
}

/// The errors over two dimensions, from dark to bright.
fn heat_map(map: &ErrorMap) -> Result<String> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let (plot, legend) = area.split_horizontally(SIZE.0 - 100);
        let highest = map.cells().map(|(_, _, error)| error).fold(0.0, f64::max);
        let [rows, columns] = map.extents.map(|extent| extent as f64);
        let height = rows / map.cells[0] as f64;
        let width = columns / map.cells[1] as f64;
        let chart = ChartBuilder::on(&plot)
            .margin(8)
            .x_label_area_size(44)
            .y_label_area_size(60)
            // Down, as arrays are printed.
            .build_cartesian_2d(0.0..columns, rows..0.0);
        let mut chart = drawn(chart)?;
        let mut mesh = chart.configure_mesh();
        mesh.disable_mesh()
            .x_labels(7)
            .y_labels(6)
            .label_style(("sans-serif", 13))
            .x_label_formatter(&whole)
            .y_label_formatter(&whole);
        drawn(mesh.draw())?;
        let colour = |error: f64| {
            let share = if highest > 0.0 { error / highest } else { 0.0 };
            ViridisRGB.get_color(share)
        };
        let cells = map.cells().map(|(row, column, error)| {
            let (left, top) = (column as f64 * width, row as f64 * height);
            Rectangle::new([(left, top), (left + width, top + height)], colour(error).filled())
        });
        drawn(chart.draw_series(cells))?;
        // The colours, from the largest error down to none.
        let (top, bottom) = (16, SIZE.1 as i32 - 60);
        for step in 0..32 {
            let at = |step: i32| top + (bottom - top) * step / 32;
            let share = 1.0 - (f64::from(step) + 0.5) / 32.0;
            let corners = [(4, at(step)), (20, at(step + 1))];
            drawn(legend.draw(&Rectangle::new(corners, colour(share * highest).filled())))?;
        }
        let style = ("sans-serif", 13).into_text_style(&legend);
        if highest > 0.0 {
            drawn(legend.draw_text(&measured(highest), &style, (26, top)))?;
        }
        drawn(legend.draw_text("0", &style, (26, bottom - 12)))?;
        drawn(area.present())?;
    }
    Ok(svg)
}
