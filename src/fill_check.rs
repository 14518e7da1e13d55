//! Whether a fill value survives the way through a chain and back.

use std::fmt;

use recast_kernels::{
    CastError, ElementType, OutOfRange, Reason, Rounding, RunError, Scalar, Step,
};

use crate::BindError;
use crate::chain::Part;
use crate::fill_value::to_json;

/// How strict binding is about the fill value.
///
/// A fill value that cannot be encoded is an error always, but in chains of legacy codecs, which do
/// not encode it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FillCheck {
    /// For arrays about to be created: a fill value must come back from the chain.
    #[default]
    Enforce,
    /// For arrays that exist: one that `cast_value` changes is an error, one that `scale_offset`
    /// rounds is a diagnostic.
    Open,
    /// For reading arrays that other implementations wrote: every change is a diagnostic.
    Report,
}

/// Something about a bound chain that is no error but that its user should know.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// What it is about.
    pub kind: DiagnosticKind,
    /// One line for a reader.
    pub message: String,
    /// What the fill value comes back as, if it does.
    pub comes_back_as: Option<Scalar>,
    /// A fill value near the given one that survives.
    pub survivor: Option<Scalar>,
}

/// What a [`Diagnostic`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DiagnosticKind {
    /// The fill value cannot be encoded.
    FillNotEncodable,
    /// The fill value comes back from a cast as another value, or not at all.
    FillChanged,
    /// The fill value comes back from `scale_offset` with a rounding error.
    FillInexact,
    /// A cast changes the fill value that reaches it, but the chain as a whole gives it back;
    /// implementations that check each codec by itself refuse such an array.
    FillChangedWithin,
    /// numcodecs rounds where this chain does not.
    LegacyRounding,
}

