//! The plots of a page, as SVG.

use std::ops::Range;

use anyhow::{Context, Result};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use recast_pack::report::{CellMap, Charts, Grid, Histogram, Labels};
use recast_pack::text::{bytes, count, measured, visible};

/// A plot, and what it shows.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) caption: String,
    pub(crate) svg: String,
}

impl Figure {
    /// A plot whose text follows the colours of the page.
    fn new(caption: String, svg: &str) -> Self {
        Self { caption, svg: svg.replace("\"#000000\"", "\"currentColor\"") }
    }
}

/// Width and height of a plot, in its own units; the page scales it. In a wide window its text is as large as the
/// page's; on a telephone it is still legible.
const SIZE: (u32, u32) = (460, 270);
/// The colour of bars and curves; visible on white and on black.
const INK: RGBColor = RGBColor(0x2f, 0x7f, 0xc1);

/// All plots of some charts: the data before and after and the errors as maps, then histograms.
pub(super) fn figures(charts: &Charts) -> Result<Vec<Figure>> {
    let Charts { labels, grid, before, after, largest_errors, .. } = charts;
    let units =
        labels.units.as_ref().map(|units| visible(&format!(" ({units})"))).unwrap_or_default();
    let over = over(labels, grid);
    let cut = cut(labels, grid);
    let value = format!("value{units}");
    let error = format!("error{units}");
    let numbers = before.cells().chain(after.cells()).map(|(_, _, number)| number);
    let scale = ends(numbers).unwrap_or_default();
    let largest = largest_errors.cells().map(|(_, _, error)| error).fold(0.0, f64::max);
    let mut figures = Vec::new();
    let mut figure = |caption: String, svg: String| figures.push(Figure::new(caption, &svg));
    for (name, map) in [("Before", before), ("After", after)] {
        figure(format!("{name}{units}{cut}"), map_or_curve(grid, map, labels, scale, &value)?);
    }
    let caption = format!("Largest |decoded − original|{units}{over}");
    figure(caption, map_or_curve(grid, largest_errors, labels, (0.0, largest), &error)?);
    figure("Values".to_owned(), histogram(&charts.values, &value)?);
    if let Some(codes) = &charts.codes {
        figure("Stored values".to_owned(), histogram(codes, "stored value")?);
    }
    figure("Errors: decoded − original".to_owned(), histogram(&charts.errors, &error)?);
    Ok(figures)
}

fn ends(numbers: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    numbers.fold(None, |ends, number| {
        Some(ends.map_or((number, number), |(a, b): (f64, f64)| (a.min(number), b.max(number))))
    })
}

/// A dimension by its name, or else its number.
fn dimension(labels: &Labels, number: usize) -> String {
    let name = labels.dimensions.get(number).and_then(Option::as_ref);
    name.map_or_else(|| format!("dimension {number}"), |name| visible(name))
}

/// The dimensions of a map.
fn over(labels: &Labels, grid: &Grid) -> String {
    match grid.dimensions.as_slice() {
        [] => String::new(),
        [only] => format!(" along {}", dimension(labels, *only)),
        [rows, columns, ..] => {
            let (rows, columns) = (dimension(labels, *rows), dimension(labels, *columns));
            format!(" over {rows} (down) and {columns} (across)")
        }
    }
}

/// Where a map of values cuts through the array.
fn cut(labels: &Labels, grid: &Grid) -> String {
    let others = grid.at.iter().enumerate();
    let others = others.filter(|(number, at)| !grid.dimensions.contains(number) && **at > 0);
    let others: Vec<String> =
        others.map(|(number, at)| format!("index {at} of {}", dimension(labels, number))).collect();
    if others.is_empty() { String::new() } else { format!(", at {}", others.join(", ")) }
}

