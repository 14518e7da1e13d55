//! The table and the heat map of the rows.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use plotters::prelude::*;
use recast_kernels::{ElementType, OutOfRange, Rounding};

use crate::Error;
use crate::cases::{CORE, Case, Class, LONG_MAP, Scaling};
use crate::measure::Row;
use crate::{alignments, unusual};

/// `compare.csv`: a line for each peer of each row, and one for a row without peers.
pub(crate) struct Csv(csv::Writer<std::fs::File>);

impl Csv {
    pub(crate) fn create(path: &Path) -> Result<Self, Error> {
        let mut csv = csv::Writer::from_path(path)?;
        csv.write_record([
            "case",
            "source",
            "target",
            "rounding",
            "out_of_range",
            "map_entries",
            "affine",
            "level",
            "n",
            "ours_gbps",
            "memcpy_gbps",
            "peer",
            "peer_gbps",
        ])?;
        Ok(Self(csv))
    }

    pub(crate) fn write(&mut self, row: &Row) -> Result<(), Error> {
        let none = std::iter::once((String::new(), String::new())).filter(|_| row.peers.is_empty());
        let peers = row.peers.iter().map(|peer| (peer.name.to_owned(), speed(peer.gbps)));
        for (peer, peer_gbps) in peers.chain(none) {
            self.0.write_record([
                row.name.as_str(),
                row.case.source.name(),
                row.case.target.name(),
                row.case.rounding.name(),
                row.case.out_of_range.name(),
                &row.case.map.len().to_string(),
                row.case.affine.name(),
                row.level,
                &row.n.to_string(),
                &speed(row.ours.gbps),
                &speed(row.memcpy),
                &peer,
                &peer_gbps,
            ])?;
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<(), Error> {
        Ok(self.0.flush()?)
    }
}

fn speed(gbps: f64) -> String {
    format!("{gbps:.4}")
}

fn geomean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value.ln();
        count += 1.0;
    }
    (sum / count).exp()
}

/// Count, geometric mean and least of some ratios, as one line of a table.
fn line(what: &str, ratios: &[f64]) {
    if !ratios.is_empty() {
        let worst = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let mean = geomean(ratios.iter().copied());
        println!("{what:<44} {:>5} {mean:>9.3} {worst:>9.3}", ratios.len());
    }
}

fn heading(text: &str) {
    println!("\n{text:<44} {:>5} {:>9} {:>9}", "rows", "geomean", "worst");
}

/// Prints the summary; `every_row` as well if asked for.
pub(crate) fn print(rows: &[Row], every_row: bool, medium: usize, call: usize, large: usize) {
    if every_row {
        println!("\n{:<54} {:>9} {:>7} {:>7} {:>6}  peers", "case", "n", "ours", "memcpy", "ratio");
        for row in rows {
            print_row(row);
        }
    }
    let with = |n| rows.iter().filter(move |row: &&Row| row.n == n);
    let sizes: BTreeSet<usize> = rows.iter().map(|row| row.n).collect();
    for n in sizes.into_iter().filter(|&n| n != call) {
        let note = if n == large { ", the cases without options" } else { "" };
        println!("\n== {n} elements{note}; GB/s of ours over GB/s of the other");
        ours_over_memcpy(&with(n).collect::<Vec<_>>());
        ours_over_peers(&with(n).collect::<Vec<_>>());
    }
    let medium: Vec<&Row> = with(medium).collect();
    asked(rows, &medium, call, large);
    extremes(&medium);
    other_bits(rows);
}

fn print_row(row: &Row) {
    let peers: Vec<String> = row
        .peers
        .iter()
        .map(|peer| {
            let mark = if peer.wrong.is_some() { "*" } else { "" };
            format!("{}{mark} {:.2}", peer.name, peer.gbps)
        })
        .collect();
    println!(
        "{:<54} {:>9} {:>7.2} {:>7.2} {:>6.3}  {}",
        row.name,
        row.n,
        row.ours.gbps,
        row.memcpy,
        row.ratio(),
        peers.join(", ")
    );
}

