//! Runs that are too long for the caches, which ask for their input ahead or write past them, and runs
//! spread over threads, give what runs of their pieces give.

use recast_kernels::{Affine, Cast, ElementType as E, Level, Plan, RunError, Scalar};

/// More elements than those from which on a run asks for its input ahead, and no multiple of any block.
const ELEMENTS: usize = 1_234_567;

/// More than those from which on a run to a type of eight bytes writes past the caches.
const MORE_ELEMENTS: usize = 8_434_567;

fn input(elements: usize) -> Vec<u8> {
    (0..elements).flat_map(|i| ((i * 7919 % 1000) as f32 / 4.0).to_ne_bytes()).collect()
}

/// As many elements as make a long run.
fn elements(plan: &Plan) -> usize {
    if plan.target().size() == 8 { MORE_ELEMENTS } else { ELEMENTS }
}

fn plans() -> Vec<Plan> {
    let scale = Affine::new(None, Some(0.5_f32.into()));
    let nan_to_7 = [(Scalar::from(f32::NAN), Scalar::from(7_u8))];
    let to_byte = Cast::new(E::UInt8).map(nan_to_7);
    let every_level = |level| {
        [
            Plan::builder(E::Float32).cast(to_byte.clone()),
            Plan::builder(E::Float32)
                .scale(scale)
                .cast(Cast::new(E::Int16))
                .swap_output_bytes(true),
            Plan::builder(E::Float32).cast(Cast::new(E::Float16)),
            Plan::builder(E::Float32).cast(Cast::new(E::Float64)),
            Plan::builder(E::Float32).cast(Cast::new(E::Int64)),
        ]
        .map(|plan| plan.level(level).build().expect("a cast that every level has"))
    };
    Level::available().into_iter().flat_map(every_level).collect()
}

#[test]
fn a_long_run_equals_the_runs_of_its_pieces() {
    for plan in plans() {
        let input = input(elements(&plan));
        let mut whole = vec![0; elements(&plan) * plan.target().size()];
        plan.run(&input, &mut whole).expect("the elements are in range");
        let mut pieces = vec![0; whole.len()];
        let length = 10_007;
        let inputs = input.chunks(length * plan.source().size());
        for (input, output) in inputs.zip(pieces.chunks_mut(length * plan.target().size())) {
            plan.run(input, output).expect("the elements are in range");
        }
        assert!(whole == pieces, "{plan:?}");
    }
}

#[test]
fn a_long_run_gives_the_same_at_every_address() {
    for plan in plans() {
        let input = input(elements(&plan));
        let size = elements(&plan) * plan.target().size();
        let mut expected = vec![0; size];
        plan.run(&input, &mut expected).expect("the elements are in range");
        for offset in [1, 4, 8, 40] {
            let mut output = vec![0xa5; size + 128];
            let (before, rest) = output.split_at_mut(offset);
            let (output, after) = rest.split_at_mut(size);
            plan.run(&input, output).expect("the elements are in range");
            assert!(output == expected, "{plan:?}, {offset}");
            assert!(
                before.iter().chain(after.iter()).all(|&byte| byte == 0xa5),
                "{plan:?}, {offset}"
            );
        }
    }
}

