//! Stored codes for NaN, missing markers and fill values: each must come back exactly. A marker shares its code with
//! no other value. The code of a fill value that is not a marker may be shared by values that decode to it within
//! the bound.

use anyhow::{Context, bail};
use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};

use super::chooser::{Chooser, refused};
use super::codes::spare_codes;
use super::packing::{CodeWay, Promise, Special, SpecialLost};
use crate::error::Result;
use crate::options::NanTo;
use crate::scan::number::{integer, scalar};
use crate::scan::survey::Survey;

/// The properties of a place that the search for codes needs, and the codes found.
pub(super) struct Ways<'a> {
    pub(super) target: ElementType,
    /// The data's lowest and highest code, if special codes go next to them.
    pub(super) beside: Option<(i128, i128)>,
    pub(super) rounding: Rounding,
    pub(super) nan: Option<Scalar>,
    pub(super) has_offset: bool,
    /// Whether every value has a code of its own.
    pub(super) is_one_to_one: bool,
    /// The smallest and the largest value before the last cast.
    pub(super) scaled_ends: [Scalar; 2],
    pub(super) promise: Promise,
    /// Whether the data leave a code free.
    pub(super) is_free: &'a dyn Fn(Scalar) -> bool,
    /// Scale and offset, and their inverse.
    pub(super) forth: &'a dyn Fn(Scalar) -> Result<Scalar>,
    pub(super) back: &'a dyn Fn(Scalar) -> Option<Scalar>,
    /// The codes of NaN and special values.
    pub(super) taken: Vec<Scalar>,
    pub(super) specials: Vec<Special>,
}

impl Ways<'_> {
    fn code(&self, scaled: Scalar) -> Option<Scalar> {
        scaled.cast(self.target, self.rounding, OutOfRange::Error).ok()
    }

    /// Whether no data and no other special value use a code.
    fn is_open(&self, code: Scalar) -> bool {
        (self.is_free)(code) && !self.taken.contains(&code)
    }

    /// Whether a value in the working type survives scale and offset.
    fn survives(&self, value: Scalar, scaled: Scalar) -> bool {
        (self.back)(scaled).is_some_and(|back| back.equals(value))
    }

    /// A free code. In a floating-point type, an infinity is free if the data have none.
    fn open_code(&self, may_be_infinite: bool) -> Option<Scalar> {
        let count = 4 + 2 * self.taken.len();
        let infinities = [false, true].into_iter().filter(|_| may_be_infinite);
        let infinities = infinities.filter_map(|sign| Scalar::infinity(self.target, sign));
        let codes = spare_codes(self.target, self.beside, count).into_iter().chain(infinities);
        codes.into_iter().find(|&code| self.is_open(code))
    }

    /// Whether another special value reaches the last cast with the same value.
    fn is_key(&self, scaled: Scalar) -> bool {
        self.specials.iter().any(|special| match special.way {
            CodeWay::Mapped(key, _) | CodeWay::Remapped(_, Some((key, _))) => key.equals(scaled),
            CodeWay::Natural | CodeWay::Remapped(_, None) => false,
        })
    }

    /// Whether the first cast already gives a special value this one.
    fn is_stand_in(&self, value: Scalar) -> bool {
        self.specials.iter().any(|special| match special.way {
            CodeWay::Remapped(stand_in, _) => stand_in.equals(value),
            CodeWay::Natural | CodeWay::Mapped(..) => false,
        })
    }
}

