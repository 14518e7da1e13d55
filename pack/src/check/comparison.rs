//! The tolerance for decoded elements, and their errors, summed over any number of chunks.

use recast_kernels::{ElementType, Scalar};
use serde::Serialize;

use super::sums::Sums;
use crate::json;
use crate::options::{Limits, PackOptions};
use crate::scan::number::Number;

/// The tolerance for decoded elements. In any case NaN, infinities and missing values must come back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    /// The constant part of the largest allowed |decoded − original|.
    pub(crate) absolute: f64,
    /// The part of it that is multiplied by |original|.
    pub(crate) relative: f64,
    /// Whether each part is a bound of its own, and not the sum of both.
    pub(crate) is_each: bool,
    /// The user's name for the bound.
    pub(crate) name: &'static str,
    /// Whether valid values may decode to NaN or a missing marker.
    pub(crate) allow_collisions: bool,
    /// What else every element must keep.
    pub(crate) keeps: Keeps,
}

impl Tolerance {
    /// The same with a bound of |decoded − original| and one in proportion to |original|, each of its own.
    pub(crate) fn with_both(self, absolute: f64, relative: f64) -> Self {
        // Of a bound of 0, the other one has no part.
        let is_each = absolute > 0.0 && relative > 0.0;
        let (absolute, relative) = if is_each { (absolute, relative) } else { (0.0, 0.0) };
        Self { absolute, relative, is_each, ..self }
    }

    /// Whether it is in proportion to |original| alone.
    pub(crate) fn is_relative(&self) -> bool {
        self.absolute == 0.0 && self.relative > 0.0
    }

    /// The largest allowed |decoded − original| of a value of a magnitude, except for rounding.
    #[inline(always)]
    pub(crate) fn bound(&self, magnitude: f64) -> f64 {
        let relative = self.relative * magnitude;
        if self.is_each { self.absolute.min(relative) } else { self.absolute + relative }
    }
}

/// What an element must keep, besides its value within the bound.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Keeps {
    /// Within these, if it is.
    pub(crate) limits: Option<Limits>,
    /// 0 stays 0.
    pub(crate) zero: bool,
    /// No value changes its sign; 0 stays 0.
    pub(crate) sign: bool,
    /// All its bits.
    pub(crate) bits: bool,
}

impl Keeps {
    /// What options ask of elements of a type. All bits of an integer come back if its value does.
    pub(crate) fn of(options: &PackOptions, element_type: ElementType) -> Self {
        Self {
            limits: options.limits.map(|limits| limits.in_type(element_type)),
            zero: options.max_mean_rel_error.is_some(),
            sign: options.keep_sign,
            bits: options.lossless && element_type.is_float(),
        }
    }

    /// Whether an original value and what it decodes to keep limits, zeros and signs.
    #[inline(always)]
    pub(crate) fn holds<N: Number>(&self, x: N, y: N) -> bool {
        let Broken { limits, sign, zero, .. } = self.broken(x, y);
        !(limits || sign || zero)
    }

    /// Which of limits, zeros and signs an original value and what it decodes to break.
    #[inline(always)]
    pub(super) fn broken<N: Number>(&self, x: N, y: N) -> Broken {
        let Self { limits, zero, sign, .. } = self;
        let limits = limits.unwrap_or_default();
        let least = limits.least.unwrap_or(f64::NEG_INFINITY);
        let greatest = limits.greatest.unwrap_or(f64::INFINITY);
        let leaves = x.is_inside(least, greatest) && !y.is_inside(least, greatest);
        let (x, y) = (x.to_f64(), y.to_f64());
        let changes_sign = (x >= 0.0 && y < 0.0) || (x <= 0.0 && y > 0.0);
        Broken {
            relative: false,
            limits: leaves,
            sign: *sign && changes_sign,
            zero: *zero && x == 0.0 && y != 0.0,
        }
    }

    /// Whether [`Self::holds`] is true of any values.
    pub(crate) fn is_nothing(&self) -> bool {
        Self { bits: false, ..*self } == Self::default()
    }
}

impl std::fmt::Display for Keeps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { limits, zero, sign, .. } = self;
        let limits = limits.map(|limits| format!("--limits {limits}"));
        let sign = sign.then(|| "--keep-sign".to_owned());
        let zero = zero.then(|| "that 0 stays 0".to_owned());
        let all: Vec<String> = [limits, sign, zero].into_iter().flatten().collect();
        write!(f, "it breaks {}", all.join(" or "))
    }
}

/// The errors of decoded elements.
#[derive(Clone, Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) sums: Sums,
    /// Where the largest error is, if there is any.
    pub(crate) worst: Option<Found>,
    /// Where the largest relative error is, if there is a relative tolerance.
    pub(crate) worst_relative: Option<Found>,
    /// Elements outside the tolerance, if they are counted, and the first of them.
    pub(crate) wrong: u64,
    pub(crate) first_wrong: Option<(Found, String)>,
    /// What wrong elements break, if they are counted.
    pub(crate) broken: Broken,
    /// Elements that are NaN of another kind, with other bits, if they are counted, and the first of them.
    pub(crate) other_nan: u64,
    pub(crate) first_other_nan: Option<Found>,
}

