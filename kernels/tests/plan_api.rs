//! What a plan offers beside `run`: other kinds of buffers, the level, and what it says of itself.

use std::mem::MaybeUninit;
use std::panic::{RefUnwindSafe, UnwindSafe};

use recast_kernels::{Cast, CastError, ElementType, OutOfRange, Plan, RunError, Scalar};

fn plan(source: ElementType, target: ElementType) -> Plan {
    Plan::builder(source).cast(Cast::new(target)).build().unwrap()
}

#[test]
fn every_kind_of_buffer_takes_the_same_result_and_the_same_error() {
    let plan = plan(ElementType::Float32, ElementType::Int32);
    // More than rayon's pieces, so that `par_run_to_vec` divides it.
    let mut input: Vec<f32> = (0..200_000).map(|i| (i % 1000) as f32).collect();
    let expected: Vec<i32> = (0..200_000).map(|i| i % 1000).collect();
    let bytes = |input: &[f32]| input.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<_>>();

    assert_eq!(plan.run_slice::<f32, i32>(&input).unwrap(), expected);
    let mut output = vec![MaybeUninit::uninit(); input.len()];
    assert_eq!(plan.run_slice_uninit::<f32, i32>(&input, &mut output).unwrap(), expected);
    assert_eq!(plan.run_slice_in_place::<f32, i32>(&mut input.clone()).unwrap(), expected);
    #[cfg(feature = "rayon")]
    assert_eq!(plan.par_run_to_vec(&bytes(&input)), plan.run_to_vec(&bytes(&input)));

    (input[150_000], input[199_000]) = (f32::NAN, f32::INFINITY);
    let failures = [
        plan.run_slice::<f32, i32>(&input).map(drop),
        plan.run_slice_uninit::<f32, i32>(&input, &mut output).map(drop),
        plan.run_slice_in_place::<f32, i32>(&mut input.clone()).map(drop),
        #[cfg(feature = "rayon")]
        plan.par_run_to_vec(&bytes(&input)).map(drop),
        plan.run_to_vec(&bytes(&input)).map(drop),
    ];
    for failure in failures {
        assert!(matches!(
            failure,
            Err(RunError::Element(CastError { index: 150_000, input, .. })) if input.is_nan()
        ));
    }
}

#[test]
fn rows_go_to_their_places_whatever_their_length() {
    let plan = plan(ElementType::Float32, ElementType::Int16);
    for row in [1, 3, 64, 1000, 4096, 5000] {
        let input: Vec<f32> = (0..7 * row).map(|i| (i % 1000) as f32).collect();
        // Every second row of a matrix, the last one first.
        let starts: Vec<usize> = (0..7).rev().map(|number| 2 * number * row).collect();
        let mut expected = vec![-1_i16; 14 * row];
        for (start, input) in starts.iter().zip(input.chunks(row)) {
            expected[*start..][..row].copy_from_slice(&plan.run_slice(input).unwrap());
        }
        let mut output = vec![-1_i16; 14 * row];
        let run = |input: &[f32], output: &mut [i16], starts: &[usize]| {
            let output = bytemuck::cast_slice_mut(output);
            plan.run_rows(bytemuck::cast_slice(input), output, row, starts)
        };
        run(&input, &mut output, &starts).unwrap();
        assert!(output == expected, "rows of {row}");

        let mut wrong = input.clone();
        (wrong[5 * row], wrong[6 * row]) = (f32::NAN, f32::INFINITY);
        let error = run(&wrong, &mut output, &starts).unwrap_err();
        assert!(matches!(error, RunError::Element(CastError { index, .. }) if index == 5 * row));
        let error = run(&input, &mut output, &starts[..6]).unwrap_err();
        assert!(matches!(error, RunError::Length { .. }));
        let mut outside = starts.clone();
        outside[3] = 13 * row + 1;
        let error = run(&input, &mut output, &outside).unwrap_err();
        assert!(matches!(error, RunError::Row { start, .. } if start == 13 * row + 1));
    }
    assert_eq!(plan.run_rows(&[], &mut [], 0, &[0, 0]), Ok(()));
    assert!(matches!(plan.run_rows(&[0; 4], &mut [], 0, &[0]), Err(RunError::Length { .. })));
}

#[test]
fn slices_of_another_type_length_or_size_are_refused() {
    let narrows = plan(ElementType::Float64, ElementType::Float32);
    let mut uninit = [MaybeUninit::uninit(); 2];
    let other = narrows.run_slice_uninit::<f32, f32>(&[1.0], &mut uninit[..1]);
    assert_eq!(
        other.unwrap_err().to_string(),
        "the slice holds float32, and the elements are of type float64"
    );
    let longer = narrows.run_slice_uninit::<f64, f32>(&[1.0], &mut uninit);
    assert!(matches!(longer, Err(RunError::Length { .. })));
    let expected = "float64 has 8 and float32 4 bytes; a run in place needs types of one size";
    let in_place = narrows.run_in_place(&mut [0; 8]).unwrap_err();
    assert_eq!(in_place.to_string(), expected);
    assert_eq!(narrows.run_slice_in_place::<f64, f32>(&mut [1.0]).unwrap_err(), in_place);
}

#[test]
fn errors_give_the_range_of_float16_exactly() {
    let plan = plan(ElementType::Float64, ElementType::Float16);
    let error = plan.run_slice::<f64, half::f16>(&[1e6]).unwrap_err().to_string();
    assert!(error.contains("out of range for float16 (-65504 to 65504)"), "{error}");
    let error = Scalar::parse(ElementType::Float16, "1e6").unwrap_err().to_string();
    assert!(error.contains("from -65504 to 65504"), "{error}");
}

#[test]
fn debug_of_a_long_map_is_short() {
    let map = (0..60_000_u16).map(|key| (key.into(), (key as u8).into()));
    let plan = Plan::builder(ElementType::UInt16).cast(Cast::new(ElementType::UInt8).map(map));
    let text = format!("{:?}", plan.build().unwrap());
    assert!(text.contains("and 59992 more") && text.len() < 2_000, "{text}");
}

#[test]
fn a_plan_passes_a_panic_and_a_thread() {
    fn passes<T: UnwindSafe + RefUnwindSafe + Send + Sync>(_: &T) {}
    passes(&plan(ElementType::Int8, ElementType::Float32));
}

#[test]
fn every_mode_is_parsed_from_its_name() {
    for mode in OutOfRange::ALL.iter().copied() {
        assert_eq!(mode.name().parse(), Ok(mode));
    }
    let error = "saturate".parse::<OutOfRange>().unwrap_err().to_string();
    assert_eq!(error, r#""saturate" is not one of error, clamp, wrap"#);
}
