//! Streams in pieces.

use std::io::{self, Read};

use arbitrary::{Result, Unstructured};
use recast_kernels::{FloatOverflow, Plan, RunError, Scalar, Step};

use crate::input;
use crate::stream::stream;

pub(crate) fn check(u: &mut Unstructured) -> Result<()> {
    let source = input::element_type(u)?;
    let step = match u.arbitrary()? {
        true => Step::Cast(input::cast(u, source)?),
        false => Step::InverseScale(input::scale_offset(u, source, FloatOverflow::Error)?),
    };
    let plan = match Plan::builder(source).step(step).build() {
        Ok(plan) => plan,
        Err(error) => panic!("{error}"),
    };
    let mut pieces = Vec::new();
    for _ in 0..u.int_in_range(0..=12)? {
        pieces.push(u.int_in_range(0..=70)?);
    }
    if pieces.iter().all(|&size| size == 0) {
        pieces.clear(); // nothing but interruptions would never end
    }
    let buffer = u.int_in_range(1..=20)? * 8;
    let elements = input::elements(u, source)?;
    let repeats = u.int_in_range(0..=5)?;
    let mut bytes: Vec<u8> = std::iter::repeat_n(&elements, repeats)
        .flatten()
        .flat_map(|&element| Scalar::from_bits(source, element).to_ne_bytes())
        .collect();
    let whole = bytes.len();
    let rest = u.int_in_range(0..=source.size() - 1)?;
    bytes.extend(u.bytes(rest)?);

    let mut output = Vec::new();
    let mut reader = Pieces { bytes: &bytes, sizes: pieces.iter().cycle() };
    let result = stream(&plan, buffer, &mut reader, &mut output);

    let mut expected = vec![0; whole / source.size() * plan.target().size()];
    let at_once = plan.run(&bytes[..whole], &mut expected);
    match (at_once, result) {
        (Ok(()), Ok(())) => assert!(bytes.len() == whole && output == expected, "{plan:?}"),
        (Ok(()), Err(error)) => {
            let message = error.to_string();
            let place = format!("within element {}:", whole / source.size());
            assert!(bytes.len() > whole && message.contains(&place), "{message}");
            assert_eq!(output, expected, "{plan:?}");
        }
        (Err(expected), Err(error)) => {
            assert_eq!(error.downcast_ref::<RunError>(), Some(&expected), "{error}");
            assert_eq!(error.to_string(), expected.to_string());
        }
        (Err(expected), Ok(())) => panic!("{plan:?}: {expected}, but not as a stream"),
    }
    Ok(())
}

/// Gives bytes in pieces of these sizes; one of 0 is an interruption, after which the reader is asked
/// again.
struct Pieces<'a, S> {
    bytes: &'a [u8],
    sizes: S,
}

impl<'a, S: Iterator<Item = &'a usize>> Read for Pieces<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = match self.sizes.next() {
            Some(0) if !self.bytes.is_empty() => return Err(io::ErrorKind::Interrupted.into()),
            Some(&size) => size,
            None => usize::MAX,
        };
        let size = size.min(buffer.len()).min(self.bytes.len());
        let (now, later) = self.bytes.split_at(size);
        buffer[..size].copy_from_slice(now);
        self.bytes = later;
        Ok(size)
    }
}
