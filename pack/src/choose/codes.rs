//! Stored codes for NaN, missing markers and fill values: each must come back exactly. A marker shares its code with
//! no other value. The code of a fill value that is not a marker may be shared by values that decode to it within
//! the bound.

use std::cmp::Ordering;
use std::collections::HashSet;

use anyhow::{Context, bail};
use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};

use super::candidate::{Special, SpecialLost};
use super::facts::Facts;
use super::placement::{Placement, Promise};
use super::working::in_working;
use crate::error::Result;
use crate::options::NanTo;
use crate::scan::number::{integer, integer_range, is_less, next_to, order, scalar};
use crate::text::nan_pattern;

/// Codes at the ends of a type, in the order in which NaN and missing markers get them. As in CF, the largest of
/// an unsigned type and the smallest of a signed one come first.
pub(crate) fn ends(target: ElementType) -> Vec<Scalar> {
    codes_from_ends(target, 4)
}

/// As [`ends`], but this many codes, going inwards from the ends; none for a floating-point type.
fn codes_from_ends(target: ElementType, count: usize) -> Vec<Scalar> {
    (0..count).map_while(|index| code_from_ends(target, index)).collect()
}

/// The code at this place of all codes from the ends inwards.
fn code_from_ends(target: ElementType, index: usize) -> Option<Scalar> {
    let (lowest, highest) = integer_range(target)?;
    let inward = (index / 2) as i128;
    let (low, high) = (lowest + inward, highest - inward);
    let is_low = index.is_multiple_of(2) == target.is_signed();
    scalar(if is_low { low } else { high }, target).filter(|_| low < high)
}

/// A set of values of one type, without NaN; 0 and −0 are one value.
#[derive(Default)]
struct ScalarSet(HashSet<Scalar>);

impl ScalarSet {
    fn unsigned(value: Scalar) -> Scalar {
        if value.is_zero() { Scalar::zero(value.element_type()) } else { value }
    }

    fn contains(&self, value: Scalar) -> bool {
        self.0.contains(&Self::unsigned(value))
    }

    fn insert(&mut self, value: Scalar) {
        self.0.insert(Self::unsigned(value));
    }
}

/// Gives special values their codes in one placement.
pub(super) struct CodeAllocator<'a> {
    facts: &'a Facts<'a>,
    placement: Placement,
    /// The data's lowest and highest code; none for a floating-point type, or if values wrap.
    data: Option<(i128, i128)>,
    /// The smallest and the largest value before the last cast.
    scaled_ends: [Scalar; 2],
    /// The codes of NaN and special values.
    taken: HashSet<Scalar>,
    /// The keys in the map of the last cast.
    keys: ScalarSet,
    /// The values that the first cast gives special values.
    stand_ins: ScalarSet,
    /// Where the searches for an open code and for a stand-in go on: no spare code before these places is one, and a taken
    /// code stays taken.
    first_open: usize,
    first_stand_in: usize,
    pub(super) nan: Option<Scalar>,
    pub(super) specials: Vec<Special>,
}

impl<'a> CodeAllocator<'a> {
    pub(super) fn new(
        facts: &'a Facts<'_>,
        placement: Placement,
        data: Option<(i128, i128)>,
        scaled_ends: [Scalar; 2],
    ) -> Self {
        Self {
            facts,
            placement,
            data,
            scaled_ends,
            taken: HashSet::new(),
            keys: ScalarSet::default(),
            stand_ins: ScalarSet::default(),
            first_open: 0,
            first_stand_in: 0,
            nan: None,
            specials: Vec::new(),
        }
    }

    /// The stored code of a scaled value, if the type has one.
    fn code(&self, scaled: Scalar) -> Option<Scalar> {
        self.placement.code(scaled, self.facts.options.rounding)
    }

    /// The value in the working type that a code decodes to.
    fn decoded(&self, code: Scalar) -> Option<Scalar> {
        self.placement.unscaled(self.facts.working.of(code)?)
    }

    /// Whether the data leave a code free.
    fn is_free(&self, code: Scalar) -> bool {
        let code_and_data = integer(code).zip(self.data);
        code_and_data.is_none_or(|(code, (lowest, highest))| code < lowest || code > highest)
    }

    /// Whether no data and no other special value use a code.
    fn is_open(&self, code: Scalar) -> bool {
        self.is_free(code) && !self.taken.contains(&code)
    }

