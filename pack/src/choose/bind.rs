//! Binds codecs with an offset, a scale and a stored type, and stored codes for NaN, missing markers and the
//! fill value.

use anyhow::bail;
use recast_kernels::{Affine, ElementType, OutOfRange, Rounding, Scalar, Step, reference};
use zarr_recast::{BindOptions, CastValue, Chain, Codec, ScaleOffset, fill_value};

use super::chooser::{Chooser, refused};
use super::codes::map;
use super::packing::{CodeWay, Packing, Promise, Special, SpecialLost, bound};
use super::specials::Ways;
use crate::error::Result;
use crate::options::PackOptions;
use crate::scan::lattice::Lattice;
use crate::scan::number::integer;

/// Where the elements go in the stored type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) offset: Option<Scalar>,
    pub(super) scale: Option<Scalar>,
    pub(super) target: ElementType,
    pub(super) grid: Option<Lattice>,
    pub(super) promise: Promise,
    /// Whether no value may decode to a missing marker, not even one next to it.
    pub(super) avoids_markers: bool,
    /// Whether NaN and special values get codes next to those of the data, and not at the ends of the type.
    pub(super) is_compact: bool,
}

impl Place {
    /// Where a packing has its values.
    pub(super) fn of(packing: &Packing) -> Self {
        Self {
            offset: packing.offset,
            scale: packing.scale,
            target: packing.chain.encoded_type(),
            grid: packing.grid,
            promise: packing.promise,
            avoids_markers: packing.avoids_markers,
            is_compact: false,
        }
    }
}

