//! Whether a fill value survives encoding and decoding by a chain.

use std::fmt;

use recast_kernels::{
    CastError, ElementType, OutOfRange, Plan, Reason, Rounding, RunError, Scalar, Step,
};

use crate::fill_value::to_json;

/// How strict binding is about the fill value.
///
/// A fill value that cannot be encoded is always an error, except in chains of legacy codecs, which do not
/// encode it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FillCheck {
    /// For arrays about to be created: the fill value must survive the chain.
    #[default]
    Create,
    /// For existing arrays: a change by `cast_value` is an error, a rounding by `scale_offset` is a
    /// warning.
    Open,
    /// For reading arrays that other implementations wrote: every change is a warning.
    ReportOnly,
}

/// Not an error of a bound chain, but something that its user should know.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Warning {
    /// Its subject.
    pub kind: WarningKind,
    /// One line for a reader.
    pub message: String,
    /// The fill value after encoding and decoding, if both work.
    pub round_trip: Option<Scalar>,
    /// A fill value near the given one that survives.
    pub suggestion: Option<Scalar>,
}

/// The subject of a [`Warning`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WarningKind {
    /// The fill value cannot be encoded.
    FillNotEncodable,
    /// A cast changes the fill value, or cannot decode it.
    FillChanged,
    /// `scale_offset` returns the fill value with a rounding error.
    FillInexact,
    /// A cast changes the fill value that reaches it, but the whole chain restores it. Implementations
    /// that check each codec alone refuse such an array.
    FillChangedWithin,
    /// numcodecs rounds where this chain does not.
    LegacyRounding,
}

impl Warning {
    pub(crate) fn new(kind: WarningKind, message: String) -> Self {
        Self { kind, message, round_trip: None, suggestion: None }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// One codec of a chain, to follow the fill value step by step.
#[derive(Debug)]
pub(crate) struct Part {
    /// For instance `codecs[1] (cast_value)`; the name alone if its place is unknown.
    pub(crate) name: String,
    pub(crate) target: ElementType,
    pub(crate) encode: Plan,
    pub(crate) decode: Plan,
}

/// Encodes and decodes the fill value with all parts. Returns the encoded fill value and warnings.
pub(crate) fn check(
    parts: &[Part],
    fill: Scalar,
    mode: FillCheck,
    legacy: bool,
) -> Result<(Option<Scalar>, Option<Warning>), Warning> {
    let way = match encode(parts, fill) {
        Ok(way) => way,
        Err(failure) => {
            let warning = not_encodable(fill, &failure);
            return if legacy { Ok((None, Some(warning))) } else { Err(warning) };
        }
    };
    let warning = changes(parts, fill, &way);
    let refused = warning.as_ref().is_some_and(|warning| match (mode, warning.kind) {
        (FillCheck::ReportOnly, _) | (_, WarningKind::FillChangedWithin) => false,
        (FillCheck::Open, kind) => kind == WarningKind::FillChanged,
        (FillCheck::Create, _) => true,
    });
    match warning {
        Some(warning) if refused => Err(warning),
        warning => Ok((way.last().copied(), warning)),
    }
}

/// A value that a part could not convert.
struct Failure<'a> {
    index: usize,
    part: &'a Part,
    error: CastError,
}

/// The value before the first part, and after each one.
fn encode(parts: &[Part], fill: Scalar) -> Result<Vec<Scalar>, Failure<'_>> {
    let mut way = vec![fill];
    let mut value = fill;
    for (index, part) in parts.iter().enumerate() {
        value = part.encode(value).map_err(|error| Failure { index, part, error })?;
        way.push(value);
    }
    Ok(way)
}

/// The value that an encoded one decodes to.
fn decode(parts: &[Part], encoded: Scalar) -> Result<Scalar, Failure<'_>> {
    parts.iter().enumerate().rev().try_fold(encoded, |value, (index, part)| {
        part.decode(value).map_err(|error| Failure { index, part, error })
    })
}

/// Whether a fill value survives.
fn survives(parts: &[Part], fill: Scalar) -> bool {
    let encoded = encode(parts, fill).ok().and_then(|way| way.last().copied());
    let decoded = encoded.and_then(|encoded| decode(parts, encoded).ok());
    decoded.is_some_and(|decoded| decoded.equals(fill))
}

