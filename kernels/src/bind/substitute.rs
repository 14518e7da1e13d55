//! Maps as a stage among elements of one type: values in place of keys.

use alloc::vec::Vec;

use crate::ops::float::FloatUnit;
use crate::ops::int::Short;
use crate::ops::load;
use crate::ops::store::Whole;
use crate::ops::substitute::{SubstituteFloats, SubstituteInts};
use crate::pipeline::{Bytes, Load, Shorts, Store, Units, stage};
use crate::simd::Simd;
use crate::stages::Stage;
use crate::{ElementType, Scalar, reference};

/// The stage, for up to eight keys besides NaN; keys and values are of type `domain`.
pub(super) fn bind<S: Simd>(
    simd: S,
    domain: ElementType,
    entries: &[(Scalar, Scalar)],
) -> Option<Stage> {
    match domain {
        ElementType::Float32 => floats(simd, load::Float32, entries),
        ElementType::Float64 => floats(simd, load::Float64, entries),
        _ if domain.is_float() => None,
        _ => ints(simd, domain, entries),
    }
}

fn floats<S, L>(simd: S, load: L, entries: &[(Scalar, Scalar)]) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit: FloatUnit<S>>,
    Whole: Store<S, L::Unit>,
{
    fn padded<S, L, const N: usize>(
        simd: S,
        load: L,
        numbers: &[(f64, f64)],
        nan: Option<f64>,
    ) -> Option<Stage>
    where
        S: Simd,
        L: Load<S, Unit: FloatUnit<S>>,
        Whole: Store<S, L::Unit>,
    {
        let scalar = <L::Unit as FloatUnit<S>>::scalar;
        let typed = |(key, value): (f64, f64)| (scalar(key), scalar(value));
        let mut padded = [typed(*numbers.first()?); N];
        padded.iter_mut().zip(numbers).for_each(|(place, entry)| *place = typed(*entry));
        let each = SubstituteFloats { entries: padded, nan: nan.map(scalar) };
        Some(stage(simd, Units(load, each, Whole)))
    }
    let entries: Vec<(f64, f64)> = entries
        .iter()
        .map(|(key, value)| Some((key.to_f64(), super::number(*value)?)))
        .collect::<Option<_>>()?;
    let nan = entries.iter().find(|(key, _)| key.is_nan()).map(|(_, value)| *value);
    let numbers: Vec<(f64, f64)> = entries.into_iter().filter(|(key, _)| !key.is_nan()).collect();
    match numbers.len() {
        0 => {
            let nan = nan.map(<L::Unit as FloatUnit<S>>::scalar);
            Some(stage(simd, Units(load, SubstituteFloats { entries: [], nan }, Whole)))
        }
        1 => padded::<S, L, 1>(simd, load, &numbers, nan),
        2 => padded::<S, L, 2>(simd, load, &numbers, nan),
        3..=4 => padded::<S, L, 4>(simd, load, &numbers, nan),
        5..=8 => padded::<S, L, 8>(simd, load, &numbers, nan),
        _ => None,
    }
}

fn ints<S: Simd>(simd: S, domain: ElementType, entries: &[(Scalar, Scalar)]) -> Option<Stage> {
    fn padded<S: Simd, const N: usize>(
        simd: S,
        size: usize,
        entries: &[(i64, i64)],
    ) -> Option<Stage> {
        let mut padded = [*entries.first()?; N];
        padded.iter_mut().zip(entries).for_each(|(place, entry)| *place = *entry);
        let each = SubstituteInts { entries: padded };
        Some(match size {
            1 => stage(simd, Bytes(each)),
            2 => stage(simd, Shorts(Short, each, Short)),
            4 => stage(simd, Units(load::Int32, each, Whole)),
            _ => stage(simd, Units(load::Int64, each, Whole)),
        })
    }
    let integer = |x: Scalar| reference::integer(x) as i64;
    let entries: Vec<(i64, i64)> =
        entries.iter().map(|(key, value)| (integer(*key), integer(*value))).collect();
    match entries.len() {
        1 => padded::<S, 1>(simd, domain.size(), &entries),
        2 => padded::<S, 2>(simd, domain.size(), &entries),
        3..=4 => padded::<S, 4>(simd, domain.size(), &entries),
        5..=8 => padded::<S, 8>(simd, domain.size(), &entries),
        _ => None,
    }
}