/// What a map adds to the name of a line.
fn map_suffix(entries: usize) -> String {
    if entries == 0 { ", no map".to_owned() } else { format!(", {entries}-entry map") }
}

fn ours_over_memcpy(rows: &[&Row]) {
    heading("ours / memcpy");
    let mut classes: BTreeMap<(usize, Class), Vec<f64>> = BTreeMap::new();
    for row in rows {
        classes.entry((row.case.map.len(), row.case.class())).or_default().push(row.ratio());
    }
    for entries in [0, 1, 2, LONG_MAP] {
        let core: Vec<f64> = rows
            .iter()
            .filter(|row| row.case.is_core() && row.case.map.len() == entries)
            .map(|row| row.ratio())
            .collect();
        let suffix = map_suffix(entries);
        line(&format!("all core pairs{suffix}"), &core);
        for ((_, class), ratios) in classes.iter().filter(|((e, _), _)| *e == entries) {
            line(&format!("  {}{suffix}", class.name()), ratios);
        }
    }
}

fn ours_over_peers(rows: &[&Row]) {
    heading("ours / peer");
    let mut peers: BTreeMap<(&str, usize), Vec<f64>> = BTreeMap::new();
    for row in rows {
        for peer in &row.peers {
            let ratios = peers.entry((peer.name, row.case.map.len())).or_default();
            ratios.push(row.ours.gbps / peer.gbps);
        }
    }
    for ((peer, entries), ratios) in &peers {
        line(&format!("  {peer}{}", map_suffix(*entries)), ratios);
    }
}

/// The measures that the project has set itself goals for.
fn asked(rows: &[Row], medium: &[&Row], call: usize, large: usize) {
    let ratios = |rows: &mut dyn Iterator<Item = &Row>| rows.map(Row::ratio).collect::<Vec<_>>();
    heading("measures with goals (ratios, 65,536 elements)");
    let core = |entries: usize| {
        let is = move |row: &&Row| row.case.is_core() && row.case.map.len() == entries;
        medium.iter().copied().filter(is)
    };
    line("all core pairs / memcpy, no map", &ratios(&mut core(0)));
    line("all core pairs / memcpy, 1-entry map", &ratios(&mut core(1)));
    let plain =
        |row: &Row| core(0).find(|plain| row.name.starts_with(&format!("{}/map", plain.name)));
    let longer = core(LONG_MAP).filter_map(|row| Some(row.ours.gbps / plain(row)?.ours.gbps));
    line("core pairs, 8 entries / the cast without", &longer.collect::<Vec<_>>());
    let against = |name: &'static str, is: &dyn Fn(&Row) -> bool| -> Vec<f64> {
        let rows = medium.iter().filter(|row| is(row));
        rows.flat_map(|row| {
            let peers = row.peers.iter().filter(|peer| peer.name == name);
            peers.map(|peer| row.ours.gbps / peer.gbps)
        })
        .collect()
    };
    let short = |row: &&Row| {
        let Case { source, target, rounding, out_of_range, map, affine } = &row.case;
        let modes = match out_of_range {
            OutOfRange::Error => map.is_empty(),
            OutOfRange::Clamp => map.len() <= 1,
            _ => false,
        };
        [ElementType::Float32, ElementType::Float64].contains(source)
            && target.is_integer()
            && matches!(target.bits(), 8 | 16)
            && *rounding == Rounding::NearestEven
            && *affine == Scaling::None
            && modes
    };
    line(
        "f32, f64 -> 8, 16 bits: error, clamp, clamp + NaN",
        &ratios(&mut medium.iter().copied().filter(short)),
    );
    line("/ zarr-cast-value", &against("zarr-cast-value", &|row| row.case.map.len() < LONG_MAP));
    line(
        "error mode / ipp, nearest-even casts",
        &against("ipp", &|row| row.case.is_core() && row.case.is_default()),
    );
    line(
        "nearest-away float -> int / ipp",
        &against("ipp", &|row| {
            row.case.rounding == Rounding::NearestAway
                && row.case.source.is_float()
                && row.case.target.is_integer()
                && row.case.affine == Scaling::None
        }),
    );
    for affine in [Scaling::Encode, Scaling::Decode] {
        let narrow = ["uint8", "int16"];
        let is = |row: &&Row| {
            row.case.affine == affine
                && row.case.map.is_empty()
                && row.case.rounding == Rounding::NearestEven
                && row.case.out_of_range != OutOfRange::Wrap
                && (narrow.contains(&row.case.source.name())
                    || narrow.contains(&row.case.target.name()))
        };
        let what = format!("{}, f32 and f64 with u8 and i16 / memcpy", affine.name());
        line(&what, &ratios(&mut medium.iter().copied().filter(is)));
    }
    line(
        "16 Mi elements, all core pairs / memcpy",
        &ratios(
            &mut rows
                .iter()
                .filter(|row| row.n == large && row.case.is_core() && row.case.is_default()),
        ),
    );
    let small: Vec<f64> = medium
        .iter()
        .filter(|row| {
            row.case.map.is_empty()
                && matches!(row.case.class(), Class::Minifloat | Class::SubByte | Class::BFloat16)
        })
        .map(|row| row.giga_elements())
        .collect();
    line("minifloat, bfloat16, sub-byte: 10^9 elements/s", &small);
    let mut calls: Vec<&Row> = rows.iter().filter(|row| row.n == call).collect();
    calls.sort_by(|a, b| b.nanoseconds().total_cmp(&a.nanoseconds()));
    if let Some(slowest) = calls.first() {
        println!(
            "a bound plan on {call} elements: geomean {:.1} ns, slowest {:.1} ns ({})",
            geomean(calls.iter().map(|row| row.nanoseconds())),
            slowest.nanoseconds(),
            slowest.name
        );
    }
}