    /// The spare code at this place: next to the data's lowest and highest code, or else from the ends of the type; none where
    /// the type ends.
    fn spare_code(&self, index: usize) -> Option<Scalar> {
        let target = self.placement.target;
        let next_to = self.data.filter(|_| self.placement.is_compact);
        let Some((lowest, highest)) = next_to else { return code_from_ends(target, index) };
        let distance = (index / 2) as i128 + 1;
        let is_above = index.is_multiple_of(2);
        scalar(if is_above { highest + distance } else { lowest - distance }, target)
    }

    /// This many codes for special values.
    fn spare_codes(&self, count: usize) -> impl Iterator<Item = Scalar> {
        (0..count).filter_map(|index| self.spare_code(index))
    }

    /// A free code. In a floating-point type, an infinity is free if the data have none.
    fn open_code(&mut self) -> Option<Scalar> {
        let most = 4 + 2 * self.taken.len();
        while self.first_open < most {
            let code = self.spare_code(self.first_open);
            if let Some(code) = code.filter(|&code| self.is_open(code)) {
                return Some(code);
            }
            self.first_open += 1;
        }
        let is_free = self.facts.survey.infinite == 0;
        let infinities = [false, true].into_iter().filter(|_| is_free);
        let mut infinities =
            infinities.filter_map(|sign| Scalar::infinity(self.placement.target, sign));
        infinities.find(|&code| self.is_open(code))
    }

    /// Whether a value in the working type survives scale and offset.
    fn survives(&self, value: Scalar, scaled: Scalar) -> bool {
        self.placement.unscaled(scaled).is_some_and(|back| back.equals(value))
    }

    /// Finds the stored code for NaN, if the types need one and there is one.
    pub(super) fn add_nan(&mut self) -> Result<()> {
        self.nan = self.code_of_nan()?;
        self.taken.extend(self.nan);
        Ok(())
    }

    fn code_of_nan(&self) -> Result<Option<Scalar>> {
        let Facts { options, survey, .. } = self.facts;
        let target = self.placement.target;
        let is_named = options.nan_to != NanTo::Auto;
        if !survey.element_type.has_nan() || (target.has_nan() && !is_named) {
            return Ok(None);
        }
        let has_nan = self.facts.has_nan();
        let code = match &options.nan_to {
            NanTo::Min => Scalar::min(target),
            NanTo::Max => Scalar::max(target),
            NanTo::Value(value) => value.to_scalar(target).context("--nan-to")?,
            NanTo::Auto => {
                // Markers may use the codes nearest to the ends.
                let spare = 2 * (1 + self.facts.survey.reserved_codes());
                let open = self.spare_codes(spare).find(|&code| self.is_open(code));
                // For later writes, a code is reserved if scale and type leave one.
                let may_lack =
                    options.is_explicit() || target.is_float() || options.allow_collisions;
                if !has_nan && open.is_none() && may_lack {
                    return Ok(None);
                }
                // With --auto, another scale leaves one.
                let shared = || {
                    let first = self.spare_codes(spare).next();
                    first.filter(|_| options.allow_collisions && !options.auto)
                };
                let open = open.or_else(shared);
                return Ok(Some(open.with_context(|| {
                    if target.is_float() {
                        return format!(
                            "{target} has no NaN; name a stored value for it with --nan-to"
                        );
                    }
                    format!(
                        "the values use every code of {target}, so none is left for NaN; use a \
                         wider --data-type, {}",
                        if has_nan {
                            "or name one with --nan-to"
                        } else {
                            "or give it up with --no-nan"
                        }
                    )
                })?));
            }
        };
        // With a given scale, the check of the elements shows whether one gets this code.
        let may_collide = options.is_explicit() || options.allow_collisions;
        if !self.is_open(code) && !may_collide {
            bail!(
                "--nan-to names {code}, but values use it; name another code, or let these values \
                 become NaN with --allow-collisions"
            );
        }
        Ok(Some(code))
    }

    /// Whether a code of data decodes to a marker: values next to the marker, if there are any, would become
    /// missing.
    pub(super) fn is_hit(&self, marker: Scalar) -> bool {
        let working = self.facts.working.of(marker);
        let Some(scaled) = working.and_then(|value| self.placement.scaled(value).ok()) else {
            return false;
        };
        let source = marker.element_type();
        [Rounding::TowardsNegative, Rounding::TowardsPositive].into_iter().any(|rounding| {
            let code = self.placement.code(scaled, rounding);
            let code = code.filter(|&code| self.may_be_used(code));
            let value = code.and_then(|code| self.decoded(code));
            let value = value.and_then(|value| {
                value.cast(source, Rounding::NearestEven, OutOfRange::Clamp).ok()
            });
            let is_it = value.is_some_and(|value| value.equals(marker));
            is_it && code.is_some_and(|code| self.has_another(code, marker))
        })
    }

