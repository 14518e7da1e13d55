//! `recast verify` and `recast compare`: two arrays of the same shape, element by element, whatever
//! their types, chunks and codecs.

use anyhow::{Context, Result, bail};
use recast_kernels::{Cast, ElementType, OutOfRange, Plan, Rounding, Scalar};
use serde_json::{Value, json};

use crate::args::{Compare, Verify, fill_check};
use crate::array::{Region, Source};
use crate::charts::{Charts, Frame, Pieces, gather};
use crate::number::{Number, is_wide};
use crate::page::{PagePlace, page, section};
use crate::report::{Table, count, print};
use crate::survey::survey;
use crate::verify::{Comparison, Demand, Judge};
use crate::work::Workers;

/// `recast compare`.
pub(crate) fn run(arguments: &Compare) -> Result<()> {
    Difference::of(arguments, None)?.show(arguments)
}

/// `recast verify`.
pub(crate) fn verify(arguments: &Verify) -> Result<()> {
    let Verify { atol, rtol, arrays } = arguments;
    let difference = Difference::of(arrays, Some((*atol, *rtol)))?;
    difference.show(arrays)?;
    match &difference.comparison.first_wrong {
        None => Ok(()),
        Some((first, why)) => {
            let comparison = &difference.comparison;
            let worst = comparison.worst.as_ref();
            let worst =
                worst.map(|worst| format!("; worst {worst}: off by {:?}", comparison.sums.max));
            bail!(
                "{}: {} of {} elements differ by more than --atol {atol:?} --rtol {rtol:?} allow; \
                 first {first}: {why}{}",
                arrays.b.display(),
                count(comparison.wrong),
                count(difference.elements),
                worst.unwrap_or_default()
            )
        }
    }
}

/// What was found between two arrays.
struct Difference {
    shape: Vec<u64>,
    elements: u64,
    types: [ElementType; 2],
    comparison: Comparison,
    tolerance: Option<(f64, f64)>,
    /// Smallest and largest element of the first array.
    range: Option<(Scalar, Scalar)>,
}

impl Difference {
    /// Reads both arrays.
    fn of(arguments: &Compare, tolerance: Option<(f64, f64)>) -> Result<Self> {
        let check = fill_check(arguments.accept_fill_value);
        let (a, b) = (Source::open(&arguments.a, check)?, Source::open(&arguments.b, check)?);
        if a.array().shape() != b.array().shape() {
            bail!(
                "{}: the shape is {:?}, that of {} is {:?}; only arrays of one shape can be compared",
                arguments.b.display(),
                b.array().shape(),
                arguments.a.display(),
                a.array().shape()
            );
        }
        let place = PagePlace::of(arguments.report.as_deref(), arguments.overwrite)?;
        let workers = Workers::new(arguments.threads, !arguments.quiet)?;
        let survey = survey(&a, &workers)?;
        let (absolute, relative) = tolerance.unwrap_or((f64::INFINITY, 0.0));
        let demand = Demand {
            absolute,
            relative,
            name: "the tolerance",
            fill_is_apart: false,
            allow_collisions: false,
        };
        let types = [a.element_type(), b.element_type()];
        let common = common(types)?;
        let pair = Pair::new(&a, &b, common)?;
        let comparison = if is_wide(common) {
            pair.compare::<i128>(demand, &workers)?
        } else {
            pair.compare::<f64>(demand, &workers)?
        };
        let difference = Self {
            shape: a.array().shape().to_vec(),
            elements: a.elements() as u64,
            types,
            comparison,
            tolerance,
            range: survey.range,
        };
        if let Some(mut place) = place {
            let charts = pair.charts(&difference, &workers)?;
            let title =
                format!("{} compared with {}", arguments.b.display(), arguments.a.display());
            place.write(&page(&title, &section(&difference.to_table(), &charts)?))?;
            place.commit()?;
        }
        Ok(difference)
    }

    fn show(&self, arguments: &Compare) -> Result<()> {
        print(arguments.json, arguments.quiet, || self.to_json(arguments), || self.to_table())
    }

    fn extent(&self) -> Option<f64> {
        let (least, greatest) = self.range?;
        Some(greatest.to_f64() - least.to_f64())
    }

    fn to_table(&self) -> Table {
        let mut table = Table::default();
        let [a, b] = self.types;
        table.row("shape", format!("{:?}", self.shape));
        table.row("types", if a == b { a.to_string() } else { format!("{a} and {b}") });
        if let Some((least, greatest)) = self.range {
            table.row("range", format!("{least} to {greatest}"));
        }
        let comparison = &self.comparison;
        table.row("elements", count(self.elements));
        for (label, number) in [
            ("NaN", comparison.sums.nan),
            ("infinite", comparison.sums.infinite),
            ("fill", comparison.sums.fill),
            ("NaN in B only", comparison.sums.became_nan),
        ] {
            if number > 0 {
                table.row(label, count(number));
            }
        }
        comparison.rows(&mut table, "", self.extent());
        if self.tolerance.is_some() {
            table.row("over", count(comparison.wrong));
        }
        table
    }