fn not_encodable(fill: Scalar, failure: &Failure<'_>) -> Warning {
    let Failure { index, part, error: CastError { value, target, reason, .. } } = failure;
    let became = if *index > 0 {
        format!(" becomes {} {value} on the way, which", value.element_type())
    } else {
        String::new()
    };
    let why = match reason {
        Reason::Nan => format!("{target} has no NaN"),
        Reason::Infinite => {
            format!("{target} has no infinity, and clamp does not apply to infinities")
        }
        Reason::OutOfRange => {
            format!("it is out of range for {target} ({})", Scalar::range(*target))
        }
        _ => format!("a result leaves the range of {target}"),
    };
    let way_out = if part.is_cast() {
        let (key, value) = (to_json(*value), to_json(part.free_code(*target)));
        format!(
            "name it in the scalar_map, for instance \"scalar_map\": {{\"encode\": [[{key}, \
             {value}]], \"decode\": [[{value}, {key}]]}}, or choose another fill value"
        )
    } else {
        "choose another fill value, scale or offset".to_owned()
    };
    Warning::new(
        WarningKind::FillNotEncodable,
        format!(
            "{} {fill}{became} cannot be encoded by {}: {why}; {way_out}",
            fill.element_type(),
            part.name
        ),
    )
}

/// A cast that changes the value that reaches it.
struct Loss<'a> {
    index: usize,
    part: &'a Part,
    before: Scalar,
    after: Scalar,
}

impl<'a> Loss<'a> {
    fn first(parts: &'a [Part], way: &[Scalar]) -> Option<Self> {
        let mut losses =
            parts.iter().zip(way.windows(2)).enumerate().filter_map(|(index, (part, pair))| {
                match *pair {
                    [before, after] => Some(Self { index, part, before, after }),
                    _ => None,
                }
            });
        losses.find(|Self { part, before, after, .. }| {
            part.is_cast() && !part.decode(*after).is_ok_and(|back| back.equals(*before))
        })
    }

    /// The way out, as the end of a sentence.
    fn way_out(&self, suggestion: Option<Scalar>) -> String {
        if !self.before.is_finite() {
            let (key, value) = (to_json(self.after), to_json(self.before));
            return format!("; put \"decode\": [[{key}, {value}]] first in its scalar_map");
        }
        if let Some(suggestion) = suggestion {
            return format!("; the nearest fill value that survives is {suggestion}");
        }
        let after = self.after;
        match map(&self.part.decode).iter().find(|(key, _)| key.equals(after)) {
            Some((_, mapped)) => format!(
                "; its scalar_map decodes {after} to {mapped}, so choose a fill value that is not \
                 stored as {after}"
            ),
            None => "; choose another fill value".to_owned(),
        }
    }

    /// The nearest fill value that survives. Candidates: the decoded neighbours, in the target type, of the
    /// value that reaches the cast, and the values in its map.
    fn nearest_suggestion(&self, parts: &[Part], fill: Scalar) -> Option<Scalar> {
        /// Entries of a long map that are tried.
        const KEYS: usize = 256;
        let Self { index, part, before, .. } = *self;
        let neighbours =
            [Rounding::NearestEven, Rounding::TowardsNegative, Rounding::TowardsPositive]
                .into_iter()
                .filter_map(|rounding| before.cast(part.target, rounding, OutOfRange::Clamp).ok())
                .filter_map(|neighbour| part.decode(neighbour).ok());
        let distance = |value: &Scalar| (value.to_f64() - fill.to_f64()).abs();
        neighbours
            .chain(map(&part.encode).iter().take(KEYS).map(|(key, _)| *key))
            .filter_map(|value| decode(parts.get(..index)?, value).ok())
            .filter(|candidate| candidate.is_finite() && survives(parts, *candidate))
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }
}

