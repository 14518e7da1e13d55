//! The plots of a page, as SVG.

use std::ops::Range;

use anyhow::{Context, Result};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use recast_pack::report::{Axis, CellMap, Charts, Histogram, Plane};
use recast_pack::text::{bytes, count, measured, visible};

/// A plot, and its caption.
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

/// All plots of some charts: the data before and after and the errors as maps, then histograms. None without values.
pub(super) fn figures(charts: &Charts) -> Result<Vec<Figure>> {
    if charts.values.bins().all(|(.., count)| count == 0) {
        return Ok(Vec::new());
    }
    let Charts { axes, plane, before, after, largest_errors, .. } = charts;
    let units = in_units(charts.units.as_deref());
    let cut = cut(axes, plane);
    let over = over(axes, plane);
    let value = cut_off(&format!("value{units}"));
    let error = cut_off(&format!("error{units}"));
    let numbers = before.cells().chain(after.cells()).map(|(_, _, number)| number);
    let scale = ends(numbers).unwrap_or_default();
    // Not from 0: the largest errors of cells with many elements are all near the bound.
    let errors = ends(largest_errors.cells().map(|(_, _, error)| error)).unwrap_or_default();
    let mut figures = Vec::new();
    let mut figure = |caption: String, svg: String| figures.push(Figure::new(caption, &svg));
    for (name, map) in [("Before", before), ("After", after)] {
        figure(format!("{name}{units}{cut}"), map_or_curve(plane, map, axes, scale, &value)?);
    }
    let caption = format!("Largest |decoded − original|{units}{over}");
    figure(caption, map_or_curve(plane, largest_errors, axes, errors, &error)?);
    figure("Values".to_owned(), histogram(&charts.values, &value)?);
    if let Some(codes) = &charts.codes {
        figure("Stored values".to_owned(), histogram(codes, "stored value")?);
    }
    figure("Errors: decoded − original".to_owned(), histogram(&charts.errors, &error)?);
    Ok(figures)
}

fn in_units(units: Option<&str>) -> String {
    units.map(|units| visible(&format!(" ({units})"))).unwrap_or_default()
}

fn ends(numbers: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    numbers.fold(None, |ends, number| {
        Some(ends.map_or((number, number), |(a, b): (f64, f64)| (a.min(number), b.max(number))))
    })
}

/// A dimension by its name, or else its number.
fn dimension(axes: &[Axis], number: usize) -> String {
    let name = axes.get(number).and_then(|axis| axis.name.as_ref());
    name.map_or_else(|| format!("dimension {number}"), |name| visible(name))
}

/// The dimensions of a map.
fn over(axes: &[Axis], plane: &Plane) -> String {
    match plane.dimensions.as_slice() {
        [] => String::new(),
        [only] => format!(" along {}", dimension(axes, *only)),
        [rows, columns, ..] => {
            let way = if is_upward(axes.get(*rows)) { "up" } else { "down" };
            let (rows, columns) = (dimension(axes, *rows), dimension(axes, *columns));
            format!(" over {rows} ({way}) and {columns} (across)")
        }
    }
}

/// Where a map of values cuts through the array.
fn cut(axes: &[Axis], plane: &Plane) -> String {
    let others = plane.at.iter().enumerate();
    let others = others.filter(|(number, at)| !plane.dimensions.contains(number) && **at > 0);
    let others: Vec<String> =
        others.map(|(number, at)| format!("index {at} of {}", dimension(axes, number))).collect();
    if others.is_empty() { String::new() } else { format!(", at {}", others.join(", ")) }
}