    fn to_json(&self, arguments: &Compare) -> Value {
        let comparison = &self.comparison;
        let [a, b] = self.types;
        json!({
            "a": arguments.a.display().to_string(),
            "b": arguments.b.display().to_string(),
            "shape": self.shape,
            "data_types": [a.name(), b.name()],
            "tolerance": self.tolerance.map(|(atol, rtol)| json!({"atol": atol, "rtol": rtol})),
            "counts": {
                "elements": self.elements,
                "compared": comparison.sums.elements,
                "nan": comparison.sums.nan,
                "infinite": comparison.sums.infinite,
                "fill": comparison.sums.fill,
                "became_nan": comparison.sums.became_nan,
                "over": self.tolerance.map(|_| comparison.wrong),
            },
            "error": comparison.to_json(self.extent()),
            "first_over": comparison.first_wrong.as_ref().map(|(first, _)| first.to_json()),
        })
    }
}

/// The type in which elements of two types are compared, exactly but for 64-bit integers beside floats.
fn common([a, b]: [ElementType; 2]) -> Result<ElementType> {
    if a == b {
        return Ok(a);
    }
    if !a.is_integer() || !b.is_integer() || !(is_wide(a) || is_wide(b)) {
        return Ok(ElementType::Float64);
    }
    let unsigned = [a, b].into_iter().filter(|one| *one == ElementType::UInt64).count();
    if unsigned == 0 {
        return Ok(ElementType::Int64);
    }
    if a.is_signed() || b.is_signed() {
        bail!("{a} and {b} have no type in common; unpack one of them to another type");
    }
    Ok(ElementType::UInt64)
}

/// To the type in which elements are compared.
fn to_common(from: ElementType, common: ElementType) -> Result<Option<Plan>> {
    if from == common {
        return Ok(None);
    }
    Ok(Some(Plan::builder(from).cast(Cast::new(common)).build()?))
}

fn converted(plan: Option<&Plan>, elements: Vec<u8>) -> Result<Vec<u8>> {
    let Some(plan) = plan else { return Ok(elements) };
    let mut converted = vec![0; elements.len() / plan.source().size() * plan.target().size()];
    plan.run(&elements, &mut converted)?;
    Ok(converted)
}

/// Two arrays whose elements are read in a type that both have in common.
struct Pair<'a> {
    a: &'a Source,
    b: &'a Source,
    from_a: Option<Plan>,
    from_b: Option<Plan>,
    /// The fill value of the first in that type.
    fill: Scalar,
}

impl<'a> Pair<'a> {
    fn new(a: &'a Source, b: &'a Source, common: ElementType) -> Result<Self> {
        let from_a = to_common(a.element_type(), common)?;
        let from_b = to_common(b.element_type(), common)?;
        let fill = a.fill_value().cast(common, Rounding::NearestEven, OutOfRange::Error);
        let fill = fill.ok().context("the fill value has no counterpart in the type of both")?;
        Ok(Self { a, b, from_a, from_b, fill })
    }

    /// A chunk of the first, and the elements of both in it.
    fn read(&self, number: u64) -> Result<(Region, Vec<u8>, Vec<u8>)> {
        let region = self.a.region(number)?;
        let before = converted(self.from_a.as_ref(), self.a.read_or_fill(&region)?)?;
        let after = converted(self.from_b.as_ref(), self.b.read_at(&region)?)?;
        Ok((region, before, after))
    }

    fn compare<N: Number>(&self, demand: Demand, workers: &Workers) -> Result<Comparison> {
        let judge = Judge::<N>::new(self.fill, demand)?.counting();
        let work = |number| {
            let (region, before, after) = self.read(number)?;
            let mut trial = judge.trial(&region);
            trial.add(&before, &after)?;
            Ok(trial.done())
        };
        let mut total = Comparison::default();
        workers.run(self.a.pass("compare"), self.a.chunks(), work, |comparison| {
            total = std::mem::take(&mut total).merge(comparison);
            Ok(())
        })?;
        Ok(total)
    }

    fn charts(&self, difference: &Difference, workers: &Workers) -> Result<Charts> {
        let ends = difference.range.map(|(least, greatest)| (least.to_f64(), greatest.to_f64()));
        let frame = Frame {
            fill_value: self.fill,
            shape: difference.shape.clone(),
            values: ends.unwrap_or_default(),
            codes: None,
            max_error: difference.comparison.sums.max,
        };
        gather(&frame, workers, self.a.chunks(), |number| {
            let (region, before, after) = self.read(number)?;
            Ok(Some((region, Pieces { before, after, codes: None })))
        })
    }
}
