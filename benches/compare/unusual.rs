//! What unusual but legal elements cost: the time of a run in which 1 % or all of the elements are of one
//! kind, over the time of a run on ordinary ones.

use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
use recast_kernels::{ElementType, Format, Level, OutOfRange, Plan, Scalar, Step, reference};

use crate::Error;
use crate::cases::{Case, Class, Scaling, constant};
use crate::measure::{Buffers, call, difference, expected, in_turns};

/// One element of so many is unusual, or all are.
const ONE_IN: usize = 100;

/// The most that they may cost, few and all: what the project has set itself as a goal.
pub(crate) const GOALS: (f64, f64) = (2.0, 10.0);

/// Why an element is unusual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Infinity,
    Nan,
    Key,
    Clamped,
    Wrapped,
    Subnormal,
    SubnormalResult,
    NegativeZero,
    /// Inside the range of the target, but no further from its end than rounding reaches.
    RangeEdge,
}

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Infinity => "infinity",
            Self::Nan => "NaN",
            Self::Key => "another key of the map",
            Self::Clamped => "clamped",
            Self::Wrapped => "wrapped",
            Self::Subnormal => "subnormal",
            Self::SubnormalResult => "subnormal or 0 as the result",
            Self::NegativeZero => "−0",
            Self::RangeEdge => "at the range's edge",
        }
    }
}

/// A case with elements of one kind among ordinary ones.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) class: Class,
    pub(crate) level: &'static str,
    pub(crate) kind: Kind,
    /// With few of them, and with them alone.
    pub(crate) few: Cost,
    pub(crate) all: Cost,
    /// The first wrong element or the failure, if there was one.
    pub(crate) wrong: Option<String>,
}

/// The element that costs most of its kind, and the time with it over the time without.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) element: Scalar,
    pub(crate) times: f64,
}

/// Inputs of ordinary elements, of these with few unusual ones among them, and of unusual ones alone; and
/// an output.
pub(crate) struct Inputs {
    ordinary: Buffers,
    few: Buffers,
    all: Buffers,
    /// Where the few are.
    places: Vec<usize>,
    n: usize,
}

impl Inputs {
    pub(crate) fn new(n: usize) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(0x5EED);
        let places =
            (0..n / ONE_IN).map(|block| block * ONE_IN + random.random_range(0..ONE_IN)).collect();
        let [ordinary, few, all] = [(); 3].map(|()| Buffers::new(n));
        Self { ordinary, few, all, places, n }
    }

    fn fill_ordinary(&mut self, case: &Case) {
        let bytes = self.n * case.source.size();
        let (ordinary, _) = self.ordinary.bytes();
        Case { map: Vec::new(), ..case.clone() }.fill(&mut ordinary[..bytes]);
        let (few, _) = self.few.bytes();
        few[..bytes].copy_from_slice(&ordinary[..bytes]);
    }

    fn put_few(&mut self, element: Scalar) -> &[u8] {
        let (size, bytes) = (element.element_type().size(), element.to_ne_bytes());
        let (few, _) = self.few.bytes();
        for place in &self.places {
            few[place * size..][..size].copy_from_slice(&bytes);
        }
        &few[..self.n * size]
    }

    fn put_all(&mut self, element: Scalar) -> &[u8] {
        let (size, bytes) = (element.element_type().size(), element.to_ne_bytes());
        let (all, _) = self.all.bytes();
        for place in all[..self.n * size].chunks_exact_mut(size) {
            place.copy_from_slice(&bytes);
        }
        &all[..self.n * size]
    }
}

