//! Sums in twice the precision of float64, so that they do not depend on the order of the numbers.

/// A sum of float64 in two of them: the nearest to it, and the rest. Of numbers whose sum has at most 106 bits,
/// it is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ExactSum {
    high: f64,
    low: f64,
}

impl ExactSum {
    /// a · b, exact unless it underflows.
    pub(crate) fn product(a: f64, b: f64) -> Self {
        let high = a * b;
        Self { high, low: if high.is_finite() { a.mul_add(b, -high) } else { 0.0 } }
    }

    pub(crate) fn add(&mut self, number: f64) {
        let (sum, rest) = two_sum(self.high, number);
        // The rest of a sum that is not finite is NaN.
        let rest = if sum.is_finite() { rest } else { 0.0 };
        (self.high, self.low) = fast_two_sum(sum, self.low + rest);
    }

    pub(crate) fn plus(mut self, other: Self) -> Self {
        self.add(other.high);
        self.add(other.low);
        self
    }

    /// Times a number, but for rounding in twice the precision of float64.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self::product(self.high, factor).plus(Self::product(self.low, factor))
    }

    /// Rounded to the nearest.
    pub(crate) fn value(self) -> f64 {
        self.high
    }

    /// Whether this is more than `unit` times a number. Near the least numbers both are lifted first, so that nothing underflows.
    /// True of sums beyond float64: nothing is known of them.
    pub(crate) fn is_above_product(self, unit: Self, number: f64) -> bool {
        if !(self.high.is_finite() && unit.high.is_finite()) {
            return true;
        }
        let is_tiny = (unit.value() * number).abs() < 2_f64.powi(-900);
        let lift = if is_tiny { 2_f64.powi(600) } else { 1.0 };
        let (this, other) = (self.times(lift), unit.times(number * lift));
        (this.high, this.low) > (other.high, other.low)
    }
}

/// a + b rounded, and the rest (Knuth).
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let back = sum - a;
    (sum, (a - (sum - back)) + (b - back))
}

/// The same where |a| is not less than |b|, or a is 0 (Dekker).
fn fast_two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    if sum.is_finite() { (sum, b - (sum - a)) } else { (sum, 0.0) }
}

impl From<f64> for ExactSum {
    fn from(number: f64) -> Self {
        Self { high: number, low: 0.0 }
    }
}

impl Extend<f64> for ExactSum {
    fn extend<T: IntoIterator<Item = f64>>(&mut self, numbers: T) {
        numbers.into_iter().for_each(|number| self.add(number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(numbers: &[f64]) -> ExactSum {
        let mut sum = ExactSum::default();
        sum.extend(numbers.iter().copied());
        sum
    }

    #[test]
    fn sums_do_not_depend_on_the_order_of_the_numbers() {
        let mut numbers: Vec<f64> = (0..5000).map(|i| f64::from(i * i) / 3.0 - 2e6).collect();
        let upwards = sum(&numbers);
        numbers.reverse();
        assert_eq!(sum(&numbers).value(), upwards.value());
        let halves = numbers.split_at(1234);
        assert_eq!(sum(halves.1).plus(sum(halves.0)).value(), upwards.value());
    }

    #[test]
    fn small_numbers_beside_large_ones_count() {
        assert_eq!(sum(&[1e30, 1.0, -1e30]).value(), 1.0);
        assert_eq!(sum(&[1.0, 2_f64.powi(-80), -1.0]).value(), 2_f64.powi(-80));
        assert!(sum(&[1.0, 2_f64.powi(-80)]).is_above_product(1.0.into(), 1.0));
        assert_eq!(sum(&[f64::MAX, f64::MAX]).value(), f64::INFINITY);
        assert!(!sum(&[0.1; 10]).is_above_product(10.0.into(), 0.1));
        assert!(sum(&[0.1; 10]).is_above_product(10.0.into(), 0.1_f64.next_down()));
    }

    #[test]
    fn products_below_the_least_number_count() {
        let least = f64::from_bits(1);
        let range = ExactSum::from(50.0 * least);
        // 1 of 50 is more than 0.0123 of 50, and less than 0.0217.
        assert!(sum(&[least]).is_above_product(range, 0.0123));
        assert!(!sum(&[least]).is_above_product(range, 0.0217));
        assert!(sum(&[f64::MAX]).is_above_product(range, 0.5));
        assert!(!sum(&[least]).is_above_product(f64::MAX.into(), 0.5));
    }

    #[test]
    fn of_sums_beyond_float64_nothing_is_promised() {
        let beyond = sum(&[f64::MAX, f64::MAX]);
        assert!(
            beyond.is_above_product(1.0.into(), 1.0) && sum(&[1.0]).is_above_product(beyond, 1.0)
        );
    }
}
