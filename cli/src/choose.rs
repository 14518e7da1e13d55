//! Which codecs pack an array: candidates from coarse to fine, each bound and checked for the range,
//! the fill value and NaN, so that what remains to be seen is the error of each element.

use anyhow::{Context, Result, bail};
use recast_kernels::{
    ElementType, Format, OutOfRange, Reason, Rounding, Scalar, ScaleOffset as Affine, Specials,
    Step, reference,
};
use zarr_recast::{
    BindOptions, CastValue, Chain, Codec, JsonScalar, ScalarMap, ScaleOffset, fill_value,
};

use crate::args::{NanTo, Pack};
use crate::failure::UsageError;
use crate::number::{integer, is_less, scalar};
use crate::survey::Survey;
use crate::verify::Demand;

/// What is asked for.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // as many flags
pub(crate) struct Request {
    pub(crate) max_abs_error: Option<f64>,
    pub(crate) max_rel_error: Option<f64>,
    /// Values become multiples of this.
    pub(crate) precision: Option<f64>,
    /// Use the whole range of the type.
    pub(crate) auto: bool,
    /// The scale is to be a power of two.
    pub(crate) pow2: bool,
    pub(crate) data_type: Option<ElementType>,
    pub(crate) nan_to: NanTo,
    pub(crate) allow_collisions: bool,
    pub(crate) rounding: Rounding,
    pub(crate) out_of_range: OutOfRange,
    pub(crate) scale: Option<JsonScalar>,
    pub(crate) offset: Option<JsonScalar>,
}

impl Request {
    /// # Errors
    /// A [`UsageError`]: what no array can be packed with.
    pub(crate) fn new(arguments: &Pack) -> Result<Self> {
        let request = Self {
            max_abs_error: arguments.max_abs_error,
            max_rel_error: arguments.max_rel_error,
            precision: arguments.precision,
            auto: arguments.auto,
            pow2: arguments.pow2,
            data_type: arguments.data_type,
            nan_to: arguments.nan_to.clone(),
            allow_collisions: arguments.allow_collisions,
            rounding: arguments.rounding,
            out_of_range: arguments.out_of_range.into(),
            scale: arguments.scale.clone(),
            offset: arguments.offset.clone(),
        };
        request.check()?;
        Ok(request)
    }

    fn check(&self) -> Result<()> {
        let usage = |text: String| Err(UsageError(text).into());
        let target = self.data_type;
        if let (Some(bound), Some(target)) =
            (self.max_rel_error, target.filter(|target| target.is_integer()))
        {
            return usage(format!(
                "--max-rel-error {bound:?} cannot be had with {target}: integers are equally far \
                 apart, so that the smallest values have the largest relative error; use \
                 --max-abs-error, or a floating-point --data-type"
            ));
        }
        if let (Some(step), Some(target)) =
            (self.precision, target.filter(|target| target.is_float()))
        {
            return usage(format!(
                "--precision {step:?} takes an integer type, as the values of {target} are not \
                 equally far apart; leave --data-type out or name an integer type"
            ));
        }
        if let Some(step) = self.precision.filter(|&step| self.pow2 && !is_power_of_two(step)) {
            let near = 2_f64.powi(step.log2().floor() as i32);
            return usage(format!(
                "--precision {step:?} is no power of two, which --pow2 needs; {near:?} is"
            ));
        }
        if self.pow2 && self.is_explicit() {
            return usage("--pow2 needs --max-abs-error, --auto or --precision".to_owned());
        }
        Ok(())
    }

    /// Whether scale and offset are given rather than chosen.
    pub(crate) fn is_explicit(&self) -> bool {
        let has_goal = self.max_abs_error.is_some()
            || self.max_rel_error.is_some()
            || self.precision.is_some()
            || self.auto;
        self.scale.is_some() || self.offset.is_some() || !has_goal
    }

    /// What one stored value to the next is, in units of the largest error of rounding to it.
    fn errors_in_a_step(&self) -> f64 {
        if matches!(self.rounding, Rounding::NearestEven | Rounding::NearestAway) {
            2.0
        } else {
            1.0
        }
    }
}

fn is_power_of_two(number: f64) -> bool {
    number == 2_f64.powi(number.log2().round() as i32)
}

/// Codecs that may pack an array, bound.
#[derive(Clone, Debug)]
pub(crate) struct Packing {
    pub(crate) codecs: Vec<Codec>,
    pub(crate) chain: Chain,
    /// The same chain with `out_of_range` as an error, if it is none in `chain`.
    pub(crate) strict: Option<Chain>,
    pub(crate) offset: Option<Scalar>,
    pub(crate) scale: Option<Scalar>,
    /// The stored value of NaN, if a map gives it one.
    pub(crate) nan: Option<Scalar>,
    /// The fill values that the codecs serve; the chain is bound to the first.
    fills: Vec<Fill>,
    /// Whether the scale is a guess from the sample rather than from the error bound.
    pub(crate) is_guess: bool,
}

/// A fill value of one of the arrays.
#[derive(Clone, Copy, Debug)]
struct Fill {
    value: Scalar,
    way: FillWay,
    is_apart: bool,
}

impl Packing {
    /// The same codecs for an array with another of the fill values.
    pub(crate) fn beside(&self, fill_value: Scalar) -> Result<Self> {
        let mut fills = self.fills.clone();
        fills.sort_by_key(|fill| fill.value != fill_value);
        let chain = bound(self.chain.decoded_type(), fill_value, &self.codecs)?;
        Ok(Self { chain, fills, ..self.clone() })
    }