    /// Whether data, or values to come, may have a code.
    fn may_be_used(&self, code: Scalar) -> bool {
        let [a, b] = self.scaled_ends.map(|end| self.code(end));
        match (integer(code), a.zip(b)) {
            (Some(_), _) => {
                self.placement.scale.promise == Promise::Storable || !self.is_free(code)
            }
            // Below the least magnitude that is kept, nothing is promised.
            (None, _) if self.facts.options.max_rel_error.is_some() && code.is_zero() => false,
            (None, Some((a, b))) => {
                let (low, high) = if is_less(b, a) { (b, a) } else { (a, b) };
                !is_less(code, low) && !is_less(high, code)
            }
            (None, None) => false,
        }
    }

    /// Whether a value other than the marker may have the marker's code: then a neighbour of the marker has the code, or a code
    /// on its other side.
    fn has_another(&self, code: Scalar, marker: Scalar) -> bool {
        let code_of = |value| self.code(self.placement.scaled(self.facts.working.of(value)?).ok()?);
        let is_reversed = self.placement.scale.factor() < 0.0;
        [false, true].into_iter().any(|is_above| {
            let other = next_to(marker, is_above).and_then(code_of);
            other.is_some_and(|other| match order(other, code) {
                Ordering::Equal => true,
                Ordering::Less => is_above != is_reversed,
                Ordering::Greater => is_above == is_reversed,
            })
        })
    }

    /// Finds a code for a marker or a fill value.
    pub(super) fn add(&mut self, value: Scalar, is_marker: bool) -> Result<()> {
        let working = in_working(value, self.facts.working.element_type)?;
        let special = self.encoded(working, value, is_marker).with_context(|| {
            let what = if is_marker { "missing value" } else { "fill value" };
            SpecialLost(format!(
                "the {what} {value} cannot be kept exactly in {}; use another --data-type, --scale \
                 or --offset",
                self.placement.target
            ))
        })?;
        self.keep(special, special.stand_in.unwrap_or(working));
        Ok(())
    }

    /// Takes the code of a special value, which goes through scale and offset as `natural`.
    fn keep(&mut self, special: Special, natural: Scalar) {
        let natural = || self.code(self.placement.scaled(natural).ok()?);
        // A code that may be shared must not belong to another special value.
        let code = special.entry.map_or_else(natural, |(_, code)| Some(code));
        self.taken.extend(code);
        if let Some((key, _)) = special.entry {
            self.keys.insert(key);
        }
        if let Some(stand_in) = special.stand_in {
            self.stand_ins.insert(stand_in);
        }
        self.specials.push(special);
    }

    /// Finds a code for the named kind of NaN. Every NaN gets this code, for keys of maps tell no kinds apart. A stand-in keeps its
    /// bits, which arithmetic would change.
    pub(super) fn add_named_nan(&mut self, kind: Scalar) -> Result<()> {
        if self.facts.options.nan_to != NanTo::Auto {
            bail!(
                "--missing {} names a kind of NaN, which --nan-to cannot give a code; leave one out",
                nan_pattern(kind)
            );
        }
        let (stand_in, entry) = self.stand_in().with_context(|| {
            SpecialLost(format!(
                "the missing value {} cannot be kept exactly in {}; use another --data-type, --scale or --offset",
                nan_pattern(kind),
                self.placement.target
            ))
        })?;
        self.keep(Special { value: kind, stand_in: Some(stand_in), entry }, stand_in);
        Ok(())
    }

