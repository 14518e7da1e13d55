//! Maps of thousands of entries: the same as the reference gives, and no work that grows with elements
//! times entries. (Where it did, these tests would take hours.)

mod differential;
mod oracle;

use recast_kernels::{
    Affine, Cast, ElementType as E, Level, OutOfRange, Plan, PlanBuilder, Reason, RunError, Scalar,
    Step, reference,
};

use differential::{Subject, in_parallel};
use oracle::edges::Random;

/// Multiplied by the golden ratio, these keys have the same upper 44 bits: they were chosen for a hash
/// that is known.
fn chosen(index: u64) -> i64 {
    const INVERSE_OF_THE_GOLDEN_RATIO: u64 = 0xf1de_83e1_9937_733d;
    index.wrapping_mul(INVERSE_OF_THE_GOLDEN_RATIO) as i64
}

#[test]
fn the_chosen_keys_are_what_they_are_said_to_be() {
    let product = (chosen(1) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    assert_eq!(product, 1);
}

/// Keys of a type: any, neighbours, chosen ones, with repeats and what equals by value.
fn keys(source: E, entries: usize, random: &mut Random) -> Vec<Scalar> {
    let mut keys: Vec<Scalar> = (0..entries)
        .map(|index| match random.below(4) {
            0 => Scalar::from_bits(source, random.bits()),
            1 => Scalar::from_bits(source, random.element(source)),
            2 => Scalar::from_bits(source, chosen(index as u64) as u64),
            _ => Scalar::from_bits(source, index as u64),
        })
        .collect();
    let zeros = [Scalar::zero(source), Scalar::from_bits(source, 1 << (source.bits() - 1))];
    let special = [Scalar::nan(source), Scalar::infinity(source, true)].into_iter().flatten();
    for key in zeros.into_iter().chain(special) {
        keys[random.below(entries)] = key;
    }
    keys
}

#[test]
fn maps_of_thousands_of_entries_equal_the_reference() {
    let sources = [E::Int16, E::Int64, E::UInt32, E::UInt64, E::Float16, E::Float32, E::Float64];
    let jobs: Vec<_> = sources
        .into_iter()
        .chain([E::Int8, E::Float8E4M3])
        .flat_map(|source| [17, 300, 4000].map(|entries| (source, entries)))
        .collect();
    in_parallel(&jobs, |&(source, entries)| {
        let mut random = Random::new(entries as u64 + 7 * source as u64);
        let mut count = 0;
        for target in [E::UInt8, E::Int64, E::Float32, source] {
            let keys = keys(source, entries, &mut random);
            let mut elements: Vec<u64> = (0..600).map(|_| random.element(source)).collect();
            let some = keys.iter().step_by(entries / 300 + 1);
            elements.extend(some.flat_map(|key| [key.bits(), key.bits() ^ 1, key.bits()]));
            elements.extend(Scalar::nan(source).map(|nan| nan.bits() | 1));
            elements.extend([0, 1 << (source.bits() - 1)]);
            let value = |random: &mut Random| Scalar::from_bits(target, random.element(target));
            let map: Vec<_> = keys.into_iter().map(|key| (key, value(&mut random))).collect();
            let steps = vec![Step::Cast(Cast::new(target).map(map))];
            let subject = Subject::new(source, steps, elements);
            for level in Level::available() {
                count += subject.check(level, &subject.passing, &mut random)?;
                count += subject.check_lengths(level, &[1, 70, 1100], &mut random)?;
            }
        }
        Ok(count)
    });
}

/// Many entries, whose keys are chosen.
fn long_map(entries: u64) -> Vec<(Scalar, Scalar)> {
    (0..entries).map(|index| (chosen(index).into(), ((index % 100) as u8).into())).collect()
}

#[test]
fn two_hundred_thousand_chosen_keys_are_bound_and_found() {
    let map = long_map(200_000);
    let elements: Vec<i64> = (0..1_000_000_u64).map(|index| chosen(index % 300_000)).collect();
    let cast = Cast::new(E::UInt8).out_of_range(OutOfRange::Clamp).map(map);
    for level in Level::available() {
        let plan = Plan::builder(E::Int64).cast(cast.clone()).level(level).build().expect("a plan");
        let output = plan.run_to_vec(bytemuck::cast_slice(&elements)).expect("all are clamped");
        for ((index, output), &element) in (0_u64..).zip(output).zip(&elements) {
            let expected = match index % 300_000 {
                entry @ 0..200_000 => (entry % 100) as u8,
                _ => element.clamp(0, 255) as u8,
            };
            assert_eq!(output, expected, "element {index}");
        }
    }
}

#[test]
fn an_error_behind_a_long_map_is_that_of_the_first_failing_element() {
    let cast = Cast::new(E::UInt8).map(long_map(200_000));
    for level in Level::available() {
        let plan = Plan::builder(E::Int64).cast(cast.clone()).level(level).build().expect("a plan");
        let mut elements: Vec<i64> = (0..100_000).map(|index| chosen(index % 200_000)).collect();
        for index in [99_999, 70_001, 70_000] {
            elements[index] = -1 - index as i64;
            let element = Scalar::from(elements[index]);
            let result = plan.run_to_vec(bytemuck::cast_slice(&elements));
            let Err(RunError::Element(error)) = result else { panic!("{level}: {result:?}") };
            assert_eq!(
                (error.index, error.input, error.value),
                (index, element, element),
                "{level}"
            );
            assert_eq!((error.target, error.step, error.reason), (E::UInt8, 0, Reason::OutOfRange));
        }
    }
}

#[test]
fn elements_that_only_the_reference_converts_do_not_search_a_long_map() {
    // Finite products overflow, an error, and infinite ones pass: kernels may leave both to the reference.
    let scale = Affine::new(None, Some(1e300_f64.into()));
    let map = (0..200_000_u32).map(|index| (f64::from(index).into(), f64::from(index + 1).into()));
    let cast = Cast::new(E::Float64).map(map);
    let steps = [Step::Scale(scale), Step::Cast(cast)];
    for level in Level::available() {
        let builder = steps.iter().cloned().fold(Plan::builder(E::Float64), PlanBuilder::step);
        let plan = builder.level(level).build().expect("a plan");
        let elements = vec![f64::INFINITY; 1_000_000];
        let output = plan.run_to_vec(bytemuck::cast_slice(&elements)).expect("infinity stays");
        assert!(output == bytemuck::cast_slice::<f64, u8>(&elements), "{level}");
    }
}

#[test]
fn a_one_byte_source_does_not_search_a_long_map_for_each_of_its_values() {
    // Mostly repeats, of which the first counts.
    let entry =
        |index: u32| (Scalar::from((index % 200) as u8), Scalar::from((index / 200) as u16));
    let cast = Cast::new(E::UInt16).map((0..3_000_000).map(entry));
    let plan = Plan::builder(E::UInt8).cast(cast).build().expect("a plan");
    let output = plan.run_to_vec(&(0..=255).collect::<Vec<u8>>()).expect("every element passes");
    let expected = (0..256_u16).flat_map(|x| if x < 200 { 0 } else { x }.to_ne_bytes());
    assert!(output.into_iter().eq(expected));
}

#[test]
fn the_first_of_equal_keys_counts_in_long_maps() {
    let nans = (0..100_u64).map(|payload| f64::from_bits(f64::NAN.to_bits() | payload));
    let zeros = [-0.0, 0.0, -0.0];
    let keys: Vec<f64> = (1..5000).map(f64::from).chain(zeros).chain(nans).collect();
    let keys = [&keys[..], &keys[..]].concat();
    let map = keys.iter().zip(0_u32..).map(|(&key, number)| (key.into(), number.into()));
    let cast = Cast::new(E::UInt32).map(map);
    let plan = Plan::builder(E::Float64).cast(cast.clone()).build().expect("a plan");
    let output = plan.run_to_vec(bytemuck::cast_slice(&keys)).expect("every element is a key");
    for (index, (output, &key)) in output.chunks_exact(4).zip(&keys).enumerate() {
        let expected = match index % 5102 {
            ordinary @ 0..4999 => ordinary,
            4999..5002 => 4999,
            _ => 5002,
        } as u32;
        assert_eq!(output, expected.to_ne_bytes(), "{key}");
        if index % 100 == 0 {
            assert_eq!(reference::apply_cast(key.into(), &cast), Ok(expected.into()));
        }
    }
}