    /// Whether the fill value goes through a map.
    pub(crate) fn fill_is_mapped(&self) -> bool {
        self.fills.first().is_some_and(|fill| !matches!(fill.way, FillWay::Natural))
    }

    /// Whether the fill value lies outside the data, so that nothing else may decode to it.
    pub(crate) fn fill_is_apart(&self) -> bool {
        self.fills.first().is_some_and(|fill| fill.is_apart)
    }

    /// Whether a first cast replaces a fill value.
    fn fill_is_lifted(&self) -> bool {
        self.fills.iter().any(|fill| matches!(fill.way, FillWay::Lifted(..)))
    }
}

/// Codecs bound to an array's type and fill value; what would only be a warning is an error.
fn bound(element_type: ElementType, fill_value: Scalar, codecs: &[Codec]) -> Result<Chain> {
    let chain = Chain::bind(element_type, Some(fill_value), codecs, &BindOptions::default())?;
    match chain.diagnostics().first() {
        Some(diagnostic) => bail!("{diagnostic}"),
        None => Ok(chain),
    }
}

/// A scale to try.
#[derive(Clone, Copy, Debug)]
struct Lattice {
    scale: Option<Scalar>,
    is_guess: bool,
    /// The type to try it with, if not those that were asked for.
    target: Option<ElementType>,
    /// The offset to try it with, if not those that make the values fit.
    offset: Option<Scalar>,
}

impl Lattice {
    /// A scale that must do by the arithmetic.
    fn of(scale: Option<Scalar>) -> Self {
        Self { scale, is_guess: false, target: None, offset: None }
    }
}

/// Chooses for one array.
pub(crate) struct Chooser<'a> {
    request: &'a Request,
    survey: &'a Survey,
    /// The type in which scale and offset are computed.
    working: ElementType,
    /// Smallest and largest element that counts, in that type.
    least: Scalar,
    greatest: Scalar,
}

/// Where the elements go in the stored type.
#[derive(Clone, Copy, Debug)]
struct Place {
    offset: Option<Scalar>,
    scale: Option<Scalar>,
    target: ElementType,
    is_guess: bool,
}

/// Where the values of a packing go in an unsigned type of its size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    /// How many steps above 0 the smallest value is stored.
    steps: f64,
    /// Whether the offset is a whole number of steps, so that decoded values are multiples of one.
    is_multiple: bool,
}

/// The unsigned type with the size of a packing's.
fn unsigned(packing: &Packing) -> Option<ElementType> {
    let size = packing.chain.encoded_type().size();
    SMALLEST_FIRST.into_iter().flatten().find(|target| target.size() == size)
}

/// How the fill value gets its stored value.
#[derive(Clone, Copy, Debug)]
enum FillWay {
    /// As every element does.
    Natural,
    /// By an entry in the map of the last cast: what reaches that cast, and the stored value.
    Mapped(Scalar, Scalar),
    /// By an entry in the map of a first cast to a value that the data leave free, and from there by
    /// an entry in the map of the last one, if there is a stored value.
    Lifted(Scalar, Option<(Scalar, Scalar)>),
}

/// How many units in the last place a scale is made finer at most; about every second one will do.
const FINER_SCALES: u64 = 32;

/// The floating-point types that a relative error chooses from, smallest first, and of those the
/// most precise.
const FLOATS: [ElementType; 6] = [
    ElementType::Float8E3M4,
    ElementType::Float8E4M3,
    ElementType::Float8E5M2,
    ElementType::Float16,
    ElementType::BFloat16,
    ElementType::Float32,
];

/// The integer types, unsigned before signed.
const SMALLEST_FIRST: [[ElementType; 2]; 4] = [
    [ElementType::UInt8, ElementType::Int8],
    [ElementType::UInt16, ElementType::Int16],
    [ElementType::UInt32, ElementType::Int32],
    [ElementType::UInt64, ElementType::Int64],
];

impl<'a> Chooser<'a> {
    /// # Errors
    /// A request that no codecs can meet, whatever the elements are.
    pub(crate) fn new(request: &'a Request, survey: &'a Survey) -> Result<Self> {
        let source = survey.element_type;
        if source.is_integer()
            && let Some(step) = request.precision.filter(|step| step.fract() != 0.0)
        {
            bail!("--precision {step:?} is no whole number, as all values of {source} are");
        }
        // Integers within less than 1 are integers unchanged; to give up more than that needs
        // fractions of a code.
        let coarse = request.max_abs_error.is_some_and(|bound| bound >= 1.0)
            || request.precision.is_some_and(|step| step > 1.0)
            || Self::spreads_integers(request, survey);
        let fractions = source.is_integer() && coarse && !request.is_explicit();
        let working = if fractions { ElementType::Float64 } else { source };
        let nothing = survey.fill_values.iter().copied().find(|fill| fill.is_finite());
        let nothing = nothing.unwrap_or_else(|| Scalar::zero(source));
        let (least, greatest) = survey.range.unwrap_or((nothing, nothing));
        let work = |value: Scalar| {
            value
                .cast(working, Rounding::NearestEven, OutOfRange::Clamp)
                .map_err(|reason| refused(value, working, reason))
        };
        let (least, greatest) = (work(least)?, work(greatest)?);
        Ok(Self { request, survey, working, least, greatest })
    }