/// A label of an axis: enough digits to distinguish it from its neighbours.
fn tick(number: f64, extent: f64, unit: f64) -> String {
    if number == 0.0 || number.abs() < extent * 1e-9 {
        return "0".to_owned();
    }
    let (number, extent) = (number * unit, extent * unit);
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

#[allow(clippy::trivially_copy_pass_by_ref)] // the plotting library passes a reference
fn whole(number: &f64) -> String {
    count(number.round().max(0.0) as u64)
}

/// Two axes with their labels.
struct Axes<'a> {
    x: Range<f64>,
    y: Range<f64>,
    labels: [&'a str; 2],
    x_tick: &'a dyn Fn(&f64) -> String,
    y_tick: &'a dyn Fn(&f64) -> String,
}

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

impl Axes<'_> {
    /// Draws the axes, and lets `draw` draw into them.
    fn with(&self, draw: impl FnOnce(&mut Chart<'_, '_>) -> Result<()>) -> Result<String> {
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
            let mut chart = ChartBuilder::on(&area)
                .margin(8)
                .margin_right(24)
                .x_label_area_size(44)
                .y_label_area_size(80)
                .build_cartesian_2d(self.x.clone(), self.y.clone())?;
            chart
                .configure_mesh()
                .disable_x_mesh()
                .x_labels(7)
                .y_labels(5)
                .x_desc(self.labels[0])
                .y_desc(self.labels[1])
                .light_line_style(TRANSPARENT)
                .bold_line_style(BLACK.mix(0.12))
                .label_style(("sans-serif", 13))
                .axis_desc_style(("sans-serif", 14))
                .x_label_formatter(self.x_tick)
                .y_label_formatter(self.y_tick)
                .draw()?;
            draw(&mut chart)?;
            area.present()?;
        }
        Ok(svg)
    }
}

/// Stored bytes over bounds, coarse to fine, as a curve; the marked ones are dots.
pub(super) fn curve_of_sizes(points: &[(f64, f64, bool)]) -> Result<Figure> {
    let (least, greatest) =
        ends(points.iter().map(|(bound, ..)| bound.log10())).unwrap_or_default();
    let most = points.iter().map(|(_, size, _)| *size).fold(0.0, f64::max);
    let axes = Axes {
        x: least - 0.1..greatest + 0.1,
        y: 0.0..most * 1.05,
        labels: ["bound", "stored bytes"],
        x_tick: &|exponent| measured(10_f64.powf(*exponent)),
        y_tick: &|size| bytes(*size),
    };
    let at = |&(bound, size, _): &(f64, f64, bool)| (bound.log10(), size);
    let svg = axes.with(|chart| {
        let line = PathElement::new(points.iter().map(at).collect::<Vec<_>>(), INK);
        chart.draw_series([line])?;
        let marked = points.iter().filter(|(.., is_marked)| *is_marked);
        chart.draw_series(marked.map(|point| Circle::new(at(point), 4, INK.filled())))?;
        Ok(())
    })?;
    Ok(Figure::new("Estimated size over the bound; dots are the marked bounds".to_owned(), &svg))
}

/// The unit of an axis for numbers of this magnitude: near the largest f64, the library looks for ticks for ever.
fn unit(magnitude: f64) -> f64 {
    if magnitude > 1e300 { 1e300 } else { 1.0 }
}

/// The room on both sides of a number that is all there is: enough for the number to differ from the ends.
fn room_around(number: f64) -> f64 {
    f64::max(0.5, number.abs() * 1e-3)
}

fn histogram(histogram: &Histogram, label: &str) -> Result<String> {
    let highest = histogram.bins().map(|(_, _, count)| count).max().unwrap_or(0).max(1);
    let unit = unit(histogram.least.abs().max(histogram.greatest.abs()));
    let (least, greatest) = (histogram.least / unit, histogram.greatest / unit);
    let is_constant = greatest <= least;
    let room = if is_constant { room_around(least) } else { 0.0 };
    let x = least - room..greatest + room;
    let extent = x.end - x.start;
    let bars = histogram.bins().filter(|(_, _, count)| *count > 0).map(|(start, end, count)| {
        let constant = (least - room / 50.0, least + room / 50.0);
        let (start, end) = if is_constant { constant } else { (start / unit, end / unit) };
        Rectangle::new([(start, 0.0), (end, count as f64)], INK.filled())
    });
    let axes = Axes {
        x,
        y: 0.0..highest as f64 * 1.05,
        labels: [label, "elements"],
        x_tick: &|number| tick(*number, extent, unit),
        y_tick: &whole,
    };
    axes.with(|chart| Ok(chart.draw_series(bars).map(drop)?))
}