impl Chooser<'_> {
    /// Whether there is NaN, or a code is named for it; otherwise NaN gets a code for later writes.
    pub(super) fn has_nan(&self) -> bool {
        let Survey { fill_values, nan, .. } = self.survey;
        self.options.nan_to != NanTo::Auto
            || *nan > 0
            || fill_values.iter().any(|fill| fill.is_nan())
    }

    /// The stored code for NaN, if the types need one.
    pub(super) fn nan(
        &self,
        target: ElementType,
        beside: Option<(i128, i128)>,
        is_free: &dyn Fn(Scalar) -> bool,
    ) -> Result<Option<Scalar>> {
        let nan_to = &self.options.nan_to;
        let asked = *nan_to != NanTo::Auto;
        if !self.survey.element_type.has_nan() || (target.has_nan() && !asked) {
            return Ok(None);
        }
        let has_nan = self.has_nan();
        let code = match nan_to {
            NanTo::Min => Scalar::min(target),
            NanTo::Max => Scalar::max(target),
            NanTo::Value(value) => value.to_scalar(target).context("--nan-to")?,
            NanTo::Auto => {
                // Markers may use the codes nearest to the ends.
                let ends = spare_codes(target, beside, 2 * (1 + self.reserved_codes()));
                let free = ends.iter().copied().find(|&code| is_free(code));
                // For later writes, a code is reserved if scale and type leave one.
                let may_lack = self.options.is_explicit() || target.is_float();
                if !has_nan && free.is_none() && may_lack {
                    return Ok(None);
                }
                let free = free
                    .or_else(|| ends.first().copied().filter(|_| self.options.allow_collisions));
                return Ok(Some(free.with_context(|| {
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
        let may_collide = self.options.is_explicit() || self.options.allow_collisions;
        if !is_free(code) && !may_collide {
            bail!(
                "--nan-to names {code}, but values use it; name another code, or let these values \
                 become NaN with --allow-collisions"
            );
        }
        Ok(Some(code))
    }

    /// Whether a code of data decodes to a marker: values next to the marker, if there are any, would become
    /// missing.
    pub(super) fn is_hit(&self, marker: Scalar, ways: &Ways<'_>) -> bool {
        let working = marker.cast(self.working, Rounding::NearestEven, OutOfRange::Error).ok();
        let scaled = working.and_then(|value| Some((value, (ways.forth)(value).ok()?)));
        let Some((working, scaled)) = scaled else { return false };
        [Rounding::TowardsNegative, Rounding::TowardsPositive].into_iter().any(|rounding| {
            let code = scaled.cast(ways.target, rounding, OutOfRange::Error).ok();
            // Values to come may have any code.
            let is_used = |code| ways.promise == Promise::Storable || !(ways.is_free)(code);
            let code = code.filter(|&code| integer(code).is_some() && is_used(code));
            let value = code.and_then(|code| {
                code.cast(self.working, Rounding::NearestEven, OutOfRange::Error).ok()
            });
            value.and_then(ways.back).is_some_and(|value| value.equals(working))
        })
    }

    /// Finds a code for a marker or a fill value.
    pub(super) fn add_special(
        &self,
        value: Scalar,
        is_marker: bool,
        ways: &mut Ways<'_>,
    ) -> Result<()> {
        let working = value.cast(self.working, Rounding::NearestEven, OutOfRange::Clamp);
        let working = working.map_err(|reason| refused(value, self.working, reason))?;
        let way = self.way(working, value, is_marker, ways).with_context(|| {
            let what = if is_marker { "missing value" } else { "fill value" };
            SpecialLost(format!(
                "the {what} {value} cannot be kept exactly in {}; use another --data-type, --scale \
                 or --offset",
                ways.target
            ))
        })?;
        let code = match way {
            CodeWay::Mapped(_, code) | CodeWay::Remapped(_, Some((_, code))) => Some(code),
            CodeWay::Natural => (ways.forth)(working).ok().and_then(|scaled| ways.code(scaled)),
            CodeWay::Remapped(stand_in, None) => {
                (ways.forth)(stand_in).ok().and_then(|scaled| ways.code(scaled))
            }
        };
        // A code that may be shared must not belong to another special value.
        ways.taken.extend(code);
        ways.specials.push(Special { value, way });
        Ok(())
    }

    /// A way to encode a special value, in the working type, so that it comes back.
    fn way(
        &self,
        working: Scalar,
        value: Scalar,
        is_marker: bool,
        ways: &Ways<'_>,
    ) -> Result<CodeWay> {
        let is_within = self.is_within(value);
        let may_be_infinite = self.survey.infinite == 0;
        let scaled = (ways.forth)(working).ok();
        if let Some(scaled) = scaled.filter(|&scaled| ways.survives(working, scaled)) {
            let code = ways.code(scaled).filter(|code| code.equals(scaled));
            let is_fit = |code: Scalar| {
                let is_own = if is_marker && !ways.is_one_to_one {
                    ways.is_open(code)
                } else {
                    !ways.taken.contains(&code)
                };
                is_own && Some(code) != ways.nan
            };
            if code.is_some_and(is_fit) {
                return Ok(CodeWay::Natural);
            }
            let collides = ways.is_key(scaled)
                || (!is_within && ways.scaled_ends.iter().any(|end| end.equals(scaled)));
            // Values close to a special value inside the data may reach the last cast with the same value.
            let is_close = is_marker && is_within && (ways.has_offset || !working.is_zero());
            let code = ways.open_code(may_be_infinite).filter(|_| !collides);
            if let Some(code) = code.filter(|_| !is_close) {
                return Ok(CodeWay::Mapped(scaled, code));
            }
        }
        if let Some(way) = self.stand_in(may_be_infinite, ways) {
            return Ok(way);
        }
        bail!("there is no stored value that decodes to it and is left free by the data");
    }

    /// A value in the working type that no element has, by which a first cast replaces a special value; and its
    /// code.
    fn stand_in(&self, may_be_infinite: bool, ways: &Ways<'_>) -> Option<CodeWay> {
        let has_infinite = |special: &Scalar| !special.is_finite();
        // One that comes is refused by an integer type, and must not become a marker.
        let may_come = ways.promise != Promise::Surveyed && ways.target.is_integer();
        let may_be_infinite =
            may_be_infinite && !may_come && !self.survey.markers.values().iter().any(has_infinite);
        // Infinities, which scale and offset do not change.
        for sign in [false, true].into_iter().filter(|_| may_be_infinite) {
            let Some(infinity) = Scalar::infinity(self.working, sign) else { continue };
            let scaled = (ways.forth)(infinity).ok();
            let scaled = scaled
                .filter(|&scaled| !scaled.is_finite() && !scaled.is_nan() && !ways.is_key(scaled));
            if let Some((scaled, code)) = scaled.zip(ways.open_code(may_be_infinite))
                && !ways.is_stand_in(infinity)
            {
                return Some(CodeWay::Remapped(infinity, Some((scaled, code))));
            }
        }
        let natural = |value: Scalar| {
            let scaled = (ways.forth)(value).ok().filter(|&scaled| ways.survives(value, scaled));
            let is_open =
                scaled.and_then(|scaled| ways.code(scaled)).is_some_and(|code| ways.is_open(code));
            (is_open && !ways.is_stand_in(value)).then_some(CodeWay::Remapped(value, None))
        };
        if let Some((least, greatest)) = integer(self.least).zip(integer(self.greatest)) {
            // The value next to the data is one that no element has.
            let beside = (1..=8).flat_map(|distance| [greatest + distance, least - distance]);
            return beside.filter_map(|value| scalar(value, self.working)).find_map(natural);
        }
        // The decoded value of a free code.
        let codes = spare_codes(ways.target, ways.beside, 4 + 4 * ways.taken.len()).into_iter();
        let codes = codes.filter(|&code| ways.is_open(code));
        let values = codes.filter_map(|code| {
            let exact = code.cast(self.working, Rounding::NearestEven, OutOfRange::Error).ok()?;
            (ways.back)(exact).filter(|value| value.is_finite() && !self.is_within(*value))
        });
        values.into_iter().find_map(|value| {
            let code = (ways.forth)(value).ok().and_then(|scaled| ways.code(scaled))?;
            let back = code.cast(self.working, Rounding::NearestEven, OutOfRange::Error).ok();
            let is_same = back.and_then(ways.back).is_some_and(|back| back.equals(value));
            let is_new = ways.is_open(code) && !ways.is_stand_in(value);
            (is_same && is_new).then_some(CodeWay::Remapped(value, None))
        })
    }
}