    /// What is demanded of every element.
    pub(crate) fn demand(&self, packing: &Packing) -> Demand {
        let Request { max_abs_error, max_rel_error, precision, .. } = *self.request;
        let (absolute, relative, name) = if let Some(bound) = max_abs_error {
            (bound, 0.0, "--max-abs-error")
        } else if let Some(bound) = max_rel_error {
            (0.0, bound, "--max-rel-error")
        } else if let Some(step) = precision {
            let rounding = 32.0 * unit_roundoff(self.working) * self.magnitude();
            (step / self.request.errors_in_a_step() + rounding, 0.0, "--precision")
        } else {
            (f64::INFINITY, 0.0, "")
        };
        Demand {
            absolute,
            relative,
            name,
            fill_is_apart: packing.fill_is_apart(),
            allow_collisions: self.request.allow_collisions,
        }
    }

    /// The candidates, best first; an item is an error where a scale leads to none.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = Result<Packing>> + '_ {
        // A list, as a scale that cannot even be written is the only candidate's error.
        let lattices: Vec<Result<Lattice>> = match self.lattices() {
            Ok(lattices) => lattices.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        };
        lattices.into_iter().map(|lattice| self.place_without_detour(lattice?))
    }

    /// Whether `--auto` squeezes integers together; those that fit are kept as they are.
    fn spreads_integers(request: &Request, survey: &Survey) -> bool {
        let range = survey
            .range
            .and_then(|(least, greatest)| Some(integer(greatest)?.abs_diff(integer(least)?)));
        let codes = request.data_type.filter(|target| target.is_integer()).map(|target| {
            // Two of them may be needed for NaN and the fill value.
            (1_u128 << target.bits()) - 3
        });
        request.auto && range.zip(codes).is_some_and(|(range, codes)| range > codes)
    }

    /// Other positions of the values in an unsigned type of the same size. How often the high byte of
    /// neighbouring values changes depends on it, and on that what a compressor makes of them.
    pub(crate) fn positions(&self, packing: &Packing, is_precise: bool) -> Vec<Position> {
        let count = self.extent() * packing.scale.map_or(1.0, Scalar::to_f64);
        // At the low end; with the middle of the range at a change of the high byte; and between.
        let centred = (128.0 - count / 2.0).rem_euclid(256.0).round();
        let steps = (0..8).map(|eighth| f64::from(eighth * 32)).chain([centred]);
        let is_multiple = self.takes_multiples(packing);
        let mut positions: Vec<Position> =
            steps.map(|steps| Position { steps, is_multiple }).collect();
        if is_multiple && !is_precise && self.request.precision.is_none() {
            positions.push(Position { steps: 0.0, is_multiple: false });
        }
        positions
    }

    /// Positions that are off by part of a step: where steps begin among the values is luck.
    pub(crate) fn between(position: Position) -> Vec<Position> {
        let eighths =
            (1..8).filter(|_| !position.is_multiple).map(|eighth| f64::from(eighth) / 8.0);
        eighths.map(|shift| Position { steps: position.steps + shift, ..position }).collect()
    }

    /// The scales to try at a position, coarsest first: that of the packing, and for a small array all with
    /// which the bound is kept if the arithmetic rounds less away than it can.
    pub(crate) fn scales_at(
        &self,
        packing: &Packing,
        position: Position,
        is_small: bool,
    ) -> Vec<Scalar> {
        let bound = self.request.max_abs_error.filter(|_| is_small && !position.is_multiple);
        let Some(bound) = bound else { return packing.scale.into_iter().collect() };
        let shares = (0..64).map(|share| f64::from(share) / 64.0);
        let mut scales: Vec<Scalar> = shares
            .filter_map(|share| self.scale_within(bound, self.rounding(share, 2.0 * share)))
            .chain(self.safe_scales(bound))
            .collect();
        scales.dedup();
        scales
    }

    /// A packing with this scale and its values at another position; none if that makes it more
    /// complicated.
    pub(crate) fn moved(
        &self,
        packing: &Packing,
        scale: Scalar,
        position: Position,
    ) -> Option<Packing> {
        let target = unsigned(packing)?;
        let step = 1.0 / scale.to_f64();
        let offset = self.least.to_f64() - position.steps * step;
        let offset = if position.is_multiple { (offset / step).round() * step } else { offset };
        let offset = match self.working_scalar(offset, Rounding::NearestEven) {
            None if offset != 0.0 => return None,
            offset => offset,
        };
        let place = Place { offset, scale: Some(scale), target, is_guess: packing.is_guess };
        self.bind(place).ok().filter(|other| !other.fill_is_lifted())
    }

    /// Whether the values of a packing may be elsewhere in a type.
    pub(crate) fn may_move(&self, packing: &Packing) -> bool {
        let is_fixed = self.request.is_explicit()
            || self.request.auto
            || self.request.pow2
            || self.request.data_type.is_some()
            || self.working.is_integer()
            || packing.chain.encoded_type().is_float();
        packing.scale.is_some() && !is_fixed
    }

    /// Whether decoded values are to be multiples of a step.
    fn takes_multiples(&self, packing: &Packing) -> bool {
        packing.is_guess || self.request.precision.is_some()
    }

    /// The scales to try: first round ones, which may do if the data are multiples of something
    /// round, then those that must do by the arithmetic.
    fn lattices(&self) -> Result<Vec<Lattice>> {
        if self.request.is_explicit() {
            let scale = self.request.scale.as_ref();
            let scale = scale.map(|scale| scale.to_scalar(self.working)).transpose();
            let scale = scale.context("--scale")?;
            if self.request.max_rel_error.is_some() && self.request.data_type.is_none() {
                return Ok(self.smaller_floats(|_| vec![scale]));
            }
            return Ok(vec![Lattice::of(scale)]);
        }
        if let Some(target) = self.request.data_type.filter(|target| target.is_float()) {
            return Ok(self.in_floats(target));
        }
        if self.request.max_rel_error.is_some() {
            return Ok(
                self.smaller_floats(|target| vec![None, self.filling(target, self.magnitude())])
            );
        }
        if let Some(step) = self.request.precision.filter(|&step| step != 1.0) {
            let scale = self.working_scalar(1.0 / step, Rounding::NearestEven);
            let scale = scale.filter(|scale| scale.to_f64().is_normal());
            return Ok(vec![Lattice::of(Some(scale.with_context(|| {
                format!("--precision {step:?}: its inverse leaves the range of {}", self.working)
            })?))]);
        }
        if self.working.is_integer() || self.request.precision.is_some() {
            return Ok(vec![Lattice::of(None)]);
        }
        if let Some(target) = self.request.data_type.filter(|_| self.request.auto) {
            return Ok(self.spread(target));
        }
        Ok(self.within_error(self.request.max_abs_error.unwrap_or_default()))
    }

    /// The scales for each floating-point type smaller than that of the elements.
    fn smaller_floats(&self, scales: impl Fn(ElementType) -> Vec<Option<Scalar>>) -> Vec<Lattice> {
        let size = self.survey.element_type.size();
        let targets = FLOATS.into_iter().filter(|target| target.size() < size);
        let lattices = targets.flat_map(|target| {
            scales(target)
                .into_iter()
                .map(move |scale| Lattice { target: Some(target), ..Lattice::of(scale) })
        });
        lattices.collect()
    }

    /// The scales for a floating-point type: none, the one that uses its whole range, and the same with
    /// the values around 0, where floating-point numbers are closer together.
    fn in_floats(&self, target: ElementType) -> Vec<Lattice> {
        let filling = self.filling(target, self.magnitude());
        if self.request.auto {
            return vec![Lattice::of(filling)];
        }
        let mut lattices = vec![Lattice::of(None), Lattice::of(filling)];
        let (least, greatest) = (self.least.to_f64(), self.greatest.to_f64());
        let middle = self.working_scalar(least / 2.0 + greatest / 2.0, Rounding::NearestEven);
        if self.request.max_abs_error.is_some() && !self.working.is_integer() && middle.is_some() {
            let around = self.filling(target, greatest / 2.0 - least / 2.0);
            lattices.extend(
                [None, around].map(|scale| Lattice { offset: middle, ..Lattice::of(scale) }),
            );
        }
        lattices
    }

    fn magnitude(&self) -> f64 {
        self.least.to_f64().abs().max(self.greatest.to_f64().abs())
    }

    /// The power of two that takes a magnitude up to the largest of a floating-point type; none if that
    /// is 1. A power of two takes nothing from the values' digits.
    fn filling(&self, target: ElementType, magnitude: f64) -> Option<Scalar> {
        let exponent = (Scalar::max(target).to_f64() / magnitude).log2().floor();
        if self.working.is_integer() || exponent == 0.0 || !exponent.is_finite() {
            return None;
        }
        self.working_scalar(2_f64.powi(exponent as i32), Rounding::NearestEven)
    }

    /// The scales that spread the values over a whole integer type, less the stored values for NaN
    /// and the fill value, and less what the arithmetic may be off by.
    fn spread(&self, target: ElementType) -> Vec<Lattice> {
        let extent = self.greatest.to_f64() - self.least.to_f64();
        let magnitude = self.magnitude();
        let steps = 2_f64.powi(target.bits() as i32) - 1.0;
        let unit = unit_roundoff(self.working) * (1.0 + magnitude / extent);
        let scales = [0.0, 1.0, 2.0, 3.0].into_iter().flat_map(|reserved| {
            [0.0, 4.0 * unit, 64.0 * unit].map(|less| {
                let scale = (steps - reserved) / extent * (1.0 - less);
                if self.request.pow2 { 2_f64.powi(scale.log2().floor() as i32) } else { scale }
            })
        });
        let mut scales: Vec<Option<Scalar>> = scales
            .filter_map(|scale| self.working_scalar(scale, Rounding::TowardsNegative))
            .map(Some)
            .collect();
        scales.dedup();
        if scales.is_empty() {
            // All values are the same, or so far apart that there is no such scale.
            scales.push(None);
        }
        scales.into_iter().map(Lattice::of).collect()
    }

    /// The scales that keep an absolute error.
    fn within_error(&self, bound: f64) -> Vec<Lattice> {
        if self.survey.element_type.is_integer() {
            // Steps of a whole number decode to whole numbers.
            let step = self.request.errors_in_a_step() * bound.floor() + 1.0;
            let scale = self.power(1.0 / step);
            let scale = self.working_scalar(scale, Rounding::TowardsPositive);
            return vec![Lattice::of(scale)];
        }
        let computed = self.safe_scales(bound);
        let finest = computed.first().map_or(f64::INFINITY, |scale| scale.to_f64());
        let guesses = round_scales(self.extent().max(self.magnitude()))
            .into_iter()
            .filter(|&scale| scale < finest && (!self.request.pow2 || is_power_of_two(scale)))
            .filter_map(|scale| self.working_scalar(scale, Rounding::NearestEven))
            .map(|scale| Lattice { is_guess: true, ..Lattice::of(Some(scale)) });
        guesses.chain(computed.into_iter().map(|scale| Lattice::of(Some(scale)))).collect()
    }

    /// Scales that keep an absolute error by the arithmetic, if it goes ever worse.
    fn safe_scales(&self, bound: f64) -> Vec<Scalar> {
        let budgets = [
            self.rounding(1.0, 2.0),
            self.rounding(2.2, 2.2),
            self.rounding(4.5, 4.5),
            self.rounding(16.0, 16.0),
        ];
        let scales = budgets.into_iter().filter_map(|budget| self.scale_within(bound, budget));
        let mut scales: Vec<Scalar> = scales.collect();
        scales.dedup();
        scales
    }

    /// The scale that keeps an absolute error if rounding takes no more than `budget` of it.
    fn scale_within(&self, bound: f64, budget: f64) -> Option<Scalar> {
        let step = self.request.errors_in_a_step() * (bound - budget);
        let scale = self.working_scalar(self.power(1.0 / step), Rounding::TowardsPositive);
        scale.filter(|_| bound > budget * 1.001)
    }

    /// What rounding may take from a value: every operation rounds by half a unit in the last place of its
    /// result at most, so these are units at the largest magnitude, and at the whole range.
    pub(crate) fn rounding(&self, of_magnitude: f64, of_extent: f64) -> f64 {
        let unit = unit_roundoff(self.working);
        unit * (of_magnitude * self.magnitude() + of_extent * self.extent())
    }

    fn extent(&self) -> f64 {
        self.greatest.to_f64() - self.least.to_f64()
    }

    /// A scale, or with `--pow2` the power of two that is not coarser.
    fn power(&self, scale: f64) -> f64 {
        if self.request.pow2 { 2_f64.powi(scale.log2().ceil() as i32) } else { scale }
    }

    /// A finite number other than 0 in the working type.
    fn working_scalar(&self, number: f64, rounding: Rounding) -> Option<Scalar> {
        let scalar = Scalar::from(number).cast(self.working, rounding, OutOfRange::Error).ok()?;
        (scalar.is_finite() && !scalar.is_zero()).then_some(scalar)
    }

    /// As [`Self::place`]; a scale that the error bound allows to be finer is made so by a few units
    /// in its last place, if that spares the fill value the detour of a first cast.
    fn place_without_detour(&self, lattice: Lattice) -> Result<Packing> {
        let packing = self.place(lattice)?;
        let Some(scale) = lattice.scale.filter(|_| !self.request.is_explicit()) else {
            return Ok(packing);
        };
        let is_fixed = lattice.is_guess
            || self.request.pow2
            || self.request.precision.is_some()
            || scale.element_type().is_integer()
            || packing.chain.encoded_type().is_float();
        if is_fixed || !packing.fill_is_lifted() {
            return Ok(packing);
        }
        let finer = (1..=FINER_SCALES).filter_map(|units| {
            // A scale that is computed is positive, so the next bits are the next greater number.
            let scale = Scalar::from_bits(scale.element_type(), scale.bits() + units);
            self.place(Lattice { scale: Some(scale), ..lattice }).ok()
        });
        let target = packing.chain.encoded_type();
        let spared =
            |other: &Packing| !other.fill_is_lifted() && other.chain.encoded_type() == target;
        Ok(finer.into_iter().find(spared).unwrap_or(packing))
    }

    /// Finds the smallest type, and an offset, for a scale.
    fn place(&self, lattice: Lattice) -> Result<Packing> {
        let Lattice { scale, is_guess, target, offset } = lattice;
        let given;
        let targets: &[[ElementType; 2]] = match target.or(self.request.data_type) {
            Some(target) => {
                given = [[target; 2]];
                &given
            }
            None => &SMALLEST_FIRST,
        };
        let mut refusal = None;
        for pair in targets {
            // Of the offsets, which begin with the simplest, an offset less is worth more than the
            // sign.
            let mut places = Vec::new();
            for &target in pair {
                let offsets = match offset {
                    Some(offset) => vec![Some(offset)],
                    None => self.offsets(scale, target)?,
                };
                let offsets = offsets.into_iter().enumerate();
                places.extend(
                    offsets.map(|(number, offset)| {
                        (number, Place { offset, scale, target, is_guess })
                    }),
                );
            }
            places.sort_by_key(|(number, _)| *number > 0);
            // The first refusal by the widest type is the simplest to understand.
            let mut refused = None;
            for (_, place) in places {
                match self.bind(place) {
                    Ok(packing) => return Ok(packing),
                    Err(error) => refused = refused.or(Some(error)),
                }
            }
            refusal = refused.or(refusal);
        }
        if let Some(target) = self.request.data_type {
            self.refuse_too_many(scale, target)?;
        }
        Err(refusal.unwrap_or_else(|| anyhow::anyhow!("no offset fits")))
    }

    /// Refuses a scale that gives the data more steps than a type has.
    fn refuse_too_many(&self, scale: Option<Scalar>, target: ElementType) -> Result<()> {
        if self.request.is_explicit() || !target.is_integer() {
            return Ok(());
        }
        let scale = scale.map_or(1.0, Scalar::to_f64).abs();
        let steps = (self.greatest.to_f64() - self.least.to_f64()) * scale;
        let values = 2_f64.powi(target.bits() as i32);
        if steps >= values {
            bail!("it takes {steps:.0} steps, and {target} has {values} values");
        }
        Ok(())
    }

    /// The offsets to try with a scale and a stored type, the simplest first.
    fn offsets(&self, scale: Option<Scalar>, target: ElementType) -> Result<Vec<Option<Scalar>>> {
        if self.request.is_explicit() {
            let offset = self.request.offset.as_ref();
            let offset = offset.map(|offset| offset.to_scalar(self.working)).transpose();
            return Ok(vec![offset.context("--offset")?]);
        }
        if self.request.auto && scale.is_none() && !self.working.is_integer() && target.is_integer()
        {
            // All values are the same.
            return Ok(vec![Some(self.least)]);
        }
        let mut offsets = vec![None];
        let Some((lowest, highest)) =
            integer(Scalar::min(target)).zip(integer(Scalar::max(target)))
        else {
            return Ok(offsets);
        };
        for fill in self.survey.fill_values.iter().filter(|&&fill| self.is_within(fill)) {
            let fill = fill.cast(self.working, Rounding::NearestEven, OutOfRange::Error).ok();
            offsets.extend(fill.map(Some));
        }
        let taken = match &self.request.nan_to {
            NanTo::Value(value) => value.to_scalar(target).ok().and_then(integer),
            _ => None,
        };
        // The stored values that the smallest element may get: at the low end, around 0 for a signed
        // type, and beside a value that is taken.
        let starts = |count: i128| {
            let middle = if target.is_signed() { -(count / 2) } else { lowest };
            let low = [middle.clamp(lowest, highest), lowest, lowest + 1, lowest + 2];
            let beside = taken.map(|taken| [taken + 1, taken - count]);
            low.into_iter().chain(beside.into_iter().flatten()).collect::<Vec<_>>()
        };
        if let (None, Some((least, greatest))) =
            (scale, integer(self.least).zip(integer(self.greatest)))
        {
            let starts = starts(greatest - least + 1);
            let offset = |start| scalar(least - start, self.working).map(Some);
            offsets.extend(starts.into_iter().filter_map(offset));
        } else {
            let (least, greatest) = (self.least.to_f64(), self.greatest.to_f64());
            let scale = scale.map_or(1.0, Scalar::to_f64);
            // Where decoded values are to be multiples of something, so is the offset.
            let is_multiple = self.request.pow2 || self.request.precision.is_some();
            let offset = |number: f64| {
                let number = if is_multiple { (number * scale).floor() / scale } else { number };
                self.working_scalar(number, Rounding::NearestEven)
            };
            offsets.push(offset(least.floor()));
            // Not more than can still be added to; no type has so many.
            let steps = ((greatest - least) * scale).ceil().min(1e30);
            let starts = starts(steps as i128 + 1);
            offsets.extend(starts.into_iter().map(|start| offset(least - start as f64 / scale)));
        }
        offsets.dedup();
        Ok(offsets)
    }

    /// Whether a value lies among the data.
    fn is_within(&self, value: Scalar) -> bool {
        let Some((least, greatest)) = self.survey.range else { return false };
        value.is_finite() && !is_less(value, least) && !is_less(greatest, value)
    }

    /// Binds the codecs of a place, with stored values for NaN and the fill value.
    fn bind(&self, place: Place) -> Result<Packing> {
        let Place { offset, scale, target, is_guess } = place;
        let Request { rounding, out_of_range, .. } = *self.request;
        let affine = Affine::new(offset, scale);
        if scale.is_some_and(|scale| scale.is_zero() || !scale.is_finite()) {
            bail!(
                "--scale is {} in {}; it must be finite and not 0",
                scale_text(scale),
                self.working
            );
        }
        let forth = |value| {
            let run = reference::run(value, &[Step::Scale(affine)], 0);
            run.map_err(|error| refused(value, self.working, error.reason))
        };
        let back = |value| reference::run(value, &[Step::Unscale(affine)], 0).ok();
        let cast = |value: Scalar| value.cast(target, rounding, OutOfRange::Error);

        // Every operation is monotonic, so the ends of the range tell where all elements go; unless
        // they wrap, which only the elements themselves can tell.
        let ends = [(self.least, forth(self.least)?), (self.greatest, forth(self.greatest)?)];
        // A type that was asked for may be too small; one that is chosen may not.
        let may_leave = self.request.is_explicit() && self.request.data_type.is_some();
        let mut reached = Vec::new();
        let mut wraps = false;
        for (value, scaled) in ends {
            match (cast(scaled), out_of_range) {
                (Ok(code), _) => reached.extend(integer(code)),
                (Err(_), OutOfRange::Clamp) if may_leave => {
                    let clamped = scaled.cast(target, rounding, OutOfRange::Clamp);
                    reached.extend(clamped.ok().and_then(integer));
                }
                (Err(_), OutOfRange::Wrap) if may_leave => wraps = true,
                (Err(_), _) => bail!(
                    "{value} becomes {scaled}, out of range for {target} ({} to {}); use a wider \
                     --data-type, another --scale or --offset, or --out-of-range clamp",
                    Scalar::min(target),
                    Scalar::max(target)
                ),
            }
        }
        if wraps {
            reached.clear();
        }
        let data = reached.iter().min().copied().zip(reached.iter().max().copied());
        let is_free = |code: Scalar| {
            integer(code)
                .zip(data)
                .is_none_or(|(code, (lowest, highest))| code < lowest || code > highest)
        };
        let nan = self.nan(target, &is_free)?;
        // In the order of their bits, so that the codecs do not depend on whose is the array's own.
        let mut fills: Vec<Fill> = Vec::new();
        let mut taken: Vec<Scalar> = nan.into_iter().collect();
        for &value in &self.survey.fill_values {
            let is_within = self.is_within(value);
            let way = if value.is_nan() {
                FillWay::Natural
            } else {
                let working = value.cast(self.working, Rounding::NearestEven, OutOfRange::Clamp);
                let working = working.map_err(|reason| refused(value, self.working, reason))?;
                let free = |code: Scalar| is_free(code) && !taken.contains(&code);
                let may_lift = !fills.iter().any(|fill| matches!(fill.way, FillWay::Lifted(..)));
                let (free, forth, back) = (&free, &forth, &back);
                let ways = Ways { target, rounding, nan, is_within, may_lift, free, forth, back };
                let way = self.fill_way(working, &ends.map(|(_, scaled)| scaled), &ways);
                let way = way.with_context(|| {
                    format!(
                        "the fill value {value} cannot be kept exactly in {target}; use another \
                         --data-type, --scale or --offset"
                    )
                })?;
                taken.extend(match way {
                    FillWay::Mapped(_, code) | FillWay::Lifted(_, Some((_, code))) => Some(code),
                    FillWay::Natural => forth(working).ok().and_then(|scaled| cast(scaled).ok()),
                    FillWay::Lifted(value, None) => forth(value).ok().and_then(|v| cast(v).ok()),
                });
                way
            };
            fills.push(Fill { value, way, is_apart: !value.is_nan() && !is_within && !wraps });
        }
        let codecs = self.codecs(place, nan, &fills);
        let source = self.survey.element_type;
        for fill in &fills {
            bound(source, fill.value, &codecs)?;
        }
        let own = self.survey.fill_value;
        fills.sort_by_key(|fill| fill.value != own);
        let chain = bound(source, own, &codecs)?;
        let strict = match codecs.split_last() {
            Some((Codec::CastValue(last), rest)) if out_of_range != OutOfRange::Error => {
                let mut last = last.clone();
                last.out_of_range = OutOfRange::Error;
                let codecs = [rest, &[last.into()]].concat();
                Some(Chain::bind(source, None, &codecs, &BindOptions::default())?)
            }
            _ => None,
        };
        Ok(Packing { codecs, chain, strict, offset, scale, nan, fills, is_guess })
    }

    /// The stored value for NaN, if it needs one.
    fn nan(&self, target: ElementType, is_free: &dyn Fn(Scalar) -> bool) -> Result<Option<Scalar>> {
        let Survey { element_type, fill_values, nan, .. } = self.survey;
        let nan_to = &self.request.nan_to;
        let asked = *nan_to != NanTo::Auto;
        let has_nan = *nan > 0 || fill_values.iter().any(|fill| fill.is_nan());
        if !element_type.has_nan() || !(asked || has_nan) || (target.has_nan() && !asked) {
            return Ok(None);
        }
        let code = match nan_to {
            NanTo::Min => Scalar::min(target),
            NanTo::Max => Scalar::max(target),
            NanTo::Value(value) => value.to_scalar(target).context("--nan-to")?,
            NanTo::Auto => {
                let ends = ends(target);
                let free = ends.iter().copied().find(|&code| is_free(code));
                let free = free
                    .or_else(|| ends.first().copied().filter(|_| self.request.allow_collisions));
                return Ok(Some(free.with_context(|| {
                    if target.is_float() {
                        return format!("{target} has no NaN; name a stored value for it with --nan-to");
                    }
                    format!(
                        "the values take all of {target}, so that none is left for NaN; use a wider \
                         --data-type, or name one with --nan-to"
                    )
                })?));
            }
        };
        // With a given scale the elements themselves will tell whether one lands there.
        let may_collide = self.request.is_explicit() || self.request.allow_collisions;
        if !is_free(code) && !may_collide {
            bail!(
                "the values take {code}, which --nan-to names, too; name one outside them, or accept \
                 with --allow-collisions that they become NaN"
            );
        }
        Ok(Some(code))
    }

    /// A way for the fill value, in the working type, that brings it back.
    fn fill_way(&self, fill: Scalar, data: &[Scalar; 2], ways: &Ways<'_>) -> Result<FillWay> {
        let Ways { target, rounding, nan, is_within, may_lift, free, forth, back } = *ways;
        let survives = |scaled: Scalar| back(scaled).is_some_and(|value| value.equals(fill));
        let natural = |scaled: Scalar| {
            let code = scaled.cast(target, rounding, OutOfRange::Error).ok()?;
            let is_exact = code.equals(scaled);
            let is_apart = is_within || free(code);
            (is_exact && is_apart && Some(code) != nan).then_some(code)
        };
        let infinities = if self.survey.infinite > 0 {
            Vec::new()
        } else {
            [false, true].into_iter().filter_map(|sign| Scalar::infinity(target, sign)).collect()
        };
        // Of a floating-point type an infinity is left where the data have none.
        let free_code =
            || ends(target).into_iter().chain(infinities.iter().copied()).find(|&code| free(code));
        if let Some(scaled) = forth(fill).ok().filter(|&scaled| survives(scaled)) {
            if natural(scaled).is_some() {
                return Ok(FillWay::Natural);
            }
            let collides = !is_within && data.iter().any(|end| end.equals(scaled));
            if let Some(code) = free_code().filter(|_| !collides) {
                return Ok(FillWay::Mapped(scaled, code));
            }
        }
        if !may_lift {
            bail!("another fill value has taken the way there is");
        }
        if self.working.has_infinity() && self.survey.infinite == 0 {
            // A first cast takes the fill value to infinity, which scale and offset leave alone.
            let infinity = Scalar::infinity(self.working, false);
            let scaled = infinity.and_then(|infinity| forth(infinity).ok());
            if let Some(((infinity, scaled), code)) = infinity.zip(scaled).zip(free_code()) {
                return Ok(FillWay::Lifted(infinity, Some((scaled, code))));
            }
        } else if let Some((least, greatest)) = integer(self.least).zip(integer(self.greatest)) {
            // Next to the data there is a value that no element has.
            let beside = [greatest + 1, least - 1].map(|value| scalar(value, self.working));
            for value in beside.into_iter().flatten() {
                if forth(value).ok().and_then(natural).is_some_and(free) {
                    return Ok(FillWay::Lifted(value, None));
                }
            }
        }
        bail!("there is no stored value that decodes to it and is left free by the data");
    }

    /// The codecs themselves.
    fn codecs(&self, place: Place, nan: Option<Scalar>, fills: &[Fill]) -> Vec<Codec> {
        let Place { offset, scale, target, .. } = place;
        let Request { rounding, out_of_range, .. } = *self.request;
        let mut codecs = Vec::new();
        let lifted = fills.iter().find_map(|fill| match fill.way {
            FillWay::Lifted(value, _) => Some((fill.value, value)),
            _ => None,
        });
        if self.working != self.survey.element_type || lifted.is_some() {
            let mut first = CastValue::new(self.working);
            if self.working != self.survey.element_type {
                // A decoded value may leave the type by less than the bound.
                first.out_of_range = OutOfRange::Clamp;
            }
            first.scalar_map = map(lifted.as_slice());
            codecs.push(first.into());
        }
        if offset.is_some() || scale.is_some() {
            codecs.push(ScaleOffset::new(offset.map(Into::into), scale.map(Into::into)).into());
        }
        let mut pairs = Vec::new();
        pairs.extend(Scalar::nan(self.working).zip(nan));
        pairs.extend(fills.iter().filter_map(|fill| match fill.way {
            FillWay::Mapped(scaled, code) | FillWay::Lifted(_, Some((scaled, code))) => {
                Some((scaled, code))
            }
            FillWay::Natural | FillWay::Lifted(_, None) => None,
        }));
        if target != self.working || !pairs.is_empty() {
            let mut last = CastValue::new(target);
            last.rounding = (rounding != Rounding::NearestEven).then_some(rounding);
            last.out_of_range = out_of_range;
            last.scalar_map = map(&pairs);
            codecs.push(last.into());
        }
        codecs
    }
}