fn extremes(medium: &[&Row]) {
    let mut worst: Vec<&Row> = medium.to_vec();
    worst.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
    println!("\nThe ten rows furthest below memcpy:");
    for row in worst.iter().take(10) {
        print_row(row);
    }

    let wins = |row: &&&Row| row.peers.iter().any(|peer| peer.gbps > row.ours.gbps);
    let lost: Vec<&&Row> = medium.iter().filter(wins).collect();
    println!("\nRows in which a peer is faster ({} of {}):", lost.len(), medium.len());
    for row in lost {
        print_row(row);
    }
}

/// The peers that do not write what the reference does, for elements in range.
fn other_bits(rows: &[Row]) {
    let mut peers: BTreeMap<&str, Vec<(&Row, &str)>> = BTreeMap::new();
    for row in rows {
        for peer in &row.peers {
            if let Some(wrong) = &peer.wrong {
                peers.entry(peer.name).or_default().push((row, wrong));
            }
        }
    }
    if !peers.is_empty() {
        println!("\nPeers with other bits than the reference on the same data (* above):");
    }
    for (peer, wrong) in peers {
        println!("{peer}: {} rows, for instance", wrong.len());
        let mut shown = HashSet::new();
        for (row, why) in wrong {
            if shown.insert((row.case.source, row.case.target)) && shown.len() <= 12 {
                println!("  {} ({} elements): {why}", row.name, row.n);
            }
        }
    }
}

/// `unusual.csv`: a line for each case, level and kind of unusual elements.
pub(crate) fn unusual_csv(rows: &[unusual::Row], path: &Path) -> Result<(), Error> {
    let mut csv = csv::Writer::from_path(path)?;
    csv.write_record(["case", "class", "level", "kind", "few", "few_is", "all", "all_is"])?;
    for row in rows {
        let [(few, few_is), (all, all_is)] = [row.few, row.all]
            .map(|cost| (format!("{:.3}", cost.times), format!("{:?}", cost.element)));
        let (class, kind) = (row.class.name(), row.kind.name());
        csv.write_record([&row.name, class, row.level, kind, &few, &few_is, &all, &all_is])?;
    }
    Ok(csv.flush()?)
}