impl Chooser<'_> {
    /// The stored codes of the ends of the range, each with its scaled value, and whether elements wrap.
    fn reached(
        &self,
        ends: [(Scalar, Scalar); 2],
        target: ElementType,
    ) -> Result<(Vec<i128>, bool)> {
        let PackOptions { rounding, out_of_range, .. } = *self.options;
        // Every operation is monotonic, so the ends of the range bound the codes of all elements,
        // unless elements wrap; only the elements themselves show that.
        // A requested type may be too small; a chosen type may not.
        let may_leave = self.options.is_explicit() && self.options.data_type.is_some();
        let mut reached = Vec::new();
        let mut wraps = false;
        for (value, scaled) in ends {
            match (scaled.cast(target, rounding, OutOfRange::Error), out_of_range) {
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
        Ok((reached, wraps))
    }

    /// Binds the codecs of a place, with stored codes for NaN, missing markers and the fill value.
    pub(super) fn bind(&self, place: Place) -> Result<Packing> {
        let Place { offset, scale, target, grid, promise, avoids_markers, is_compact } = place;
        let rounding = self.options.rounding;
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
        let back = |value| reference::run(value, &[Step::InverseScale(affine)], 0).ok();
        let ends = [(self.least, forth(self.least)?), (self.greatest, forth(self.greatest)?)];
        let (mut reached, wraps) = self.reached(ends, target)?;
        self.check_promised_ends(target, rounding, &forth)?;
        self.check_promise(&place)?;
        if wraps {
            reached.clear();
        }
        let data = reached.iter().min().copied().zip(reached.iter().max().copied());
        let beside = data.filter(|_| is_compact);
        let is_free = |code: Scalar| {
            integer(code)
                .zip(data)
                .is_none_or(|(code, (lowest, highest))| code < lowest || code > highest)
        };
        let mut nan = if self.has_nan() { self.nan(target, beside, &is_free)? } else { None };
        let scaled_ends = ends.map(|(_, scaled)| scaled);
        let mut ways = Ways {
            target,
            beside,
            rounding,
            nan,
            has_offset: offset.is_some(),
            is_one_to_one: self.is_one_to_one(scale),
            scaled_ends,
            promise,
            is_free: &is_free,
            forth: &forth,
            back: &back,
            taken: nan.into_iter().collect(),
            specials: Vec::new(),
        };
        let mut is_risky = false;
        for &marker in self.survey.markers.values() {
            let is_hit = !wraps && !ways.is_one_to_one && self.is_hit(marker, &ways);
            if is_hit && avoids_markers {
                let text = format!(
                    "values next to {marker}, which marks missing ones, would decode to it"
                );
                return Err(SpecialLost(text).into());
            }
            is_risky |= is_hit;
            self.add_special(marker, true, &mut ways)?;
        }
        // In the order of their bits, so that the codecs do not depend on which one is the array's own.
        for &fill in &self.survey.fill_values {
            if !fill.is_nan() && !self.survey.markers.contains(fill) {
                self.add_special(fill, false, &mut ways)?;
            }
        }
        let Ways { specials, taken, .. } = ways;
        // For values that wrap, the free codes are not known.
        if !self.has_nan() && !self.options.no_nan && !wraps {
            nan = self.nan(target, beside, &|code| is_free(code) && !taken.contains(&code))?;
        }
        let codecs = self.codecs(place, nan, &specials);
        let source = self.survey.element_type;
        for &fill in &self.survey.fill_values {
            bound(source, fill, &codecs)?;
        }
        let chain = bound(source, self.survey.fill_value, &codecs)?;
        self.check_markers(&chain)?;
        let strict = self.strict(&codecs)?;
        Ok(Packing {
            codecs,
            chain,
            strict,
            offset,
            scale,
            nan,
            specials,
            reached: data,
            grid,
            only: grid.filter(|_| self.exceeds_bound(1.0 / scale.map_or(1.0, Scalar::to_f64))),
            promise,
            is_risky,
            avoids_markers,
        })
    }

    /// Refuses a chain that does not return a marker bit for bit.
    fn check_markers(&self, chain: &Chain) -> Result<()> {
        for marker in self.survey.markers.values() {
            let bytes = marker.to_ne_bytes();
            let decoded = chain.encode(&bytes).and_then(|code| chain.decode(&code));
            if !decoded.is_ok_and(|decoded| decoded == bytes) {
                let target = chain.encoded_type();
                let text = format!(
                    "{marker}, which marks missing values, does not come back from {target}"
                );
                return Err(SpecialLost(text).into());
            }
        }
        Ok(())
    }

    /// The same codecs with `out_of_range` as an error, if they have another mode.
    fn strict(&self, codecs: &[Codec]) -> Result<Option<Chain>> {
        let Some((Codec::CastValue(last), rest)) = codecs.split_last() else { return Ok(None) };
        if self.options.out_of_range == OutOfRange::Error {
            return Ok(None);
        }
        let mut last = last.clone();
        last.out_of_range = OutOfRange::Error;
        let codecs = [rest, &[last.into()]].concat();
        let source = self.survey.element_type;
        Ok(Some(Chain::bind(source, None, &codecs, &BindOptions::default())?))
    }

    /// The codecs themselves.
    fn codecs(&self, place: Place, nan: Option<Scalar>, specials: &[Special]) -> Vec<Codec> {
        let Place { offset, scale, target, .. } = place;
        let PackOptions { rounding, out_of_range, .. } = *self.options;
        let mut codecs = Vec::new();
        let remapped: Vec<(Scalar, Scalar)> = specials
            .iter()
            .filter_map(|special| match special.way {
                CodeWay::Remapped(value, _) => Some((special.value, value)),
                CodeWay::Natural | CodeWay::Mapped(..) => None,
            })
            .collect();
        if self.working != self.survey.element_type || !remapped.is_empty() {
            let mut first = CastValue::new(self.working);
            if self.working != self.survey.element_type {
                // A decoded value may exceed the type by less than the bound.
                first.out_of_range = OutOfRange::Clamp;
            }
            first.scalar_map = map(&remapped);
            codecs.push(first.into());
        }
        if offset.is_some() || scale.is_some() {
            codecs.push(ScaleOffset::new(offset.map(Into::into), scale.map(Into::into)).into());
        }
        let mut pairs = Vec::new();
        pairs.extend(Scalar::nan(self.working).zip(nan));
        pairs.extend(specials.iter().filter_map(|special| match special.way {
            CodeWay::Mapped(scaled, code) | CodeWay::Remapped(_, Some((scaled, code))) => {
                Some((scaled, code))
            }
            CodeWay::Natural | CodeWay::Remapped(_, None) => None,
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

fn scale_text(scale: Option<Scalar>) -> String {
    scale.map(|scale| fill_value::to_json(scale).to_string()).unwrap_or_default()
}
