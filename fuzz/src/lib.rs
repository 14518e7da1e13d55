//! The bodies of the fuzz targets, as functions of bytes. They panic on a difference, and take any input.
//!
//! The comparison of plans with the reference is the one of the kernels' tests; so is the oracle.

mod chain;
mod doors;
mod input;
mod metadata;
mod raw;

#[path = "../../kernels/tests/differential/mod.rs"]
mod differential;
#[path = "../../kernels/tests/oracle/mod.rs"]
mod oracle;
#[path = "../../cli/src/stream.rs"]
mod stream;

use arbitrary::{Result, Unstructured};
use recast_kernels::{ElementType, Level, Scalar, Step, reference};

use differential::Subject;
use oracle::edges::Random;

/// One cast with a map, on elements of any kind: every level gives what the reference gives, and that
/// is what the oracle gives.
pub fn cast(data: &[u8]) {
    let check = |u: &mut Unstructured| {
        let source = input::element_type(u)?;
        let step = Step::Cast(input::cast(u, source)?);
        let elements = input::elements(u, source)?;
        every_level_equals_the_reference(u, source, &[step], elements)
    };
    let _too_short = check(&mut Unstructured::new(data));
}

/// A chain of both codecs: on every level, in both directions, as the reference; run at once as step
/// by step; what is encoded comes back within the bound.
pub fn chain(data: &[u8]) {
    let _too_short = chain::check(&mut Unstructured::new(data));
}

/// A store as a stranger may send it: every job ends with an error, or with an output that opens; nothing else changes.
pub fn doors(data: &[u8]) {
    let _too_short = doors::check(&mut Unstructured::new(data));
}

/// Text in three parts, by its first two line breaks: data type, fill value, codecs. No panic; what is
/// read is written so that it reads the same.
pub fn metadata(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        metadata::check(text);
    }
}

/// A stream in pieces: the bytes, and the index of a failing element, that it has in one piece.
pub fn raw(data: &[u8]) {
    let _too_short = raw::check(&mut Unstructured::new(data));
}

/// Runs the steps on the elements as they are, and on as many as `u` asks for, of those that pass
/// and with some that fail among them: in buffers of any alignment and byte order.
fn every_level_equals_the_reference(
    u: &mut Unstructured,
    source: ElementType,
    steps: &[Step],
    elements: Vec<u64>,
) -> Result<()> {
    let length = u.int_in_range(0..=1100)?;
    let seed: u64 = u.arbitrary()?;
    // Now and then so long that some blocks have no unusual element.
    let length = if seed % 32 == 31 { 32 * length } else { length };
    for &element in elements.iter().take(8) {
        let found = reference::run(Scalar::from_bits(source, element), steps, 0)
            .map(Scalar::bits)
            .map_err(|error| (error.step, error.value.bits(), error.reason));
        let expected = oracle::run(source, element, steps);
        assert_eq!(found, expected, "{source} {element:#x}, {steps:?}: reference, oracle");
    }
    let subject = Subject::new(source, steps.to_vec(), elements);
    let all: Vec<usize> = (0..subject.elements.len()).collect();
    for level in Level::available() {
        let random = &mut Random::new(seed);
        let count = subject.check(level, &all, random);
        let count = count.and_then(|_| subject.check_lengths(level, &[length], random));
        if let Err(message) = count {
            panic!("{message}");
        }
    }
    Ok(())
}