/// What finding a way for the fill value needs to know of a place.
struct Ways<'a> {
    target: ElementType,
    rounding: Rounding,
    nan: Option<Scalar>,
    /// Whether the fill value lies among the data.
    is_within: bool,
    /// Whether a first cast may replace it.
    may_lift: bool,
    /// Whether a stored value is taken neither by data nor by NaN.
    free: &'a dyn Fn(Scalar) -> bool,
    /// Scale and offset, and their inverse.
    forth: &'a dyn Fn(Scalar) -> Result<Scalar>,
    back: &'a dyn Fn(Scalar) -> Option<Scalar>,
}

/// A map that takes each pair there and back; `None` without pairs.
fn map(pairs: &[(Scalar, Scalar)]) -> Option<ScalarMap> {
    let entry = |from: Scalar, to: Scalar| (JsonScalar::from(from), JsonScalar::from(to));
    (!pairs.is_empty()).then(|| ScalarMap {
        encode: Some(pairs.iter().map(|&(value, code)| entry(value, code)).collect()),
        decode: Some(pairs.iter().map(|&(value, code)| entry(code, value)).collect()),
    })
}

/// Values at the ends of a type, in the order in which they are given to NaN and the fill value: as
/// CF does, the largest of an unsigned type and the smallest of a signed one come first.
pub(crate) fn ends(target: ElementType) -> Vec<Scalar> {
    let Some((lowest, highest)) = integer(Scalar::min(target)).zip(integer(Scalar::max(target)))
    else {
        return Vec::new();
    };
    let order = if target.is_signed() {
        [lowest, highest, lowest + 1, highest - 1]
    } else {
        [highest, lowest, highest - 1, lowest + 1]
    };
    order.into_iter().filter_map(|code| scalar(code, target)).collect()
}

