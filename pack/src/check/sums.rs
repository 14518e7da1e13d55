//! Sums over elements before and after: counts of each kind, and errors.

use super::exact_sum::ExactSum;
use crate::scan::counts::Counts;

/// Sums over some elements. Errors do not include NaN, infinities and missing values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sums {
    /// Elements whose errors count.
    pub(crate) elements: u64,
    /// Elements that are special in both.
    pub(crate) counts: Counts,
    /// The largest |decoded − original|.
    pub(crate) max: f64,
    /// The largest |decoded − original| / |original| of values other than 0, if there is a relative tolerance.
    pub(crate) max_relative: f64,
    /// The sum of |decoded − original|, exact if a mean is bounded.
    pub(crate) distances: ExactSum,
    /// The sum of |original|, if a mean is bounded.
    pub(crate) magnitudes: ExactSum,
    /// The sum of decoded − original.
    pub(crate) differences: ExactSum,
    /// The sum of (decoded − original)².
    pub(crate) squares: ExactSum,
    /// Valid elements that decode to a missing marker.
    pub(crate) became_missing: u64,
    /// Elements other than NaN that decode to it.
    pub(crate) became_nan: u64,
}

impl Sums {
    /// Adds decoded − original of an element; relative to a magnitude, if there is a relative tolerance.
    pub(crate) fn add_error(&mut self, difference: f64, magnitude: Option<f64>) {
        let distance = difference.abs();
        self.max = self.max.max(distance);
        let relative = magnitude.map(|magnitude| relative_error(distance, magnitude));
        self.max_relative = self.max_relative.max(relative.unwrap_or_default());
        self.distances.add(distance);
        self.differences.add(difference);
        self.squares.add(distance * distance);
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.elements += other.elements;
        self.counts += other.counts;
        self.max = self.max.max(other.max);
        self.max_relative = self.max_relative.max(other.max_relative);
        self.distances = self.distances.plus(other.distances);
        self.magnitudes = self.magnitudes.plus(other.magnitudes);
        self.differences = self.differences.plus(other.differences);
        self.squares = self.squares.plus(other.squares);
        self.became_missing += other.became_missing;
        self.became_nan += other.became_nan;
    }

    /// The mean of |decoded − original|.
    pub(crate) fn mean(&self) -> f64 {
        self.distances.value() / self.elements.max(1) as f64
    }

    /// The mean of decoded − original.
    pub(crate) fn bias(&self) -> f64 {
        self.differences.value() / self.elements.max(1) as f64
    }

    /// The root of the mean of (decoded − original)².
    pub(crate) fn rmse(&self) -> f64 {
        (self.squares.value() / self.elements.max(1) as f64).sqrt()
    }

    /// 20 log10 of `extent`, the range of the values, over the RMSE, in dB; none without an error.
    pub(crate) fn psnr(&self, extent: f64) -> Option<f64> {
        let psnr = 20.0 * (extent / self.rmse()).log10();
        psnr.is_finite().then_some(psnr)
    }
}

/// An error relative to the value; 0 has none.
#[inline(always)]
pub(crate) fn relative_error(distance: f64, magnitude: f64) -> f64 {
    if magnitude > 0.0 { distance / magnitude } else { 0.0 }
}