    /// A way to encode a special value, which is also given in the working type, so that it comes back.
    fn encoded(&mut self, working: Scalar, value: Scalar, is_marker: bool) -> Result<Special> {
        let natural = Special { value, stand_in: None, entry: None };
        let Placement { offset, scale, .. } = self.placement;
        let is_one_to_one = self.facts.is_one_to_one(&scale);
        let is_within = self.facts.is_within(value);
        let scaled = self.placement.scaled(working).ok();
        if let Some(scaled) = scaled.filter(|&scaled| self.survives(working, scaled)) {
            let code = self.code(scaled).filter(|code| code.equals(scaled));
            let is_fit = |code: Scalar| {
                let is_own = is_marker && !is_one_to_one;
                !self.taken.contains(&code) && (!is_own || self.is_free(code))
            };
            if code.is_some_and(is_fit) {
                return Ok(natural);
            }
            let collides = self.keys.contains(scaled)
                || (!is_within && self.scaled_ends.iter().any(|end| end.equals(scaled)));
            // Values close to a special value inside the data may reach the last cast with the same value.
            let is_close = is_marker && is_within && (offset.is_some() || !working.is_zero());
            let code = self.open_code().filter(|_| !collides);
            if let Some(code) = code.filter(|_| !is_close) {
                return Ok(Special { entry: Some((scaled, code)), ..natural });
            }
        }
        let Some((stand_in, entry)) = self.stand_in() else {
            bail!("there is no stored value that decodes to it and is left free by the data");
        };
        Ok(Special { stand_in: Some(stand_in), entry, ..natural })
    }

    /// A value in the working type that no element has, by which a first cast replaces a special value; and its entry in
    /// the map of the last cast, if it needs one.
    fn stand_in(&mut self) -> Option<(Scalar, Option<(Scalar, Scalar)>)> {
        let Placement { scale, target, .. } = self.placement;
        if !target.is_integer() || self.facts.options.auto {
            return self.infinite_stand_in().or_else(|| self.finite_stand_in());
        }
        // An infinity that is written later is refused by an integer type, and must not become a marker; where the data leave
        // no number, there may be none.
        let may_be_infinite = scale.promise == Promise::Surveyed;
        let finite = self.finite_stand_in();
        finite.or_else(|| self.infinite_stand_in().filter(|_| may_be_infinite))
    }

    /// An infinity, which scale and offset do not change.
    fn infinite_stand_in(&mut self) -> Option<(Scalar, Option<(Scalar, Scalar)>)> {
        let Facts { survey, working, .. } = *self.facts;
        // Markers are in ascending order, so infinite markers are at the ends.
        let markers = survey.markers.values();
        let mut ends = markers.first().into_iter().chain(markers.last());
        if survey.infinite > 0 || ends.any(|end| !end.is_finite()) {
            return None;
        }
        [false, true].into_iter().find_map(|sign| {
            let infinity = Scalar::infinity(working.element_type, sign)?;
            let scaled = self.placement.scaled(infinity).ok()?;
            let is_new = !self.keys.contains(scaled) && !self.stand_ins.contains(infinity);
            let code = self.open_code().filter(|_| is_new)?;
            Some((infinity, Some((scaled, code))))
        })
    }

    /// A number outside the data.
    fn finite_stand_in(&mut self) -> Option<(Scalar, Option<(Scalar, Scalar)>)> {
        let working = self.facts.working;
        if let Some((least, greatest)) = integer(working.least).zip(integer(working.greatest)) {
            // No element has a value next to the data.
            let next_to = (1..=8).flat_map(|distance| [greatest + distance, least - distance]);
            let mut values = next_to.filter_map(|value| scalar(value, working.element_type));
            return values
                .find(|&value| self.is_natural_stand_in(value))
                .map(|value| (value, None));
        }
        // The decoded value of a free code.
        let most = 4 + 4 * self.taken.len();
        while self.first_stand_in < most {
            let code = self.spare_code(self.first_stand_in);
            if let Some(value) = code.and_then(|code| self.decoded_stand_in(code)) {
                return Some((value, None));
            }
            self.first_stand_in += 1;
        }
        None
    }

    /// Whether a value is encoded like every element, gets a code of its own and comes back.
    fn is_natural_stand_in(&self, value: Scalar) -> bool {
        let scaled = self.placement.scaled(value).ok();
        let scaled = scaled.filter(|&scaled| self.survives(value, scaled));
        let code = scaled.and_then(|scaled| self.code(scaled));
        code.is_some_and(|code| self.is_open(code)) && !self.stand_ins.contains(value)
    }

    /// The value to which a free code decodes, if it has one of its own.
    fn decoded_stand_in(&self, code: Scalar) -> Option<Scalar> {
        let value =
            Some(code).filter(|&code| self.is_open(code)).and_then(|code| self.decoded(code))?;
        if !value.is_finite() || self.facts.is_within(value) {
            return None;
        }
        let code = self.placement.scaled(value).ok().and_then(|scaled| self.code(scaled))?;
        let is_same = self.decoded(code).is_some_and(|back| back.equals(value));
        let is_new = self.is_open(code) && !self.stand_ins.contains(value);
        (is_same && is_new).then_some(value)
    }
}