/// Whether the rows of a map run upwards, so that its coordinate grows in the direction that people expect. Rows without a
/// coordinate run downwards, as arrays are printed.
fn is_upward(rows: Option<&Axis>) -> bool {
    rows.is_some_and(|rows| match rows.numbers.as_slice() {
        [first, .., last] => (last > first) != rows.is_down,
        _ => false,
    })
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

/// A number of one digit.
fn rounded(number: f64) -> String {
    format!("{number:.0e}")
        .parse()
        .map_or_else(|_| measured(number), |number: f64| format!("{number:?}"))
}

fn whole(number: f64) -> String {
    count(number.round().max(0.0) as u64)
}

/// An axis has at most about this many ticks, whose labels do not touch.
const TICKS: [usize; 2] = [6, 5];

/// Multiples of 1, 2 or 5 times a power of ten.
fn round_numbers(range: &Range<f64>, most: usize) -> Vec<f64> {
    let least_step = (range.end - range.start).abs() / most as f64;
    let power = 10_f64.powf(least_step.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    multiples(range, steps.into_iter().find(|step| *step >= least_step), most)
}

/// Multiples of a power of two, as sizes in KiB and MiB are.
fn round_sizes(range: &Range<f64>, most: usize) -> Vec<f64> {
    let least_step = (range.end - range.start).abs() / most as f64;
    multiples(range, Some(2_f64.powf(least_step.log2().ceil())), most)
}

fn multiples(range: &Range<f64>, step: Option<f64>, most: usize) -> Vec<f64> {
    let Some(step) = step.filter(|step| step.is_normal()) else { return vec![range.start] };
    let (least, greatest) = (range.start.min(range.end), range.start.max(range.end));
    let first = (least / step).ceil();
    let numbers = (0..=most).map(|number| (first + number as f64) * step);
    numbers.take_while(|number| *number <= greatest).collect()
}

/// Logarithms of round numbers: as many as have room of 1, 2, 5 times powers of ten, or 1, 3 times, or powers alone.
fn round_logarithms(range: &Range<f64>, most: usize) -> Vec<f64> {
    let between = |digits: &[f64]| -> Vec<f64> {
        let powers = range.start.floor() as i32..=range.end.ceil() as i32;
        let all = powers.flat_map(|power| digits.iter().map(move |d| d.log10() + f64::from(power)));
        all.filter(|number| range.contains(number)).collect()
    };
    let choices = [&[1.0, 2.0, 5.0][..], &[1.0, 3.0]].map(between);
    let fits = choices.into_iter().find(|numbers| numbers.len() <= most);
    fits.unwrap_or_else(|| round_numbers(range, most))
}

/// The start of a label that is longer than its axis.
fn cut_off(label: &str) -> String {
    const MOST: usize = 32;
    match label.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &label[..end]),
        None => label.to_owned(),
    }
}

/// An axis of a plot.
struct Side<'a> {
    range: Range<f64>,
    label: String,
    ticks: Vec<f64>,
    text: Box<dyn Fn(f64) -> String + 'a>,
}

impl<'a> Side<'a> {
    /// An axis of numbers in a unit.
    fn of_numbers(range: Range<f64>, unit: f64, label: &str, most: usize) -> Self {
        let extent = (range.end - range.start).abs();
        let ticks = round_numbers(&range, most);
        let text = Box::new(move |number| tick(number, extent, unit));
        Self { range, label: label.to_owned(), ticks, text }
    }

    /// An axis of counts, from 0.
    fn of_counts(highest: f64, label: &str, most: usize) -> Self {
        let range = 0.0..highest;
        let ticks = round_numbers(&range, most);
        Self { range, label: label.to_owned(), ticks, text: Box::new(whole) }
    }

    /// An axis along a dimension of the array. Where its coordinate is evenly spaced, the axis has its numbers, each in the
    /// middle of an element; where it is not, some elements have theirs; without one, elements are counted.
    fn along(axes: &'a [Axis], number: Option<usize>, extent: f64, most: usize) -> Self {
        let known = number.and_then(|number| axes.get(number));
        let units = in_units(known.and_then(|axis| axis.units.as_deref()));
        let name = number.map_or_else(|| "index".to_owned(), |number| dimension(axes, number));
        let label = cut_off(&format!("{name}{units}"));
        let numbers = known.map_or(&[][..], |axis| &axis.numbers);
        let [first, .., last] = *numbers else { return Self::of_counts(extent, &label, most) };
        let step = (last - first) / (numbers.len() - 1) as f64;
        // Coordinates of float32 are rounded.
        let is_even = |(index, number): (usize, &f64)| {
            (number - (first + index as f64 * step)).abs() <= 1e-2 * step.abs()
        };
        let range = first - step / 2.0..last + step / 2.0;
        if numbers.iter().enumerate().all(is_even)
            && range.start.is_finite()
            && range.end.is_finite()
        {
            return Self::of_numbers(range, 1.0, &label, most);
        }
        let range = 0.0..extent;
        let middles = round_numbers(&range, most).into_iter().map(|start| start.floor() + 0.5);
        let ticks = middles.filter(|middle| *middle < extent).collect();
        let text = |place| {
            numbers.get(place as usize).map_or_else(String::new, |number| measured(*number))
        };
        Self { range, label, ticks, text: Box::new(text) }
    }

