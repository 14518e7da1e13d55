//! The bounds that a suggestion compares: 1, 2 and 5 times the powers of ten.

/// The coarsest bound is at most this part of the extent: fewer than some ten steps leave little of any data.
const COARSEST: f64 = 1.0 / 20.0;
/// The finest is about this part of it, if nothing asks for finer ones.
const FINEST: f64 = 2e-5;
const MOST: usize = 16;

/// Bounds for values of this extent, coarse to fine: three orders of magnitude, and on to the first bound that is fine
/// enough.
pub(crate) fn bounds(extent: f64, is_fine_enough: impl Fn(f64) -> bool) -> Vec<f64> {
    let Some(mut exponent) = decade(extent * COARSEST) else { return Vec::new() };
    let mut bounds = Vec::new();
    loop {
        for digit in [5, 2, 1] {
            // Written as people write it, the number is the nearest f64.
            let bound: f64 = format!("{digit}e{exponent}").parse().unwrap_or_default();
            if bound > extent * COARSEST {
                continue;
            }
            let is_enough = bounds.last().is_some_and(|&last| is_fine_enough(last));
            let is_last = bound < extent * FINEST && is_enough;
            if is_last || bounds.len() == MOST || bound < f64::MIN_POSITIVE {
                return bounds;
            }
            bounds.push(bound);
        }
        exponent -= 1;
    }
}

/// The exponent of the power of ten at or below a number; none if the number is not positive and finite.
fn decade(number: f64) -> Option<i32> {
    let exponent = number.log10().floor();
    exponent.is_finite().then_some(exponent as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_round_and_go_from_coarse_to_fine() {
        let found = bounds(15.2, |_| true);
        assert_eq!(found.first(), Some(&0.5));
        assert_eq!(found.last(), Some(&0.0005));
        assert_eq!(found[..4], [0.5, 0.2, 0.1, 0.05]);
        for extent in [1.0, 7.0, 1e-300, 3e300, 0.1] {
            assert!(bounds(extent, |_| true).len() >= 9, "{extent}");
        }
        assert_eq!(bounds(15.2, |bound| bound <= 5e-5).last(), Some(&5e-5));
        assert_eq!(bounds(15.2, |_| false).len(), MOST);
        for nothing in [0.0, f64::NAN, f64::INFINITY, -1.0] {
            assert!(bounds(nothing, |_| true).is_empty(), "{nothing}");
        }
    }
}