/// Scales that people choose: powers of ten with 2 and 5 times them, and powers of two; from some
/// that leave few steps in the data to some that leave about 2^32.
fn round_scales(magnitude: f64) -> Vec<f64> {
    if magnitude == 0.0 {
        return Vec::new();
    }
    let decimal = (-12..=15).flat_map(|exponent: i32| {
        // 10^-k as a quotient is the f64 nearest to it; a product of tenths is not.
        let power = 10_f64.powi(exponent.abs());
        let power = if exponent < 0 { 1.0 / power } else { power };
        [power, 2.0 * power, 5.0 * power]
    });
    let binary = (-40..=40).map(|exponent| 2_f64.powi(exponent));
    let mut scales: Vec<f64> = decimal
        .chain(binary)
        .filter(|scale| (1.0..=4_294_967_296.0).contains(&(scale * magnitude)))
        .collect();
    scales.sort_by(f64::total_cmp);
    scales.dedup();
    scales
}

/// Half a unit in the last place of 1.
fn unit_roundoff(element_type: ElementType) -> f64 {
    match element_type.format() {
        Format::Float(format) if format.specials == Specials::PowersOfTwo => 0.5,
        Format::Float(format) => 0.5_f64.powi(format.mantissa_bits as i32 + 1),
        _ => 0.0,
    }
}

fn scale_text(scale: Option<Scalar>) -> String {
    scale.map(|scale| fill_value::to_json(scale).to_string()).unwrap_or_default()
}

fn refused(value: Scalar, working: ElementType, reason: Reason) -> anyhow::Error {
    let why = match reason {
        Reason::Overflow | Reason::OutOfRange => "leaves the range of",
        Reason::InexactDivision => "is no multiple of the scale in",
        Reason::Nan | Reason::Infinite => "has no counterpart in",
        _ => "cannot be computed in",
    };
    anyhow::anyhow!("{value} {why} {working}; use another --scale or --offset")
}
