//! Whether steps can fail for any element at all.
//!
//! Casts and scales are monotone: a value between two values stays between their images. So a few values stand for all
//! of a type: its ends, zero, infinities and NaN. The entries of a map and `wrap` are not monotone; what may leave
//! them is added.

use alloc::vec::Vec;

use crate::{Affine, Cast, ElementType, OutOfRange, Scalar, Specials, Step, reference};

/// Whether no value of type `source` fails in `steps`; `false` may also mean that this is not known.
pub(crate) fn never_fails(source: ElementType, steps: &[Step]) -> bool {
    let all = extremes(source).into_iter().chain(Scalar::nan(source)).collect();
    steps.iter().try_fold(all, |values: Vec<Scalar>, step| images(&values, step)).is_some()
}

/// The values that stand for all of a type but NaN.
fn extremes(element_type: ElementType) -> Vec<Scalar> {
    let ends = [Scalar::min(element_type), Scalar::max(element_type)];
    let infinities = [true, false].map(|negative| Scalar::infinity(element_type, negative));
    let zero = Scalar::from_bits(element_type, 0);
    ends.into_iter().chain(infinities.into_iter().flatten()).chain([zero]).collect()
}

/// Values that stand for all that leave a step, if none fails that `values` stand for.
fn images(values: &[Scalar], step: &Step) -> Option<Vec<Scalar>> {
    let source = values.first()?.element_type();
    let mut images = match step {
        // Powers of two have neither zero nor signs, and integers are divided without a remainder only by ±1: neither
        // shows at the ends.
        Step::Cast(cast) if is_powers_of_two(cast.target) && !is_powers_of_two(source) => {
            return None;
        }
        Step::InverseScale(Affine { scale: Some(scale), .. })
            if source.is_integer() && scale.to_f64().abs() != 1.0 =>
        {
            return None;
        }
        Step::Cast(cast) => {
            // A key of the map may be an end, and the values beside it would be forgotten: only keys that are no numbers count.
            let (numbers, others): (Vec<_>, Vec<_>) =
                cast.map.iter().copied().partition(|(key, _)| key.is_finite());
            let plain = Cast { map: others.into(), ..cast.clone() };
            let mut images = reference_of(values, &Step::Cast(plain))?;
            images.extend(numbers.into_iter().map(|(_, output)| output));
            if cast.out_of_range == OutOfRange::Wrap {
                images.extend(extremes(cast.target));
            }
            images
        }
        Step::Scale(_) | Step::InverseScale(_) => reference_of(values, step)?,
    };
    // Where an end overflows, all that lies in front of infinity may leave the step, too.
    if images.iter().any(|image| !image.is_finite()) {
        images.extend(extremes(step.target(source)));
    }
    Some(images)
}

fn reference_of(values: &[Scalar], step: &Step) -> Option<Vec<Scalar>> {
    values.iter().map(|value| reference::step(*value, step).ok()).collect()
}

fn is_powers_of_two(element_type: ElementType) -> bool {
    matches!(
        element_type.format(),
        crate::Format::Float(format) if format.specials == Specials::PowersOfTwo
    )
}
