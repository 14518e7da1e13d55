//! Codecs of an offset, a scale and a stored type, with stored codes for NaN and the fill value.

use anyhow::{Context, bail};
use recast_kernels::{
    ElementType, FloatOverflow, OutOfRange, Rounding, Scalar, ScaleOffset as Affine, Step,
    reference,
};
use zarr_recast::{BindOptions, CastValue, Chain, Codec, ScaleOffset, fill_value};

use super::chooser::{Chooser, refused};
use super::codes::{ends, map};
use super::packing::{Fill, FillWay, Packing, bound};
use crate::error::Result;
use crate::options::{NanTo, PackOptions};
use crate::scan::number::{integer, scalar};
use crate::scan::survey::Survey;

/// Where the elements go in the stored type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) offset: Option<Scalar>,
    pub(super) scale: Option<Scalar>,
    pub(super) target: ElementType,
    pub(super) is_guess: bool,
}

impl Chooser<'_> {
    /// Binds the codecs of a place, with stored values for NaN and the fill value.
    pub(super) fn bind(&self, place: Place) -> Result<Packing> {
        let Place { offset, scale, target, is_guess } = place;
        let PackOptions { rounding, out_of_range, .. } = *self.options;
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
        let may_leave = self.options.is_explicit() && self.options.data_type.is_some();
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
                let may_remap = !fills.iter().any(|fill| matches!(fill.way, FillWay::Remapped(..)));
                let (free, forth, back) = (&free, &forth, &back);
                let ways = Ways { target, rounding, nan, is_within, may_remap, free, forth, back };
                let way = self.fill_way(working, &ends.map(|(_, scaled)| scaled), &ways);
                let way = way.with_context(|| {
                    format!(
                        "the fill value {value} cannot be kept exactly in {target}; use another \
                         --data-type, --scale or --offset"
                    )
                })?;
                taken.extend(match way {
                    FillWay::Mapped(_, code) | FillWay::Remapped(_, Some((_, code))) => Some(code),
                    FillWay::Natural => forth(working).ok().and_then(|scaled| cast(scaled).ok()),
                    FillWay::Remapped(value, None) => forth(value).ok().and_then(|v| cast(v).ok()),
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
        let nan_to = &self.options.nan_to;
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
                    .or_else(|| ends.first().copied().filter(|_| self.options.allow_collisions));
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
        let may_collide = self.options.is_explicit() || self.options.allow_collisions;
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
        let Ways { target, rounding, nan, is_within, may_remap, free, forth, back } = *ways;
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
        if !may_remap {
            bail!("another fill value has taken the way there is");
        }
        if self.working.has_infinity() && self.survey.infinite == 0 {
            // A first cast takes the fill value to infinity, which scale and offset leave alone.
            let infinity = Scalar::infinity(self.working, false);
            let scaled = infinity.and_then(|infinity| forth(infinity).ok());
            if let Some(((infinity, scaled), code)) = infinity.zip(scaled).zip(free_code()) {
                return Ok(FillWay::Remapped(infinity, Some((scaled, code))));
            }
        } else if let Some((least, greatest)) = integer(self.least).zip(integer(self.greatest)) {
            // Next to the data there is a value that no element has.
            let beside = [greatest + 1, least - 1].map(|value| scalar(value, self.working));
            for value in beside.into_iter().flatten() {
                if forth(value).ok().and_then(natural).is_some_and(free) {
                    return Ok(FillWay::Remapped(value, None));
                }
            }
        }
        bail!("there is no stored value that decodes to it and is left free by the data");
    }

    /// The codecs themselves.
    fn codecs(&self, place: Place, nan: Option<Scalar>, fills: &[Fill]) -> Vec<Codec> {
        let Place { offset, scale, target, .. } = place;
        let PackOptions { rounding, out_of_range, .. } = *self.options;
        let mut codecs = Vec::new();
        let remapped = fills.iter().find_map(|fill| match fill.way {
            FillWay::Remapped(value, _) => Some((fill.value, value)),
            _ => None,
        });
        if self.working != self.survey.element_type || remapped.is_some() {
            let mut first = CastValue::new(self.working);
            if self.working != self.survey.element_type {
                // A decoded value may leave the type by less than the bound.
                first.out_of_range = OutOfRange::Clamp;
            }
            first.scalar_map = map(remapped.as_slice());
            codecs.push(first.into());
        }
        if offset.is_some() || scale.is_some() {
            codecs.push(ScaleOffset::new(offset.map(Into::into), scale.map(Into::into)).into());
        }
        let mut pairs = Vec::new();
        pairs.extend(Scalar::nan(self.working).zip(nan));
        pairs.extend(fills.iter().filter_map(|fill| match fill.way {
            FillWay::Mapped(scaled, code) | FillWay::Remapped(_, Some((scaled, code))) => {
                Some((scaled, code))
            }
            FillWay::Natural | FillWay::Remapped(_, None) => None,
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
    may_remap: bool,
    /// Whether a stored value is taken neither by data nor by NaN.
    free: &'a dyn Fn(Scalar) -> bool,
    /// Scale and offset, and their inverse.
    forth: &'a dyn Fn(Scalar) -> Result<Scalar>,
    back: &'a dyn Fn(Scalar) -> Option<Scalar>,
}

fn scale_text(scale: Option<Scalar>) -> String {
    scale.map(|scale| fill_value::to_json(scale).to_string()).unwrap_or_default()
}