    /// The place on the axis of a share of its length.
    fn at(&self, share: f64) -> f64 {
        self.range.start + (self.range.end - self.range.start) * share
    }

    fn reversed(self) -> Self {
        Self { range: self.range.end..self.range.start, ..self }
    }

    fn coordinate(&self) -> Ticked {
        Ticked { linear: self.range.clone().into(), ticks: self.ticks.clone() }
    }
}

/// A linear axis with these ticks; the library's own are not round for logarithms and sizes.
struct Ticked {
    linear: RangedCoordf64,
    ticks: Vec<f64>,
}

impl Ranged for Ticked {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, number: &f64, pixels: (i32, i32)) -> i32 {
        self.linear.map(number, pixels)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.linear.range()
    }
}

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Ticked, Ticked>>;

/// Draws two axes and lines across from the ticks of y, and lets `draw` draw between them.
fn with_axes<T>(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    [x, y]: [&Side<'_>; 2],
    lines: RGBAColor,
    draw: impl FnOnce(&mut Chart<'_, '_>) -> Result<T>,
) -> Result<T> {
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .margin_right(24)
        .x_label_area_size(44)
        .y_label_area_size(80)
        .build_cartesian_2d(x.coordinate(), y.coordinate())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_desc(&x.label)
        .y_desc(&y.label)
        .light_line_style(TRANSPARENT)
        .bold_line_style(lines)
        .label_style(("sans-serif", 13))
        .axis_desc_style(("sans-serif", 14))
        .x_label_formatter(&|number| (x.text)(*number))
        .y_label_formatter(&|number| (y.text)(*number))
        .draw()?;
    draw(&mut chart)
}

/// A plot with two axes.
fn plot(
    x: &Side<'_>,
    y: &Side<'_>,
    draw: impl FnOnce(&mut Chart<'_, '_>) -> Result<()>,
) -> Result<String> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        with_axes(&area, [x, y], BLACK.mix(0.12), draw)?;
        area.present()?;
    }
    Ok(svg)
}

/// Stored bytes over bounds, coarse to fine, as a curve; the marked ones are dots.
pub(super) fn curve_of_sizes(points: &[(f64, f64, bool)]) -> Result<Figure> {
    let (least, greatest) =
        ends(points.iter().map(|(bound, ..)| bound.log10())).unwrap_or_default();
    let most = points.iter().map(|(_, size, _)| *size).fold(0.0, f64::max);
    let (x, y) = (least - 0.1..greatest + 0.1, 0.0..most * 1.05);
    let x = Side {
        ticks: round_logarithms(&x, TICKS[0]),
        range: x,
        label: "bound".to_owned(),
        text: Box::new(|exponent| rounded(10_f64.powf(exponent))),
    };
    let y = Side {
        ticks: round_sizes(&y, TICKS[1]),
        range: y,
        label: "stored bytes".to_owned(),
        text: Box::new(|size| bytes(size).replace(".0 ", " ")),
    };
    let at = |&(bound, size, _): &(f64, f64, bool)| (bound.log10(), size);
    let svg = plot(&x, &y, |chart| {
        let line = PathElement::new(points.iter().map(at).collect::<Vec<_>>(), INK);
        chart.draw_series([line])?;
        let marked = points.iter().filter(|(.., is_marked)| *is_marked);
        chart.draw_series(marked.map(|point| Circle::new(at(point), 4, INK.filled())))?;
        Ok(())
    })?;
    Ok(Figure::new("Estimated size over the bound; dots are the marked bounds".to_owned(), &svg))
}

