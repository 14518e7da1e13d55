//! Binds the codecs of a placement, with stored codes for NaN, missing markers and the fill value.

use anyhow::bail;
use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};
use zarr_recast::{BindOptions, CastValue, Chain, Codec, ScalarMap, ScaleOffset, fill_value};

use super::candidate::{Candidate, Placement, Special, SpecialLost, bound, factor};
use super::chooser::Chooser;
use super::codes::CodeAllocator;
use crate::error::Result;
use crate::metadata::shard_codecs::unread_by_gdal;
use crate::options::{PackOptions, Reader};
use crate::scan::number::{comes_back, encoded, integer};

impl Chooser<'_> {
    /// The lowest and the highest code of the data, none for a floating-point type, and whether elements wrap. Every
    /// operation is monotonic, so the ends of the range, each with its scaled value, bound the codes of all elements;
    /// if some wrap, only the elements themselves show their codes.
    fn code_range(
        &self,
        target: ElementType,
        ends: [(Scalar, Scalar); 2],
    ) -> Result<(Option<(i128, i128)>, bool)> {
        let PackOptions { rounding, out_of_range, .. } = *self.options;
        // A requested type may be too small; a chosen type may not.
        let may_leave = self.options.is_explicit() && self.options.data_type.is_some();
        let mut codes = Vec::new();
        let mut wraps = false;
        for (value, scaled) in ends {
            match (scaled.cast(target, rounding, OutOfRange::Error), out_of_range) {
                (Ok(code), _) => codes.extend(integer(code)),
                (Err(_), OutOfRange::Clamp) if may_leave => {
                    let clamped = scaled.cast(target, rounding, OutOfRange::Clamp);
                    codes.extend(clamped.ok().and_then(integer));
                }
                (Err(_), OutOfRange::Wrap) if may_leave => wraps = true,
                (Err(_), mode) => bail!(
                    "{value} becomes {scaled}, out of range for {target} ({}); use a wider \
                     --data-type, another --scale or --offset, or {}",
                    Scalar::range(target),
                    if mode == OutOfRange::Error {
                        "--out-of-range clamp"
                    } else {
                        "--scale 1, which casts values as they are"
                    }
                ),
            }
        }
        let range = codes.iter().min().copied().zip(codes.iter().max().copied());
        Ok((range.filter(|_| !wraps), wraps))
    }

    /// Binds the codecs of a placement, with stored codes for NaN, missing markers and the fill value.
    pub(super) fn bind(&self, placement: Placement) -> Result<Candidate> {
        self.check_interrupt()?;
        let Placement { scale, grid, avoids_markers, .. } = placement;
        if let Some(scale) = scale.filter(|scale| scale.is_zero() || !scale.is_finite()) {
            let text = fill_value::to_json(scale);
            bail!("--scale is {text} in {}; it must be finite and not 0", self.working);
        }
        let scaled_ends = [placement.scaled(self.least)?, placement.scaled(self.greatest)?];
        let ends = [(self.least, scaled_ends[0]), (self.greatest, scaled_ends[1])];
        let (code_range, wraps) = self.code_range(placement.target, ends)?;
        self.check_promised_ends(&placement)?;
        self.check_promise(&placement)?;
        let mut allocator = CodeAllocator::new(self, placement, code_range, scaled_ends);
        match self.named_nan {
            Some(kind) => allocator.add_named_nan(kind)?,
            None if self.has_nan() => allocator.add_nan()?,
            None => {}
        }
        let mut may_decode_to_marker = false;
        for &marker in self.survey.markers.values() {
            let is_hit = !wraps && !self.is_one_to_one(scale) && allocator.is_hit(marker);
            if is_hit && avoids_markers {
                let text = format!(
                    "values next to {marker}, which marks missing ones, would decode to it"
                );
                return Err(SpecialLost(text).into());
            }
            may_decode_to_marker |= is_hit;
            allocator.add(marker, true)?;
        }
        // In the order of their bits, so that the codecs do not depend on which one is the array's own.
        for &fill in &self.survey.fill_values {
            if !fill.is_nan() && !self.survey.markers.contains(fill) {
                allocator.add(fill, false)?;
            }
        }
        // NaN to come; for values that wrap, the free codes are not known.
        if !self.has_nan() && !self.options.no_nan && !wraps && self.named_nan.is_none() {
            allocator.add_nan()?;
        }
        let CodeAllocator { nan, specials, .. } = allocator;
        let codecs = self.codecs(placement, nan, &specials);
        self.check_gdal(&codecs)?;
        let source = self.survey.element_type;
        for &fill in &self.survey.fill_values {
            bound(source, fill, &codecs)?;
        }
        let chain = bound(source, self.survey.fill_value, &codecs)?;
        self.check_markers(&chain)?;
        let range_checked = self.range_checked(&codecs)?;
        let step = 1.0 / factor(scale);
        Ok(Candidate {
            placement,
            codecs,
            rounder: None,
            range_checked,
            nan: nan.or_else(|| encoded(&chain, self.named_nan?)),
            specials,
            code_range,
            only: grid.filter(|_| self.exceeds_bound(step)),
            may_decode_to_marker,
            relative_from: self.relative_from(&placement),
            chain,
        })
    }

    /// Refuses codecs that GDAL does not have, if it is to read them.
    fn check_gdal(&self, codecs: &[Codec]) -> Result<()> {
        let source = self.survey.element_type;
        if self.options.readers.contains(&Reader::Gdal)
            && let Some(other) = unread_by_gdal(source, codecs)
        {
            bail!(
                "GDAL ({}) has no {other}; use another --data-type, --readers any, or leave \
                 --readers out",
                Reader::GDAL
            );
        }
        Ok(())
    }

    /// Refuses a chain that does not return a marker bit for bit.
    fn check_markers(&self, chain: &Chain) -> Result<()> {
        for marker in self.survey.markers.values().iter().chain(&self.named_nan) {
            if !comes_back(chain, *marker) {
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
    fn range_checked(&self, codecs: &[Codec]) -> Result<Option<Chain>> {
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
    fn codecs(
        &self,
        placement: Placement,
        nan: Option<Scalar>,
        specials: &[Special],
    ) -> Vec<Codec> {
        let Placement { offset, scale, target, .. } = placement;
        let PackOptions { rounding, out_of_range, .. } = *self.options;
        let mut codecs = Vec::new();
        let stand_ins = specials.iter();
        let stand_ins: Vec<(Scalar, Scalar)> =
            stand_ins.filter_map(|special| Some((special.value, special.stand_in?))).collect();
        if self.working != self.survey.element_type || !stand_ins.is_empty() {
            let mut first = CastValue::new(self.working);
            if self.survey.element_type.is_integer() && self.working.is_float() {
                // A decoded value may exceed the type by less than the bound.
                first.out_of_range = OutOfRange::Clamp;
            }
            first.scalar_map = map(&stand_ins);
            codecs.push(first.into());
        }
        if offset.is_some() || scale.is_some() {
            codecs.push(ScaleOffset::new(offset.map(Into::into), scale.map(Into::into)).into());
        }
        let nan = Scalar::nan(self.working).zip(nan);
        let entries = specials.iter().filter_map(|special| special.entry);
        let entries: Vec<(Scalar, Scalar)> = nan.into_iter().chain(entries).collect();
        if target != self.working || !entries.is_empty() {
            let mut last = CastValue::new(target);
            last.rounding = (rounding != Rounding::NearestEven).then_some(rounding);
            last.out_of_range = out_of_range;
            last.scalar_map = map(&entries);
            codecs.push(last.into());
        }
        codecs
    }
}

/// A map that encodes and decodes each pair; `None` without pairs.
fn map(pairs: &[(Scalar, Scalar)]) -> Option<ScalarMap> {
    (!pairs.is_empty()).then(|| ScalarMap {
        encode: Some(pairs.iter().copied().collect()),
        decode: Some(pairs.iter().map(|&(value, code)| (code, value)).collect()),
    })
}