/// Prints a table of the kinds of unusual elements by level, another by class of cases, and the rows
/// that miss the goals; every row if asked for.
pub(crate) fn unusual(rows: &[unusual::Row], every_row: bool) {
    let levels: BTreeSet<&str> = rows.iter().map(|row| row.level).collect();
    let kinds: BTreeSet<unusual::Kind> = rows.iter().map(|row| row.kind).collect();
    let classes: BTreeSet<Class> = rows.iter().map(|row| row.class).collect();
    let worst = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
    let columns = |names: Vec<String>| {
        println!("\n| elements | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()));
    };
    let print = |kind: unusual::Kind, cells: Vec<String>| {
        println!("| {} | {} |", kind.name(), cells.join(" | "));
    };

    let names =
        levels.iter().flat_map(|level| [format!("{level}, 1 %"), format!("{level}, 100 %")]);
    columns(names.collect());
    for &kind in &kinds {
        let cells = levels.iter().flat_map(|level| {
            let chosen: Vec<_> =
                rows.iter().filter(|row| row.kind == kind && row.level == *level).collect();
            let few: Vec<f64> = chosen.iter().map(|row| row.few.times).collect();
            let all: Vec<f64> = chosen.iter().map(|row| row.all.times).collect();
            [few, all].map(|times| {
                format!("{:.2}, worst {:.2}", geomean(times.iter().copied()), worst(&times))
            })
        });
        print(kind, cells.collect());
    }

    columns(classes.iter().map(|class| class.name().to_owned()).collect());
    for &kind in &kinds {
        let cells = classes.iter().map(|&class| {
            let chosen = rows.iter().filter(|row| row.kind == kind && row.class == class);
            let few: Vec<f64> = chosen.map(|row| row.few.times).collect();
            if few.is_empty() { String::new() } else { format!("{:.2}", worst(&few)) }
        });
        print(kind, cells.collect());
    }

    let (few, all) = unusual::GOALS;
    let is_slow = |row: &&unusual::Row| row.few.times > few || row.all.times > all;
    let mut slow: Vec<_> = rows.iter().filter(is_slow).collect();
    println!("\n{} of {} rows above {few} or {all} times.", slow.len(), rows.len());
    let excess = |row: &unusual::Row| (row.few.times / few).max(row.all.times / all);
    slow.sort_by(|a, b| excess(b).total_cmp(&excess(a)));
    let shown = if every_row { rows.iter().collect() } else { slow };
    for row in shown {
        println!(
            "{:<54} {:<7} {:<28} 1 %: {:>7.2} ({:?}), 100 %: {:>7.2} ({:?})",
            row.name,
            row.level,
            row.kind.name(),
            row.few.times,
            row.few.element,
            row.all.times,
            row.all.element
        );
    }
}

/// `alignments.csv`: a line for each case and level.
pub(crate) fn alignments_csv(rows: &[alignments::Row], path: &Path) -> Result<(), Error> {
    let mut csv = csv::Writer::from_path(path)?;
    let distances = alignments::DISTANCES.map(|distance| distance.to_string());
    csv.write_record(
        ["case", "class", "level"].into_iter().chain(distances.each_ref().map(String::as_str)),
    )?;
    for row in rows {
        let times = row.times.map(|time| format!("{time:.3}"));
        let names = [row.name.as_str(), row.class.name(), row.level];
        csv.write_record(names.into_iter().chain(times.each_ref().map(String::as_str)))?;
    }
    Ok(csv.flush()?)
}

/// Prints a table of the distances by level, and the rows with the slowest places; every row if asked for.
pub(crate) fn alignments(rows: &[alignments::Row], every_row: bool) {
    let levels: BTreeSet<&str> = rows.iter().map(|row| row.level).collect();
    let names = alignments::DISTANCES.map(|distance| distance.to_string()).join(" | ");
    println!("\n| output − input | {names} |\n|---|{}", "---|".repeat(alignments::DISTANCES.len()));
    for level in levels {
        let cells: Vec<String> = (0..alignments::DISTANCES.len())
            .map(|place| {
                let chosen = rows.iter().filter(|row| row.level == level);
                let times: Vec<f64> = chosen.map(|row| row.times[place]).collect();
                let mean = geomean(times.iter().copied());
                format!("{mean:.2}, worst {:.2}", alignments::slowest(&times))
            })
            .collect();
        println!("| {level} | {} |", cells.join(" | "));
    }
    println!();
    let mut slowest: Vec<_> = rows.iter().collect();
    slowest.sort_by(|a, b| alignments::slowest(&b.times).total_cmp(&alignments::slowest(&a.times)));
    for row in slowest.into_iter().take(if every_row { usize::MAX } else { 10 }) {
        let times = row.times.map(|time| format!("{time:>6.2}")).join(" ");
        println!("{:<54} {:<7} {times}", row.name, row.level);
    }
}

/// Draws ours / memcpy for each pair of core types, without and with a map, as SVG.
pub(crate) fn heat_map(rows: &[Row], n: usize, path: &Path) -> Result<(), Error> {
    const CELL: i32 = 44;
    const LEFT: i32 = 90;
    const TOP: i32 = 110;
    let side = LEFT + CORE.len() as i32 * CELL + 20;
    let height = TOP + CORE.len() as i32 * CELL + 20;
    let root = SVGBackend::new(path, (2 * side as u32, height as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    let (left, right) = root.split_horizontally(side);
    for (area, mapped, title) in
        [(left, false, "without a map"), (right, true, "with a map of one entry")]
    {
        let font = ("sans-serif", 13).into_font();
        area.draw(&Text::new(
            format!("GB/s over that of memcpy, {n} elements, {title}"),
            (LEFT, 10),
            ("sans-serif", 16).into_font(),
        ))?;
        area.draw(&Text::new("rows: from, columns: to", (LEFT, 32), font.clone()))?;
        for (place, element_type) in CORE.into_iter().enumerate() {
            let offset = place as i32 * CELL;
            area.draw(&Text::new(element_type.name(), (10, TOP + offset + 15), font.clone()))?;
            area.draw(&Text::new(
                element_type.name(),
                (LEFT + offset + 15, TOP - 8),
                font.transform(FontTransform::Rotate270),
            ))?;
        }
        for (down, source) in CORE.into_iter().enumerate() {
            for (across, target) in CORE.into_iter().enumerate() {
                let mean = geomean(
                    rows.iter()
                        .filter(|row| {
                            row.n == n
                                && row.case.is_core()
                                && (row.case.source, row.case.target) == (source, target)
                                && row.case.map.is_empty() != mapped
                                && row.case.map.len() < LONG_MAP
                        })
                        .map(Row::ratio),
                );
                if mean.is_nan() {
                    continue;
                }
                let (x, y) = (LEFT + across as i32 * CELL, TOP + down as i32 * CELL);
                let cell = [(x, y), (x + CELL - 1, y + CELL - 1)];
                area.draw(&Rectangle::new(cell, shade(mean).filled()))?;
                area.draw(&Text::new(format!("{mean:.2}"), (x + 9, y + 15), font.clone()))?;
            }
        }
    }
    root.present()?;
    Ok(())
}

/// From red (0.1 of memcpy and less) through yellow to green (memcpy and more), by the logarithm.
fn shade(ratio: f64) -> HSLColor {
    let part = (1.0 + ratio.log10()).clamp(0.0, 1.0);
    HSLColor(part / 3.0, 0.6, 0.7)
}
