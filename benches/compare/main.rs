//! Every cast of the matrix beside its peers and beside memcpy, measured in one run.
//!
//! `cargo bench --bench compare -- --help` lists the options; `docs/performance.md` says how to read
//! the results.

mod alignments;
mod cases;
mod measure;
mod peers;
mod report;
mod unusual;

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use recast_kernels::Level;

use crate::cases::{Case, Scaling};
use crate::measure::{Budget, Buffers, measure};

type Error = Box<dyn std::error::Error>;

/// Measures every cast beside its peers and beside memcpy.
#[derive(Parser)]
#[command(name = "compare")]
#[allow(clippy::struct_excessive_bools)] // switches of a command line
struct Options {
    /// Only 65,536 elements, in less than a minute
    #[arg(long)]
    quick: bool,
    /// Only the cases whose name contains this, for instance float32-uint8/nearest-even
    #[arg(long, value_name = "SUBSTR", default_value = "")]
    filter: String,
    /// All cases with 16 Mi elements, not only those without options
    #[arg(long)]
    all_large: bool,
    /// Every row on standard output, not only in the CSV
    #[arg(long)]
    rows: bool,
    /// Instead: what unusual elements cost, on every level with vectors
    #[arg(long)]
    unusual: bool,
    /// Instead: what the place of the output in memory costs, on every level with vectors
    #[arg(long, conflicts_with = "unusual")]
    alignments: bool,
    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

const SMALL: usize = 4_096;
const MEDIUM: usize = 65_536;
const LARGE: usize = 16 << 20;
/// What a chunk of a handful of elements costs: the price of a call.
const CALL: usize = 16;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("compare: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every output was right.
fn run(options: &Options) -> Result<bool, Error> {
    let started = Instant::now();
    let mut cases = cases::all();
    if options.unusual {
        cases.extend(cases::for_unusual_elements());
    }
    cases.retain(|case| case.name().contains(&options.filter));
    if cases.is_empty() {
        return Err(format!("no case's name contains {:?}", options.filter).into());
    }
    let folder = target_folder().join("compare");
    std::fs::create_dir_all(&folder)?;
    if options.unusual {
        return unusual_elements(&cases, options, &folder);
    }
    if options.alignments {
        return alignments_of(&cases, options, &folder);
    }
    let peers = peers::all()?;
    let mut csv = report::Csv::create(&folder.join("compare.csv"))?;
    let mut rows = Vec::new();
    let watched = std::io::stderr().is_terminal();

    let sizes: &[usize] =
        if options.quick { &[CALL, MEDIUM] } else { &[CALL, SMALL, MEDIUM, LARGE] };
    for &n in sizes {
        let budget = Budget::new(n, options.quick);
        let mut buffers = Buffers::new(n);
        let plain =
            |case: &&Case| case.is_default() && (case.is_core() || case.affine != Scaling::None);
        let chosen: Vec<&Case> = match n {
            CALL => cases.iter().filter(plain).collect(),
            LARGE if !options.all_large => cases.iter().filter(plain).collect(),
            _ => cases.iter().collect(),
        };
        let mut shown = Instant::now();
        for (done, case) in chosen.iter().enumerate() {
            let row = measure(case, n, &mut buffers, &peers, &budget)?;
            csv.write(&row)?;
            rows.push(row);
            if watched && shown.elapsed() > Duration::from_secs(1) {
                shown = Instant::now();
                eprint!("\r{n} elements: {done} of {} ", chosen.len());
                std::io::stderr().flush()?;
            }
        }
        let start_of_line = if watched { "\r" } else { "" };
        eprintln!(
            "{start_of_line}{n} elements: {} cases, {:.0?} so far",
            chosen.len(),
            started.elapsed()
        );
    }
    csv.finish()?;
    report::heat_map(&rows, MEDIUM, &folder.join("heatmap.svg"))?;
    report::print(&rows, options.rows || rows.len() <= 60, MEDIUM, CALL, LARGE);
    println!("\n{:.0?}; all rows in {}", started.elapsed(), folder.join("compare.csv").display());

    let wrong: Vec<_> =
        rows.iter().filter_map(|row| row.ours.wrong.as_ref().map(|why| (row, why))).collect();
    for (row, why) in &wrong {
        println!("WRONG OUTPUT: {} with {} elements: {why}", row.name, row.n);
    }
    Ok(wrong.is_empty())
}

/// Measures the cases on every level with vectors, and with unusual elements; whether every output was right.
fn unusual_elements(cases: &[Case], options: &Options, folder: &Path) -> Result<bool, Error> {
    let started = Instant::now();
    let mut inputs = unusual::Inputs::new(MEDIUM);
    let mut rows = Vec::new();
    for level in levels()? {
        for case in cases {
            rows.extend(unusual::measure(case, level, &mut inputs)?);
        }
        eprintln!("{level}: {} cases, {:.0?} so far", cases.len(), started.elapsed());
    }
    let path = folder.join("unusual.csv");
    report::unusual_csv(&rows, &path)?;
    report::unusual(&rows, options.rows || cases.len() <= 20);
    println!("\n{:.0?}; all rows in {}", started.elapsed(), path.display());
    let mut wrong = rows.iter().filter_map(|row| Some((row, row.wrong.as_ref()?))).peekable();
    let right = wrong.peek().is_none();
    for (row, why) in wrong {
        println!("WRONG OUTPUT: {} on {}, {}: {why}", row.name, row.level, row.kind.name());
    }
    Ok(right)
}

/// Measures the cases on every level with vectors, with the output at several places; whether every output was right.
fn alignments_of(cases: &[Case], options: &Options, folder: &Path) -> Result<bool, Error> {
    let started = Instant::now();
    let mut places = alignments::Places::new(MEDIUM);
    let mut rows = Vec::new();
    for level in levels()? {
        for case in cases {
            rows.push(alignments::measure(case, level, &mut places)?);
        }
        eprintln!("{level}: {} cases, {:.0?} so far", cases.len(), started.elapsed());
    }
    let path = folder.join("alignments.csv");
    report::alignments_csv(&rows, &path)?;
    report::alignments(&rows, options.rows || cases.len() <= 20);
    println!("\n{:.0?}; all rows in {}", started.elapsed(), path.display());
    let wrong: Vec<_> = rows.iter().filter_map(|row| Some((row, row.wrong.as_ref()?))).collect();
    for (row, why) in &wrong {
        println!("WRONG OUTPUT: {} on {}: {why}", row.name, row.level);
    }
    Ok(wrong.is_empty())
}

/// The levels that are compared: the one that `RECAST_LEVEL` names, or else all with vectors.
fn levels() -> Result<Vec<Level>, Error> {
    if let Some(level) = Level::forced()? {
        return Ok(vec![level]);
    }
    Ok(Level::available().into_iter().filter(|&level| level != Level::Scalar).collect())
}

/// The build's folder, above this executable's: `target/release/deps/compare-…`.
fn target_folder() -> PathBuf {
    let executable = std::env::current_exe().unwrap_or_default();
    executable.ancestors().nth(3).map_or_else(|| PathBuf::from("target"), PathBuf::from)
}