/// Measures a case on a level with every kind of unusual element that it has.
pub(crate) fn measure(case: &Case, level: Level, inputs: &mut Inputs) -> Result<Vec<Row>, Error> {
    let name = case.name();
    let plan = case.plan(level).map_err(|error| format!("{name}: {error}"))?;
    inputs.fill_ordinary(case);
    let mut output = vec![0; inputs.n * case.target.size()];
    let mut kinds: Vec<(Kind, Vec<Scalar>)> = Vec::new();
    for element in candidates(case) {
        let Some(kind) = kind(case, element) else { continue };
        match kinds.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, elements)) => elements.push(element),
            None => kinds.push((kind, vec![element])),
        }
    }
    kinds.sort_by_key(|&(kind, _)| kind);
    let mut rows = Vec::new();
    for (kind, elements) in kinds {
        let mut slowest = [(elements[0], 0.0); 2];
        for element in elements {
            let few = glance(&plan, inputs.put_few(element), &mut output);
            let all = glance(&plan, inputs.put_all(element), &mut output);
            for (slowest, time) in slowest.iter_mut().zip([few, all]) {
                if time > slowest.1 {
                    *slowest = (element, time);
                }
            }
        }
        let [few, all] = slowest.map(|(element, _)| element);
        let (few_input, all_input) = {
            inputs.put_few(few);
            inputs.put_all(all);
            let bytes = inputs.n * case.source.size();
            (&inputs.few.bytes().0[..bytes], &inputs.all.bytes().0[..bytes])
        };
        let ordinary = &inputs.ordinary.bytes().0[..few_input.len()];
        let times = ratios(&plan, [ordinary, few_input, all_input], &mut output);
        let mut check = |input: &[u8]| {
            output.fill(0xA5);
            if let Err(error) = plan.run(input, &mut output) {
                return Some(error.to_string());
            }
            difference(case, &expected(case, inputs.n, input, 1024), input, &output)
        };
        let wrong = check(few_input).or_else(|| check(all_input));
        rows.push(Row {
            name: name.clone(),
            class: case.class(),
            level: level.name(),
            kind,
            few: Cost { element: few, times: times[0] },
            all: Cost { element: all, times: times[1] },
            wrong,
        });
    }
    Ok(rows)
}

/// The seconds of a call: enough to see which of many elements costs most.
fn glance(plan: &Plan, input: &[u8], output: &mut [u8]) -> f64 {
    const LONG: f64 = 1e-4;
    let mut best = f64::INFINITY;
    for turn in 1..=3 {
        best = best.min(call(plan, input, output, 1));
        // Twice, for the first one may have been interrupted.
        if turn == 2 && best > LONG {
            break;
        }
    }
    best
}

/// The time with each of the other inputs over that with the first, in turns.
fn ratios(plan: &Plan, inputs: [&[u8]; 3], output: &mut [u8]) -> [f64; 2] {
    let ratios = |[ordinary, few, all]: [f64; 3]| [few / ordinary, all / ordinary];
    let is_settled = |best: &[f64; 3]| {
        let [few, all] = ratios(*best);
        few < 0.9 * GOALS.0 && all < 0.9 * GOALS.1
    };
    ratios(in_turns(|at, calls| call(plan, inputs[at], output, calls), is_settled))
}

/// The kind of an element that passes, if it is unusual.
fn kind(case: &Case, element: Scalar) -> Option<Kind> {
    let steps = case.steps();
    reference::run(element, &steps, 0).ok()?;
    // What the cast to or from the integer gives, without what comes after it.
    let place_of_cast = match case.affine {
        Scaling::EncodeInFloat64 => steps.len() - 1,
        Scaling::None | Scaling::Encode | Scaling::Decode | Scaling::DecodeInFloat64 => {
            steps.iter().position(|step| matches!(step, Step::Cast(_)))?
        }
    };
    let result = reference::run(element, &steps[..=place_of_cast], 0).ok()?;
    let checked = Case { out_of_range: OutOfRange::Error, ..case.clone() };
    let is_in_range = reference::run(element, &checked.steps()[..=place_of_cast], 0).is_ok();
    let is_key = || case.map.iter().any(|(key, _)| key.equals(element));
    let is_at_edge = || {
        [Scalar::min(case.target), Scalar::max(case.target)]
            .into_iter()
            .any(|end| (result.to_f64() - end.to_f64()).abs() <= 3.0 * unit(end))
            || [Scalar::min(case.source), Scalar::max(case.source)].contains(&element)
    };
    match case.out_of_range {
        _ if element.is_nan() => Some(Kind::Nan),
        _ if !case.scales_first() && is_key() => Some(Kind::Key),
        _ if !element.is_finite() => Some(Kind::Infinity),
        OutOfRange::Wrap if !is_in_range => Some(Kind::Wrapped),
        _ if !is_in_range => Some(Kind::Clamped),
        _ if element.is_zero() => (element.bits() != 0).then_some(Kind::NegativeZero),
        _ if is_subnormal(element) => Some(Kind::Subnormal),
        _ if is_subnormal(result) || case.target.is_float() && result.is_zero() => {
            Some(Kind::SubnormalResult)
        }
        _ => is_at_edge().then_some(Kind::RangeEdge),
    }
}