impl Diagnostic {
    pub(crate) fn new(kind: DiagnosticKind, message: String) -> Self {
        Self { kind, message, comes_back_as: None, survivor: None }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Sends the fill value through all parts and back. Returns the encoded fill value, and what there is
/// to say about it.
pub(crate) fn check(
    parts: &[Part],
    fill: Scalar,
    mode: FillCheck,
    legacy: bool,
) -> Result<(Option<Scalar>, Vec<Diagnostic>), BindError> {
    let way = match encode(parts, fill) {
        Ok(way) => way,
        Err(failure) => {
            let diagnostic = not_encodable(parts, fill, &failure);
            return if legacy {
                Ok((None, vec![diagnostic]))
            } else {
                Err(BindError::FillValue(diagnostic))
            };
        }
    };
    let encoded = way.last().copied();
    let Some(diagnostic) = changes(parts, fill, &way) else { return Ok((encoded, Vec::new())) };
    let refused = match (mode, diagnostic.kind) {
        (FillCheck::Report, _) | (_, DiagnosticKind::FillChangedWithin) => false,
        (FillCheck::Open, kind) => kind == DiagnosticKind::FillChanged,
        (FillCheck::Enforce, _) => true,
    };
    if refused { Err(BindError::FillValue(diagnostic)) } else { Ok((encoded, vec![diagnostic])) }
}

/// A value that a part could not convert.
struct Failure {
    part: usize,
    error: CastError,
}

/// The value before the first part, and after each one.
fn encode(parts: &[Part], fill: Scalar) -> Result<Vec<Scalar>, Failure> {
    let mut way = vec![fill];
    for (index, part) in parts.iter().enumerate() {
        let value = way.last().copied().unwrap_or(fill);
        way.push(part.encode(value).map_err(|error| Failure { part: index, error })?);
    }
    Ok(way)
}

/// What the encoded value decodes to.
fn decode(parts: &[Part], encoded: Scalar) -> Result<Scalar, Failure> {
    parts.iter().enumerate().rev().try_fold(encoded, |value, (index, part)| {
        part.decode(value).map_err(|error| Failure { part: index, error })
    })
}

/// Whether a fill value comes back.
fn survives(parts: &[Part], fill: Scalar) -> bool {
    let encoded = encode(parts, fill).ok().and_then(|way| way.last().copied());
    encoded
        .and_then(|encoded| decode(parts, encoded).ok())
        .is_some_and(|decoded| decoded.equals(fill))
}

fn not_encodable(parts: &[Part], fill: Scalar, failure: &Failure) -> Diagnostic {
    let CastError { value, target, reason, .. } = failure.error;
    let name = parts.get(failure.part).map_or("", |part| part.name.as_str());
    let became = if failure.part > 0 {
        format!(" becomes {} {value} on the way and", value.element_type())
    } else {
        String::new()
    };
    let why = match reason {
        Reason::Nan => format!("{target} has no NaN"),
        Reason::Infinite => {
            format!("{target} has no infinity, and clamp does not apply to infinities")
        }
        Reason::OutOfRange => {
            format!(
                "out of range for {target} ({} to {})",
                Scalar::min(target),
                Scalar::max(target)
            )
        }
        Reason::Overflow => format!("a result leaves the range of {target}"),
        _ => "the result cannot be represented".to_owned(),
    };
    let mapped = parts.get(failure.part).is_some_and(|part| part.is_cast());
    let way_out = if mapped {
        let sentinel = if target.is_signed() { Scalar::min(target) } else { Scalar::max(target) };
        let (key, value) = (to_json(value), to_json(sentinel));
        format!(
            "name it in the scalar_map, for instance \"scalar_map\": {{\"encode\": [[{key}, {value}]], \
             \"decode\": [[{value}, {key}]]}}, or choose another fill value"
        )
    } else {
        "choose another fill value, scale or offset".to_owned()
    };
    Diagnostic::new(
        DiagnosticKind::FillNotEncodable,
        format!(
            "{} {fill}{became} cannot be encoded by {name}: {why}; {way_out}",
            fill.element_type()
        ),
    )
}

/// What the way there and back does to the fill value, if it does anything.
fn changes(parts: &[Part], fill: Scalar, way: &[Scalar]) -> Option<Diagnostic> {
    let encoded = way.last().copied().unwrap_or(fill);
    let decoded = decode(parts, encoded);
    let lossy = parts.iter().zip(way).zip(way.iter().skip(1)).enumerate().find(
        |(_, ((part, before), after))| {
            part.is_cast() && !part.decode(**after).is_ok_and(|back| back.equals(**before))
        },
    );
    let lossy = lossy.map(|(index, ((part, before), after))| (index, part, *before, *after));
    let element_type = fill.element_type();
    match (decoded, lossy) {
        (Ok(decoded), None) if decoded.equals(fill) => None,
        (Ok(decoded), Some((_, part, before, after))) if decoded.equals(fill) => Some(Diagnostic {
            kind: DiagnosticKind::FillChangedWithin,
            message: format!(
                "{element_type} {fill} comes back from the whole chain, but {} makes {} \
                     {before} into {after}; implementations that check each codec by itself refuse \
                     this array",
                part.name,
                before.element_type()
            ),
            comes_back_as: Some(decoded),
            survivor: Some(fill),
        }),
        (Ok(decoded), None) => {
            let survivor = Some(decoded).filter(|decoded| survives(parts, *decoded));
            let way_out = survivor.map_or_else(
                || "choose one that comes back exactly".to_owned(),
                |survivor| format!("{survivor} survives"),
            );
            Some(Diagnostic {
                kind: DiagnosticKind::FillInexact,
                message: format!(
                    "{element_type} {fill} comes back from scale_offset as {decoded}, a difference \
                     of {:e}; {way_out}",
                    (decoded.to_f64() - fill.to_f64()).abs()
                ),
                comes_back_as: Some(decoded),
                survivor,
            })
        }
        (Ok(decoded), Some((index, part, before, after))) => {
            let survivor = nearest_survivor(parts, index, fill, before, decoded);
            let way_out = way_out(survivor, before, after);
            Some(Diagnostic {
                kind: DiagnosticKind::FillChanged,
                message: format!(
                    "{element_type} {fill} does not survive {}: it is stored as {} {encoded} and \
                     comes back as {decoded}{way_out}",
                    part.name,
                    encoded.element_type()
                ),
                comes_back_as: Some(decoded),
                survivor,
            })
        }
        (Err(failure), _) => {
            let name = parts.get(failure.part).map_or("", |part| part.name.as_str());
            let survivor = nearest_survivor(parts, failure.part, fill, fill, fill);
            let way_out = way_out(survivor, fill, encoded);
            Some(Diagnostic {
                kind: DiagnosticKind::FillChanged,
                message: format!(
                    "{element_type} {fill} does not survive {name}: it is stored as {} {encoded}, \
                     which cannot be decoded to {}{way_out}",
                    encoded.element_type(),
                    failure.error.target
                ),
                comes_back_as: None,
                survivor,
            })
        }
    }
}

fn way_out(survivor: Option<Scalar>, before: Scalar, after: Scalar) -> String {
    if !before.is_finite() {
        let (key, value) = (to_json(after), to_json(before));
        return format!("; add \"decode\": [[{key}, {value}]] to its scalar_map");
    }
    survivor.map_or_else(
        || "; choose another fill value".to_owned(),
        |survivor| format!("; the nearest fill value that survives is {survivor}"),
    )
}

/// The nearest fill value that survives: what the neighbours, in the target type, of the value that
/// reaches the cast `index` decode to, and what its map names.
fn nearest_survivor(
    parts: &[Part],
    index: usize,
    fill: Scalar,
    before: Scalar,
    decoded: Scalar,
) -> Option<Scalar> {
    /// Enough of a map that may be long.
    const KEYS: usize = 256;
    let (earlier, rest) = parts.split_at_checked(index)?;
    let part = rest.first()?;
    let neighbours = [Rounding::NearestEven, Rounding::TowardsNegative, Rounding::TowardsPositive]
        .into_iter()
        .filter_map(|rounding| before.cast(part.target, rounding, OutOfRange::Clamp).ok())
        .filter_map(|neighbour| part.decode(neighbour).ok());
    let keys = part.map_keys().take(KEYS);
    let candidates = neighbours.chain(keys).filter_map(|value| decode(earlier, value).ok());
    let distance = |value: &Scalar| (value.to_f64() - fill.to_f64()).abs();
    candidates
        .chain([decoded])
        .filter(|candidate| candidate.is_finite() && survives(parts, *candidate))
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

impl Part {
    fn is_cast(&self) -> bool {
        self.target != self.source || matches!(self.encode.steps(), [Step::Cast(_)])
    }

    fn map_keys(&self) -> impl Iterator<Item = Scalar> {
        self.encode
            .steps()
            .iter()
            .take(1)
            .flat_map(|step| match step {
                Step::Cast(cast) => cast.map.as_slice(),
                Step::Scale(_) | Step::Unscale(_) => &[],
            })
            .map(|(key, _)| *key)
    }

    fn encode(&self, value: Scalar) -> Result<Scalar, CastError> {
        run(&self.encode, value, self.target)
    }

    fn decode(&self, value: Scalar) -> Result<Scalar, CastError> {
        run(&self.decode, value, self.source)
    }
}

/// One element through the kernels.
fn run(
    plan: &recast_kernels::Plan,
    value: Scalar,
    target: ElementType,
) -> Result<Scalar, CastError> {
    let mut output = vec![0; target.size()];
    let failed = |reason| CastError { index: 0, input: value, value, target, step: 0, reason };
    match plan.run(&value.to_ne_bytes(), &mut output) {
        Ok(()) => Scalar::from_ne_bytes(target, &output).ok_or_else(|| failed(Reason::Overflow)),
        Err(RunError::Element(error)) => Err(error),
        // Unreachable: both buffers hold one element.
        Err(_) => Err(failed(Reason::Overflow)),
    }
}