/// Numbers over two dimensions as a map, along one as a curve; both span the range of `scale`.
fn map_or_curve(
    grid: &Grid,
    map: &CellMap,
    labels: &Labels,
    scale: (f64, f64),
    label: &str,
) -> Result<String> {
    if grid.extents[0] > 1 {
        return heat_map(grid, map, labels, scale);
    }
    let [_, columns] = grid.extents.map(|extent| extent as f64);
    let width = columns / grid.cells[1] as f64;
    let unit = unit(scale.0.abs().max(scale.1.abs()));
    let (least, greatest) = (scale.0 / unit, scale.1 / unit);
    let extent = greatest - least;
    let room = if extent > 0.0 { extent * 0.05 } else { room_around(least) };
    let name = grid.dimensions.last().map(|&number| dimension(labels, number));
    let axes = Axes {
        x: 0.0..columns,
        y: least - room..greatest + room,
        labels: [&name.unwrap_or_else(|| "index".to_owned()), label],
        x_tick: &whole,
        y_tick: &|number| tick(*number, extent.max(f64::MIN_POSITIVE), unit),
    };
    // Flat over each cell; a cell without a number breaks the curve.
    let mut pieces: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut next = None;
    for (_, column, number) in map.cells() {
        if next != Some(column) {
            pieces.push(Vec::new());
        }
        next = Some(column + 1);
        let start = column as f64 * width;
        if let Some(piece) = pieces.last_mut() {
            piece.extend([(start, number / unit), (start + width, number / unit)]);
        }
    }
    axes.with(|chart| {
        let lines = pieces.into_iter().map(|piece| PathElement::new(piece, INK));
        Ok(chart.draw_series(lines).map(drop)?)
    })
}

/// Colours of a map, without the transparent one.
const COLOURS: u8 = 255;

/// The colour for a place on the scale.
fn colour(index: u8) -> RGBColor {
    ViridisRGB.get_color(f64::from(index) / f64::from(COLOURS - 1))
}

/// A map from dark to bright; cells without a number are transparent.
fn heat_map(
    grid: &Grid,
    map: &CellMap,
    labels: &Labels,
    (least, greatest): (f64, f64),
) -> Result<String> {
    let mut svg = String::new();
    let [rows, columns] = grid.extents.map(|extent| extent as f64);
    let (x, y);
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let (plot, legend) = area.split_horizontally(SIZE.0 - 100);
        let mut chart = ChartBuilder::on(&plot)
            .margin(8)
            .x_label_area_size(44)
            .y_label_area_size(60)
            // Rows run downwards, as arrays are printed.
            .build_cartesian_2d(0.0..columns, rows..0.0)?;
        let name = |index: usize| grid.dimensions.get(index).map(|&n| dimension(labels, n));
        chart
            .configure_mesh()
            .disable_mesh()
            .x_labels(7)
            .y_labels(6)
            .x_desc(name(1).unwrap_or_default())
            .y_desc(name(0).unwrap_or_default())
            .label_style(("sans-serif", 13))
            .axis_desc_style(("sans-serif", 14))
            .x_label_formatter(&whole)
            .y_label_formatter(&whole)
            .draw()?;
        (x, y) = chart.plotting_area().get_pixel_range();
        // The colours, from the greatest number down to the least.
        let (top, bottom) = (16, SIZE.1 as i32 - 60);
        for step in 0..32 {
            let at = |step: i32| top + (bottom - top) * step / 32;
            let share = 1.0 - (f64::from(step) + 0.5) / 32.0;
            let corners = [(4, at(step)), (20, at(step + 1))];
            let colour = colour((share * f64::from(COLOURS - 1)) as u8);
            legend.draw(&Rectangle::new(corners, colour.filled()))?;
        }
        let style = ("sans-serif", 13).into_text_style(&legend);
        legend.draw_text(&measured(greatest), &style, (26, top))?;
        legend.draw_text(&measured(least), &style, (26, bottom - 12))?;
        area.present()?;
    }
    let png = BASE64_STANDARD.encode(png(grid, map, (least, greatest))?);
    let image = format!(
        "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" \
         href=\"data:image/png;base64,{png}\"/>\n</svg>",
        x.start,
        y.start.min(y.end),
        x.end - x.start,
        (y.end - y.start).abs()
    );
    let (head, tail) = svg.rsplit_once("</svg>").context("a plot without an end")?;
    Ok(format!("{head}{image}{tail}"))
}

/// A map as a picture with a pixel for each cell.
fn png(grid: &Grid, map: &CellMap, (least, greatest): (f64, f64)) -> Result<Vec<u8>> {
    let [rows, columns] = grid.cells;
    // 0 is transparent.
    let mut pixels = vec![0; (rows * columns) as usize];
    for (row, column, number) in map.cells() {
        let extent = greatest - least;
        let share = if extent > 0.0 { (number - least) / extent } else { 0.0 };
        if let Some(pixel) = pixels.get_mut((row * columns + column) as usize) {
            *pixel = 1 + (share * f64::from(COLOURS - 1)).round() as u8;
        }
    }
    let colours =
        (0..COLOURS).map(colour).flat_map(|RGBColor(red, green, blue)| [red, green, blue]);
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, columns as u32, rows as u32);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette([0; 3].into_iter().chain(colours).collect::<Vec<u8>>());
    encoder.set_trns(vec![0]);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(file)
}
