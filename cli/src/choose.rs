//! Which codecs pack an array: candidates from coarse to fine, each bound and checked for the range,
//! the fill value and NaN, so that what remains to be seen is the error of each element.

use anyhow::{Context, Result, bail};
use recast_kernels::{
    ElementType, FloatOverflow, Format, OutOfRange, Reason, Rounding, Scalar,
    ScaleOffset as Affine, Specials, Step, reference,
};
use zarr_recast::{
    BindOptions, CastValue, Chain, Codec, JsonScalar, ScalarMap, ScaleOffset, fill_value,
};

use crate::args::NanTo;
use crate::number::{integer, scalar};
use crate::survey::Survey;

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) max_abs_error: Option<f64>,
    pub(crate) data_type: Option<ElementType>,
    pub(crate) nan_to: NanTo,
    pub(crate) rounding: Rounding,
    pub(crate) out_of_range: OutOfRange,
    pub(crate) scale: Option<JsonScalar>,
    pub(crate) offset: Option<JsonScalar>,
}

impl Request {
    /// Whether scale and offset are given rather than chosen.
    pub(crate) fn is_explicit(&self) -> bool {
        self.scale.is_some() || self.offset.is_some() || self.max_abs_error.is_none()
    }
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
    fill_way: FillWay,
    /// Whether the fill value lies outside the data, so that nothing else may decode to it.
    pub(crate) fill_is_apart: bool,
    /// Whether the scale is a guess from the sample rather than from the error bound.
    pub(crate) is_guess: bool,
}

impl Packing {
    /// Whether the fill value goes through a map.
    pub(crate) fn fill_is_mapped(&self) -> bool {
        !matches!(self.fill_way, FillWay::Natural)
    }

    /// Whether a first cast replaces the fill value.
    fn fill_is_lifted(&self) -> bool {
        matches!(self.fill_way, FillWay::Lifted(..))
    }
}

/// A scale to try.
#[derive(Clone, Copy, Debug)]
struct Lattice {
    scale: Option<Scalar>,
    is_guess: bool,
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
        // Integers within less than 1 are integers unchanged; to give up more than that needs
        // fractions of a code.
        let coarse = request.max_abs_error.is_some_and(|bound| bound >= 1.0);
        let fractions = source.is_integer() && coarse && !request.is_explicit();
        let working = if fractions { ElementType::Float64 } else { source };
        let nothing = survey.fill_value;
        let nothing = if nothing.is_finite() { nothing } else { Scalar::zero(source) };
        let (least, greatest) = survey.range.unwrap_or((nothing, nothing));
        let work = |value: Scalar| {
            value
                .cast(working, Rounding::NearestEven, OutOfRange::Clamp)
                .map_err(|reason| refused(value, working, reason))
        };
        let (least, greatest) = (work(least)?, work(greatest)?);
        Ok(Self { request, survey, working, least, greatest })
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