/// What some element does not keep, besides a bound of |decoded − original|, which the largest one tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is of another requirement")]
pub(crate) struct Broken {
    /// The bound in proportion to |original|.
    pub(crate) relative: bool,
    /// The limits.
    pub(crate) limits: bool,
    /// Its sign.
    pub(crate) sign: bool,
    /// 0.
    pub(crate) zero: bool,
}

impl Broken {
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            relative: self.relative || other.relative,
            limits: self.limits || other.limits,
            sign: self.sign || other.sign,
            zero: self.zero || other.zero,
        }
    }
}

/// An element before and after.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// The place of its chunk in the grid.
    pub chunk: Vec<u64>,
    /// Its place in the array.
    pub element: Vec<u64>,
    /// The original value.
    #[serde(rename = "original", serialize_with = "json::written")]
    pub before: Scalar,
    /// The decoded value.
    #[serde(rename = "decoded", serialize_with = "json::written")]
    pub after: Scalar,
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { chunk, element, before, after } = self;
        write!(f, "element {element:?} (chunk {chunk:?}) is {before} and decodes to {after}")
    }
}

/// The errors of decoded elements, without NaN, infinities and missing values.
#[derive(Clone, Debug, Serialize)]
pub struct Errors {
    /// The largest |decoded − original|.
    pub max: f64,
    /// Where that is, if any element is off at all.
    pub worst: Option<Found>,
    /// The largest |decoded − original| / |original| of values other than 0, if a relative bound was requested.
    pub max_relative: Option<f64>,
    /// Where that is, if any element is off at all.
    pub worst_relative: Option<Found>,
    /// The mean of |decoded − original|.
    pub mean: f64,
    /// The mean of decoded − original.
    pub bias: f64,
    /// The root of the mean of (decoded − original)².
    pub rmse: f64,
    /// 20 log10 of the range of the values over the RMSE, in dB.
    pub psnr: Option<f64>,
}

impl Comparison {
    /// Whether it names an element by its place.
    pub(crate) fn names_an_element(&self) -> bool {
        self.worst.is_some()
            || self.worst_relative.is_some()
            || self.first_wrong.is_some()
            || self.first_other_nan.is_some()
    }

    /// The elements that it names.
    pub(crate) fn found_mut(&mut self) -> impl Iterator<Item = &mut Found> {
        let first = self.first_wrong.as_mut().map(|(found, _)| found);
        let nan = self.first_other_nan.as_mut();
        [self.worst.as_mut(), self.worst_relative.as_mut(), first, nan].into_iter().flatten()
    }

    /// The errors, for values of this extent; with relative ones if there was a relative tolerance.
    pub(crate) fn errors(&self, extent: Option<f64>, is_relative: bool) -> Errors {
        Errors {
            max: self.sums.max,
            worst: self.worst.clone(),
            max_relative: is_relative.then_some(self.sums.max_relative),
            worst_relative: self.worst_relative.clone(),
            mean: self.sums.mean(),
            bias: self.sums.bias(),
            rmse: self.sums.rmse(),
            psnr: extent.and_then(|extent| self.sums.psnr(extent)),
        }
    }

    /// Valid elements that decode to NaN or to a missing marker.
    pub(crate) fn collisions(&self) -> u64 {
        self.sums.became_nan + self.sums.became_missing
    }

    pub(crate) fn merge(mut self, other: Self) -> Self {
        if other.sums.max > self.sums.max {
            self.worst = other.worst;
        }
        if other.sums.max_relative > self.sums.max_relative {
            self.worst_relative = other.worst_relative;
        }
        self.sums.add(other.sums);
        self.wrong += other.wrong;
        self.first_wrong = self.first_wrong.or(other.first_wrong);
        self.broken = self.broken.or(other.broken);
        self.other_nan += other.other_nan;
        self.first_other_nan = self.first_other_nan.or(other.first_other_nan);
        self
    }
}

/// An element that decodes to a value outside the tolerance.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct Violation {
    pub(super) text: String,
    /// Whether a valid value decodes to NaN or to a missing marker.
    pub(crate) is_collision: bool,
}

impl Violation {
    /// An element that another process reports.
    pub(crate) fn elsewhere(text: &str) -> Self {
        Self { text: text.to_owned(), is_collision: false }
    }

    /// A valid value of the sample decodes to NaN or to a missing marker.
    pub(crate) fn collision(scale: &str) -> Self {
        let text = format!("with the scale {scale} a valid element decodes to a missing value");
        Self { text, is_collision: true }
    }
}