/// How encoding and decoding changes the fill value, if it does.
fn changes(parts: &[Part], fill: Scalar, way: &[Scalar]) -> Option<Warning> {
    let element_type = fill.element_type();
    let encoded = way.last().copied().unwrap_or(fill);
    let stored = format!("{} {encoded}", encoded.element_type());
    let decoded = decode(parts, encoded);
    let loss = Loss::first(parts, way);
    let round_trip = decoded.as_ref().ok().copied();
    let (kind, suggestion, message) = match (decoded, loss) {
        (Ok(decoded), None) if decoded.equals(fill) => return None,
        (Ok(decoded), Some(Loss { part, before, after, .. })) if decoded.equals(fill) => (
            WarningKind::FillChangedWithin,
            Some(fill),
            format!(
                "{element_type} {fill} comes back from the whole chain, but {} makes {} {before} \
                 into {after}; implementations that check each codec by itself refuse this array",
                part.name,
                before.element_type()
            ),
        ),
        (Ok(decoded), None) => {
            let suggestion = Some(decoded).filter(|decoded| survives(parts, *decoded));
            let way_out = suggestion.map_or_else(
                || "choose one that comes back exactly".to_owned(),
                |suggestion| format!("{suggestion} survives"),
            );
            let message = format!(
                "{element_type} {fill} comes back from scale_offset as {decoded}, a difference of \
                 {:e}; {way_out}",
                (decoded.to_f64() - fill.to_f64()).abs()
            );
            (WarningKind::FillInexact, suggestion, message)
        }
        (Ok(decoded), Some(loss)) => {
            let suggestion = loss.nearest_suggestion(parts, fill);
            let message = format!(
                "{element_type} {fill} does not survive {}: it is stored as {stored} and comes \
                 back as {decoded}{}",
                loss.part.name,
                loss.way_out(suggestion)
            );
            (WarningKind::FillChanged, suggestion, message)
        }
        (Err(Failure { index, part, error }), loss) => {
            let before = way.get(index).copied().unwrap_or(fill);
            let loss = loss.unwrap_or(Loss { index, part, before, after: encoded });
            let suggestion = loss.nearest_suggestion(parts, fill);
            let message = format!(
                "{element_type} {fill} does not survive {}: it is stored as {stored}, from which \
                 {} {} cannot be decoded to {}{}",
                part.name,
                error.value.element_type(),
                error.value,
                error.target,
                loss.way_out(suggestion)
            );
            (WarningKind::FillChanged, suggestion, message)
        }
    };
    Some(Warning { kind, message, round_trip, suggestion })
}

impl Part {
    /// Whether it changes the type, or replaces values of the same one.
    fn is_cast(&self) -> bool {
        self.encode.steps().iter().any(|step| matches!(step, Step::Cast(_)))
    }

    /// A stored value for another entry of the map: an end of the type, or the next one that no entry uses.
    fn free_code(&self, target: ElementType) -> Scalar {
        let is_signed = target.is_signed();
        let end = if is_signed { Scalar::min(target) } else { Scalar::max(target) };
        if !target.is_integer() {
            return end;
        }
        let entries = |plan: &Plan| -> Vec<(Scalar, Scalar)> {
            let of_step = |step: &Step| match step {
                Step::Cast(cast) => cast.map.to_vec(),
                _ => Vec::new(),
            };
            plan.steps().iter().flat_map(of_step).collect()
        };
        let mut taken: Vec<Scalar> = entries(&self.encode).iter().map(|entry| entry.1).collect();
        taken.extend(entries(&self.decode).iter().map(|entry| entry.0));
        let mask = u64::MAX >> (64 - target.bits());
        let code = |distance: usize| {
            let distance = distance as u64;
            let (up, down) = (end.bits().wrapping_add(distance), end.bits().wrapping_sub(distance));
            Scalar::from_bits(target, if is_signed { up } else { down } & mask)
        };
        let mut codes = (0..=taken.len()).map(code);
        codes.find(|code| !taken.iter().any(|other| other.equals(*code))).unwrap_or(end)
    }

    fn encode(&self, value: Scalar) -> Result<Scalar, CastError> {
        run(&self.encode, value)
    }

    fn decode(&self, value: Scalar) -> Result<Scalar, CastError> {
        run(&self.decode, value)
    }
}

/// The scalar map of a plan that is one cast.
fn map(plan: &Plan) -> &[(Scalar, Scalar)] {
    match plan.steps() {
        [Step::Cast(cast)] => &cast.map,
        _ => &[],
    }
}

/// One element through the kernels.
fn run(plan: &Plan, value: Scalar) -> Result<Scalar, CastError> {
    let target = plan.target();
    let mut output = vec![0; target.size()];
    match plan.run(&value.to_ne_bytes(), &mut output) {
        Err(RunError::Element(error)) => Err(error),
        // No other error is possible: both buffers hold one element.
        _ => Ok(Scalar::from_ne_bytes(target, &output).unwrap_or(value)),
    }
}