    /// The scales to try: first round ones, which may do if the data are multiples of something
    /// round, then those that must do by the arithmetic.
    fn lattices(&self) -> Result<Vec<Lattice>> {
        let exact = |scale: Option<Scalar>| Lattice { scale, is_guess: false };
        let Request { max_abs_error, data_type, .. } = self.request;
        if self.request.is_explicit() {
            let scale = self.request.scale.as_ref();
            let scale = scale.map(|scale| scale.to_scalar(self.working)).transpose();
            return Ok(vec![exact(scale.context("--scale")?)]);
        }
        let to_float = data_type.is_some_and(ElementType::is_float);
        if self.working.is_integer() || to_float {
            return Ok(vec![exact(None)]);
        }
        let bound = max_abs_error.unwrap_or_default();
        let nearest =
            matches!(self.request.rounding, Rounding::NearestEven | Rounding::NearestAway);
        let steps = if nearest { 2.0 } else { 1.0 };
        if self.survey.element_type.is_integer() {
            // Steps of a whole number decode to whole numbers.
            let step = if nearest { 2.0 * bound.floor() + 1.0 } else { bound.floor() + 1.0 };
            return Ok(vec![exact(self.working_scalar(1.0 / step, Rounding::TowardsPositive))]);
        }
        let (least, greatest) = (self.least.to_f64(), self.greatest.to_f64());
        let magnitude = least.abs().max(greatest.abs());
        let extent = greatest - least;
        // Every operation rounds by half a unit in the last place of its result at most.
        let unit = unit_roundoff(self.working);
        let budgets = [
            unit * (magnitude + 2.0 * extent),
            unit * (4.5 * magnitude + 4.5 * extent),
            unit * (16.0 * magnitude + 16.0 * extent),
        ];
        let computed: Vec<Scalar> = budgets
            .into_iter()
            .filter(|&budget| bound > budget * 1.001)
            .filter_map(|budget| {
                let scale = 1.0 / (steps * (bound - budget));
                self.working_scalar(scale, Rounding::TowardsPositive)
            })
            .collect();
        let finest = computed.first().map_or(f64::INFINITY, |scale| scale.to_f64());
        let guesses = round_scales(extent.max(magnitude))
            .into_iter()
            .filter(|&scale| scale < finest)
            .filter_map(|scale| self.working_scalar(scale, Rounding::NearestEven))
            .map(|scale| Lattice { scale: Some(scale), is_guess: true });
        Ok(guesses.chain(computed.into_iter().map(|scale| exact(Some(scale)))).collect())
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
        if lattice.is_guess || !packing.fill_is_lifted() || scale.element_type().is_integer() {
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
    fn place(&self, Lattice { scale, is_guess }: Lattice) -> Result<Packing> {
        let given;
        let targets: &[[ElementType; 2]] = match self.request.data_type {
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
                let offsets = self.offsets(scale, target)?.into_iter().enumerate();
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
        let mut offsets = vec![None];
        let Some((lowest, highest)) =
            integer(Scalar::min(target)).zip(integer(Scalar::max(target)))
        else {
            return Ok(offsets);
        };
        let fill = self.survey.fill_value;
        if self.is_within(fill) {
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
            offsets.push(self.working_scalar(least.floor(), Rounding::NearestEven));
            let starts = starts(((greatest - least) * scale).ceil() as i128 + 1);
            let offset = |start: i128| {
                self.working_scalar(least - start as f64 / scale, Rounding::NearestEven)
            };
            offsets.extend(starts.into_iter().map(offset));
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
        let affine = Affine { offset, scale, overflow: FloatOverflow::Strict };
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
        let fill = self.survey.fill_value;
        let way = if fill.is_nan() {
            FillWay::Natural
        } else {
            let working = fill.cast(self.working, Rounding::NearestEven, OutOfRange::Clamp);
            let working = working.map_err(|reason| refused(fill, self.working, reason))?;
            let free = |code: Scalar| is_free(code) && Some(code) != nan;
            let context = Ways { target, rounding, nan, free: &free, forth: &forth, back: &back };
            self.fill_way(working, &ends.map(|(_, scaled)| scaled), &context).with_context(
                || {
                    format!(
                        "the fill value {fill} cannot be kept exactly in {target}; use another \
                     --data-type, --scale or --offset"
                    )
                },
            )?
        };
        let codecs = self.codecs(place, nan, &way);
        let source = self.survey.element_type;
        let bind = |codecs: &[Codec]| -> Result<Chain> {
            Ok(Chain::bind(source, Some(fill), codecs, &BindOptions::default())?)
        };
        let chain = bind(&codecs)?;
        if let Some(diagnostic) = chain.diagnostics().first() {
            bail!("{diagnostic}");
        }
        let strict = match codecs.split_last() {
            Some((Codec::CastValue(last), rest)) if out_of_range != OutOfRange::Error => {
                let mut last = last.clone();
                last.out_of_range = OutOfRange::Error;
                let codecs = [rest, &[last.into()]].concat();
                Some(Chain::bind(source, None, &codecs, &BindOptions::default())?)
            }
            _ => None,
        };
        let fill_is_apart = !fill.is_nan() && !self.is_within(fill) && !wraps;
        Ok(Packing {
            codecs,
            chain,
            strict,
            offset,
            scale,
            nan,
            fill_way: way,
            fill_is_apart,
            is_guess,
        })
    }

    /// The stored value for NaN, if it needs one.
    fn nan(&self, target: ElementType, is_free: &dyn Fn(Scalar) -> bool) -> Result<Option<Scalar>> {
        let Survey { element_type, fill_value, nan, .. } = self.survey;
        let nan_to = &self.request.nan_to;
        let asked = *nan_to != NanTo::Auto;
        let has_nan = *nan > 0 || fill_value.is_nan();
        if !element_type.has_nan() || !(asked || has_nan) || (target.has_nan() && !asked) {
            return Ok(None);
        }
        let code = match nan_to {
            NanTo::Min => Scalar::min(target),
            NanTo::Max => Scalar::max(target),
            NanTo::Value(value) => value.to_scalar(target).context("--nan-to")?,
            NanTo::Auto => {
                let free = ends(target).into_iter().find(|&code| is_free(code));
                return Ok(Some(free.with_context(|| {
                    format!(
                        "the values take all of {target}, so that none is left for NaN; use a wider \
                         --data-type, or name one with --nan-to"
                    )
                })?));
            }
        };
        // With a given scale the elements themselves will tell whether one lands there.
        if !is_free(code) && !self.request.is_explicit() {
            bail!("the values take {code}, which --nan-to names, too; name one outside them");
        }
        Ok(Some(code))
    }

    /// A way for the fill value, in the working type, that brings it back.
    fn fill_way(&self, fill: Scalar, data: &[Scalar; 2], ways: &Ways<'_>) -> Result<FillWay> {
        let Ways { target, rounding, nan, free, forth, back } = *ways;
        let is_within = self.is_within(self.survey.fill_value);
        let survives = |scaled: Scalar| back(scaled).is_some_and(|value| value.equals(fill));
        let natural = |scaled: Scalar| {
            let code = scaled.cast(target, rounding, OutOfRange::Error).ok()?;
            let is_exact = code.equals(scaled);
            let is_apart = is_within || free(code);
            (is_exact && is_apart && Some(code) != nan).then_some(code)
        };
        let free_code = || ends(target).into_iter().find(|&code| free(code));
        if let Some(scaled) = forth(fill).ok().filter(|&scaled| survives(scaled)) {
            if natural(scaled).is_some() {
                return Ok(FillWay::Natural);
            }
            let collides = !is_within && data.iter().any(|end| end.equals(scaled));
            if let Some(code) = free_code().filter(|_| !collides) {
                return Ok(FillWay::Mapped(scaled, code));
            }
        }
        if self.working.has_infinity() && self.survey.infinite == 0 {
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
    fn codecs(&self, place: Place, nan: Option<Scalar>, way: &FillWay) -> Vec<Codec> {
        let Place { offset, scale, target, .. } = place;
        let Request { rounding, out_of_range, .. } = *self.request;
        let fill = self.survey.fill_value;
        let mut codecs = Vec::new();
        let lifted = match way {
            FillWay::Lifted(value, _) => Some((fill, *value)),
            _ => None,
        };
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
        match way {
            FillWay::Mapped(scaled, code) | FillWay::Lifted(_, Some((scaled, code))) => {
                pairs.push((*scaled, *code));
            }
            FillWay::Natural | FillWay::Lifted(_, None) => {}
        }
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
fn ends(target: ElementType) -> Vec<Scalar> {
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
        Format::Integer { .. } => 0.0,
    }
}

fn is_less(a: Scalar, b: Scalar) -> bool {
    match integer(a).zip(integer(b)) {
        Some((a, b)) => a < b,
        None => a.to_f64() < b.to_f64(),
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