/// The information of each bit of the values about the same bit of a neighbour, as bars; those from `end` on are pale.
pub(super) fn bars_of_information(bits: &[f64], end: Option<usize>) -> Result<Figure> {
    let x = 0.5..bits.len() as f64 + 0.5;
    let x = Side {
        ticks: round_numbers(&x, TICKS[0]),
        range: x,
        label: "bit, the highest first".to_owned(),
        text: Box::new(whole),
    };
    let y = Side::of_numbers(0.0..1.05, 1.0, "information (bits)", TICKS[1]);
    let svg = plot(&x, &y, |chart| {
        let bars = bits.iter().enumerate().map(|(index, information)| {
            let middle = index as f64 + 1.0;
            let strength = if end.is_some_and(|end| index >= end) { 0.4 } else { 1.0 };
            let corners = [(middle - 0.4, 0.0), (middle + 0.4, *information)];
            Rectangle::new(corners, INK.mix(strength).filled())
        });
        Ok(chart.draw_series(bars).map(drop)?)
    })?;
    Ok(Figure::new("Information of each bit about the same bit of the next value".to_owned(), &svg))
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
    let bars = histogram.bins().filter(|(_, _, count)| *count > 0).map(|(start, end, count)| {
        let constant = (least - room / 50.0, least + room / 50.0);
        let (start, end) = if is_constant { constant } else { (start / unit, end / unit) };
        Rectangle::new([(start, 0.0), (end, count as f64)], INK.filled())
    });
    let x = Side::of_numbers(x, unit, label, TICKS[0]);
    let y = Side::of_counts(highest as f64 * 1.05, "elements", TICKS[1]);
    plot(&x, &y, |chart| Ok(chart.draw_series(bars).map(drop)?))
}

/// Numbers over two dimensions as a map, along one as a curve; both span the range of `scale`.
fn map_or_curve(
    plane: &Plane,
    map: &CellMap,
    axes: &[Axis],
    scale: (f64, f64),
    label: &str,
) -> Result<String> {
    if plane.extents[0] > 1 {
        return heat_map(plane, map, axes, scale);
    }
    let unit = unit(scale.0.abs().max(scale.1.abs()));
    let (least, greatest) = (scale.0 / unit, scale.1 / unit);
    let extent = greatest - least;
    let room = if extent > 0.0 { extent * 0.05 } else { room_around(least) };
    let x = Side::along(axes, plane.dimensions.last().copied(), plane.extents[1] as f64, TICKS[0]);
    let y = Side::of_numbers(least - room..greatest + room, unit, label, TICKS[1]);
    // Flat over each cell; a cell without a number breaks the curve.
    let mut pieces: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut next = None;
    let edge = |column: u64| x.at(column as f64 / plane.cells[1] as f64);
    for (_, column, number) in map.cells() {
        if next != Some(column) {
            pieces.push(Vec::new());
        }
        next = Some(column + 1);
        if let Some(piece) = pieces.last_mut() {
            piece.extend([column, column + 1].map(|column| (edge(column), number / unit)));
        }
    }
    plot(&x, &y, |chart| {
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
    plane: &Plane,
    map: &CellMap,
    axes: &[Axis],
    (least, greatest): (f64, f64),
) -> Result<String> {
    let mut svg = String::new();
    let [rows, columns] = [0, 1].map(|index| plane.dimensions.get(index).copied());
    let is_upward = is_upward(rows.and_then(|rows| axes.get(rows)));
    let [height, width] = plane.extents.map(|extent| extent as f64);
    let across = Side::along(axes, columns, width, TICKS[0]);
    // From the lowest row to the highest.
    let upwards = Side::along(axes, rows, height, TICKS[1]);
    let upwards = if is_upward { upwards } else { upwards.reversed() };
    let (x, y);
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let (left, legend) = area.split_horizontally(SIZE.0 - 90);
        (x, y) = with_axes(&left, [&across, &upwards], TRANSPARENT, |chart| {
            Ok(chart.plotting_area().get_pixel_range())
        })?;
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
    let png = BASE64_STANDARD.encode(png(plane, map, is_upward, (least, greatest))?);
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
fn png(
    plane: &Plane,
    map: &CellMap,
    is_upward: bool,
    (least, greatest): (f64, f64),
) -> Result<Vec<u8>> {
    let [rows, columns] = plane.cells;
    // 0 is transparent.
    let mut pixels = vec![0; (rows * columns) as usize];
    for (row, column, number) in map.cells() {
        let extent = greatest - least;
        let share = if extent > 0.0 { (number - least) / extent } else { 0.0 };
        let row = if is_upward { rows - 1 - row } else { row };
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