#[test]
fn a_long_run_names_the_first_failing_element() {
    for plan in plans().into_iter().filter(|plan| plan.target().is_integer()) {
        let mut input = input(elements(&plan));
        let mut output = vec![0; elements(&plan) * plan.target().size()];
        for index in [elements(&plan) - 1, 900_001] {
            input[4 * index..][..4].copy_from_slice(&f32::INFINITY.to_ne_bytes());
            match plan.run(&input, &mut output) {
                Err(RunError::Element(error)) => assert_eq!(error.index, index, "{plan:?}"),
                other => panic!("{plan:?}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_run_to_a_new_buffer_or_in_place_equals_one_to_a_given_buffer() {
    let mut input = input(ELEMENTS);
    let in_place = |level| {
        [Cast::new(E::Int32), Cast::new(E::Float32)]
            .map(|cast| Plan::builder(E::Float32).cast(cast).level(level).build().expect("a plan"))
    };
    let in_place: Vec<Plan> = Level::available().into_iter().flat_map(in_place).collect();
    for plan in plans().iter().chain(&in_place) {
        let mut given = vec![0; ELEMENTS * plan.target().size()];
        plan.run(&input, &mut given).expect("the elements are in range");
        assert!(plan.run_to_vec(&input).expect("in range") == given, "{plan:?}");
        let mut elements = input.clone();
        let result = plan.run_in_place(&mut elements);
        if plan.target().size() == 4 {
            assert_eq!(result, Ok(()), "{plan:?}");
            assert!(elements == given, "{plan:?}");
        } else {
            assert!(matches!(result, Err(RunError::InPlace { .. })), "{plan:?}: {result:?}");
            assert!(elements == input, "{plan:?}");
        }
    }

    let index = 900_001;
    input[4 * index..][..4].copy_from_slice(&f32::NAN.to_ne_bytes());
    for plan in in_place.iter().filter(|plan| plan.target().is_integer()) {
        for result in [plan.run_to_vec(&input).map(drop), plan.run_in_place(&mut input.clone())] {
            match result {
                Err(RunError::Element(error)) => assert_eq!(error.index, index, "{plan:?}"),
                other => panic!("{plan:?}: {other:?}"),
            }
        }
        assert!(matches!(plan.run_to_vec(&input[1..]), Err(RunError::Length { .. })));
        assert!(matches!(plan.run_in_place(&mut input.clone()[1..]), Err(RunError::Length { .. })));
    }
}

/// Plans that write past the caches from one or two bytes an element: with maps, swapped bytes and several stages.
#[test]
fn a_long_run_of_short_integers_equals_the_runs_of_its_pieces() {
    let decode = |source: E, target: E, scale: Scalar, key: Scalar| {
        let nan = Scalar::nan(target).expect("a float");
        let cast = Cast::new(target).map([(key, nan)]);
        Plan::builder(source).cast(cast).inverse_scale(Affine::new(None, Some(scale)))
    };
    let widen = || Plan::builder(E::Int16).cast(Cast::new(E::Int64));
    for level in Level::available() {
        let plans = [
            decode(E::Int16, E::Float64, 100_f64.into(), i16::MIN.into()),
            decode(E::UInt8, E::Float32, 3_f32.into(), 255_u8.into()),
            decode(E::Int16, E::Float32, 100_f32.into(), i16::MIN.into()).swap_output_bytes(true),
            widen().swap_input_bytes(true),
            widen()
                .cast(Cast::new(E::Float64))
                .inverse_scale(Affine::new(None, Some(7_f64.into()))),
        ];
        for plan in plans {
            let plan = plan.level(level).build().expect("a plan");
            let elements = MORE_ELEMENTS * 8 / plan.target().size();
            let input: Vec<u8> = (0..elements * plan.source().size())
                .map(|i| ((i as u64 * 7919) >> 5) as u8)
                .collect();
            let whole = plan.run_to_vec(&input).expect("every code decodes");
            let length = 10_007;
            let pieces = input.chunks(length * plan.source().size());
            let outputs = whole.chunks(length * plan.target().size());
            for (number, (input, output)) in pieces.zip(outputs).enumerate() {
                let piece = plan.run_to_vec(input).expect("every code decodes");
                assert!(piece == output, "{plan:?}, piece {number}");
            }
        }
    }
}

#[cfg(feature = "rayon")]
mod on_threads {
    use super::*;

    fn pool(threads: usize) -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("threads can be started")
    }

    #[test]
    fn a_run_on_threads_equals_one_on_one_thread() {
        let input = input(ELEMENTS);
        for plan in plans() {
            for elements in [0, 1, 16_384, 16_385, 100_003, ELEMENTS] {
                let input = &input[..elements * plan.source().size()];
                let mut one = vec![0; elements * plan.target().size()];
                plan.run(input, &mut one).expect("the elements are in range");
                for threads in [1, 2, 3, 8] {
                    let mut several = vec![0; one.len()];
                    pool(threads)
                        .install(|| plan.par_run(input, &mut several))
                        .expect("the elements are in range");
                    assert!(one == several, "{elements} elements, {threads} threads, {plan:?}");
                }
            }
        }
    }

    /// The output is long enough to go past the caches, and the last thread's piece is one element in front of a cache line.
    #[test]
    fn the_last_piece_of_a_long_run_on_many_threads_may_be_shorter_than_a_cache_line() {
        const ELEMENTS: usize = 511 * 16_448 + 1;
        let plan = Plan::builder(E::Int8).cast(Cast::new(E::Float64)).build().expect("a cast");
        let input: Vec<u8> = (0..ELEMENTS).map(|i| (i % 251) as u8).collect();
        let mut memory = vec![0; 8 * ELEMENTS + 128];
        let start = memory.as_ptr().align_offset(64) + 16;
        let output = &mut memory[start..][..8 * ELEMENTS];
        pool(256).install(|| plan.par_run(&input, output)).expect("every integer is a float");
        let last = f64::from(input[ELEMENTS - 1] as i8);
        assert_eq!(output[8 * (ELEMENTS - 1)..], last.to_ne_bytes());
        assert!(output == plan.run_to_vec(&input).expect("every integer is a float"));
    }

    #[test]
    fn a_run_on_threads_names_the_first_of_several_failing_elements() {
        let mut input = input(ELEMENTS);
        for index in [1_200_000, 700_001, 40_000] {
            input[4 * index..][..4].copy_from_slice(&f32::INFINITY.to_ne_bytes());
            for plan in plans().into_iter().filter(|plan| plan.target().is_integer()) {
                let mut output = vec![0; ELEMENTS * plan.target().size()];
                match pool(4).install(|| plan.par_run(&input, &mut output)) {
                    Err(RunError::Element(error)) => assert_eq!(error.index, index, "{plan:?}"),
                    other => panic!("{plan:?}: {other:?}"),
                }
            }
        }
    }

    #[test]
    fn lengths_that_do_not_match_are_refused() {
        let plan = Plan::builder(E::Float32).cast(Cast::new(E::UInt8)).build().expect("a cast");
        let input = vec![0; 400_002];
        let mut output = vec![0; 100_000];
        let result = pool(2).install(|| plan.par_run(&input, &mut output));
        assert!(matches!(result, Err(RunError::Length { .. })), "{result:?}");
    }
}