/// From the end of a type's range to the value before it.
fn unit(end: Scalar) -> f64 {
    if end.element_type().is_integer() {
        return 1.0;
    }
    (end.to_f64() - neighbour(end, -1).to_f64()).abs()
}

fn is_subnormal(element: Scalar) -> bool {
    match element.element_type().format() {
        Format::Float(float) => {
            let least = 2_f64.powi(float.min_exponent());
            !element.is_zero() && element.to_f64().abs() < least
        }
        _ => false,
    }
}

/// Elements that may be unusual for this case: special ones, and those about the ends of the target's range.
fn candidates(case: &Case) -> Vec<Scalar> {
    let Case { source, target, .. } = *case;
    let mut elements: Vec<Scalar> = case.map.iter().map(|(key, _)| *key).collect();
    if let Some(nan) = Scalar::nan(source) {
        let sign = 1 << (source.bits() - 1);
        let payload = [nan.bits() | 1, nan.bits() | sign];
        elements.extend(payload.map(|bits| Scalar::from_bits(source, bits)));
        elements.push(nan);
    }
    elements.extend([false, true].into_iter().filter_map(|sign| Scalar::infinity(source, sign)));
    elements.extend([Scalar::min(source), Scalar::max(source)]);
    if source.is_float() {
        // The least subnormals, and the greatest.
        elements.extend((1..4).map(|bits| Scalar::from_bits(source, bits)));
        elements.push(neighbour(constant(least_normal(source), source), -1));
        elements.push(constant(-0.0, source));
    }

    let mut values = Vec::new();
    if target.is_float() {
        let (normal, subnormal) = (least_normal(target), Scalar::from_bits(target, 1).to_f64());
        values.extend([0.3, 0.5, 0.75, 1.0, 1.5, 3.0].map(|times| subnormal * times));
        values.extend([0.5, 0.77, 0.999_999, 1.0].map(|times| normal * times));
    }
    for end in [Scalar::min(target), Scalar::max(target)] {
        let outward = end.to_f64().signum();
        let steps = [-2.0, -1.0, -0.5, 0.0, 0.002, 0.1, 0.25, 0.4, 0.498, 0.499_999];
        let further = [0.5, 0.502, 0.75, 0.9, 0.998, 1.0, 2.0, 100.0];
        // Of an unsigned type's least value, 0, it is the negatives that are outside.
        let outward = if end.to_f64() == 0.0 { -1.0 } else { outward };
        values.extend(
            steps.iter().chain(&further).map(|step| end.to_f64() + outward * step * unit(end)),
        );
        values.extend([1.5, 1000.0].map(|times| end.to_f64() * times));
    }
    values.extend([31, 32, 53, 63, 64, 127, 128, 500].map(|exponent| 2_f64.powi(exponent)));
    for value in values {
        // What becomes the value; `constant` adds the offset's part, where there is any.
        for value in [value, -value] {
            let value = case.before_scaling(value);
            let element = constant(value, source);
            // Not the source's own end in place of a value that it does not reach.
            if (element.to_f64() - value).abs() <= value.abs() / 8.0 {
                elements.extend([-1, 0, 1].map(|step| neighbour(element, step)));
            }
        }
    }
    elements.retain(|element| element.element_type() == source);
    elements.sort_by_key(|element| element.bits());
    elements.dedup_by_key(|element| element.bits());
    elements
}

fn least_normal(element_type: ElementType) -> f64 {
    match element_type.format() {
        Format::Float(float) => 2_f64.powi(float.min_exponent()),
        _ => 1.0,
    }
}

/// The element whose bits are so many further.
fn neighbour(element: Scalar, step: i64) -> Scalar {
    let bits = element.bits().wrapping_add_signed(step);
    Scalar::from_bits(element.element_type(), bits)
}
