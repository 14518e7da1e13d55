//! The first pass over an array: surveys it block by block. A block is a chunk that is read, or memory of the
//! caller.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use anyhow::{anyhow, bail};
use recast_kernels::{Scalar, in_default_environment};
use serde_json::{Map, Value};

use super::grid::Grids;
use super::kinds::Kinds;
use super::missing::Markers;
use super::number::{BLOCK, Number, NumberReader, with_numbers};
use super::survey::{SAMPLE, Survey, greatest_key};
use super::valid::Valid;
use crate::array::source::{READ_SIZE, Source};
use crate::error::{Error, Result};
use crate::options::PackOptions;
use crate::runtime::Workers;

/// Surveys the blocks of one array one by one.
#[derive(Clone, Debug)]
pub struct Surveyor {
    /// The survey of no elements.
    nothing: Survey,
    /// The number of elements in the whole array, which determines the size of the sample.
    elements: u64,
}

impl Surveyor {
    /// For an array with this fill value, whose type is that of the elements, these missing markers besides NaN, and this
    /// number of elements in all blocks.
    ///
    /// # Errors
    /// A marker of another type.
    pub fn new(
        fill_value: Scalar,
        missing: &[Scalar],
        elements: u64,
    ) -> std::result::Result<Self, Error> {
        let element_type = fill_value.element_type();
        if let Some(other) = missing.iter().find(|one| one.element_type() != element_type) {
            let theirs = other.element_type();
            return Err(anyhow!("{other} is {theirs}, and the elements are {element_type}").into());
        }
        Ok(Self::with_markers(fill_value, missing.iter().copied().collect(), elements))
    }

    /// For an array with this fill value, attributes (`_FillValue` and `missing_value` name missing markers, `valid_min`,
    /// `valid_max` and `valid_range` valid values) and options, which may name more markers.
    ///
    /// # Errors
    /// A marker of the options that is not a value of the array's type.
    pub fn for_array(
        fill_value: Scalar,
        attributes: &Map<String, Value>,
        options: &PackOptions,
        elements: u64,
    ) -> std::result::Result<Self, Error> {
        let element_type = fill_value.element_type();
        in_default_environment((attributes, options), |(attributes, options)| {
            let markers = Markers::in_attributes(attributes, element_type);
            let markers = markers.and_named(element_type, options)?;
            let valid = Valid::in_attributes(attributes, element_type);
            Ok(Self::with_markers(fill_value, markers, elements).with_valid(valid))
        })
    }

    fn with_markers(fill_value: Scalar, markers: Markers, elements: u64) -> Self {
        Self { nothing: Survey::empty(fill_value, markers), elements }
    }

    fn with_valid(mut self, valid: Valid) -> Self {
        self.nothing.valid = valid;
        self
    }

    /// Surveys a block: its elements in any order that keeps neighbours together, in native byte order. For the
    /// codecs that `recast pack` chooses, a block is a chunk.
    ///
    /// # Errors
    /// Bytes that are not a whole number of elements.
    pub fn survey(&self, elements: &[u8]) -> std::result::Result<Survey, Error> {
        let element_type = self.nothing.element_type;
        if !elements.len().is_multiple_of(element_type.size()) {
            let length = elements.len();
            let text =
                format!("{length} bytes are not a whole number of elements of {element_type}");
            return Err(anyhow!(text).into());
        }
        in_default_environment((self, elements), |(surveyor, elements)| {
            Ok(with_numbers!(element_type, N => surveyor.survey_as::<N>(elements))?)
        })
    }

    fn survey_as<N: Number>(&self, elements: &[u8]) -> Result<Survey> {
        let prepared = Prepared::<N>::new(self)?;
        let mut block = BlockSurvey::new(&prepared);
        for piece in elements.chunks(READ_SIZE) {
            block.add(piece)?;
        }
        let place = |index, name: &str| format!("element {index} of a block is {name}");
        block.finish(place)
    }
}

/// Each element is compared with each marker.
const MOST_MARKERS: usize = 10_000;

/// Goes through all elements of an array. Markers and the fill value count in no range.
pub(crate) fn survey(source: &Source, markers: &Markers, workers: &Workers) -> Result<Survey> {
    let count = markers.values().len();
    if count > MOST_MARKERS {
        bail!(
            "{}: _FillValue and missing_value name {count} values, more than the {MOST_MARKERS} with which each element can \
             be compared; name fewer",
            source.path().display()
        );
    }
    with_numbers!(source.element_type(), N => survey_as::<N>(source, markers, workers))
}

fn survey_as<N: Number>(source: &Source, markers: &Markers, workers: &Workers) -> Result<Survey> {
    let elements = u64::try_from(source.elements()).unwrap_or(u64::MAX);
    let valid = Valid::in_attributes(source.array().attributes(), source.element_type());
    let surveyor = Surveyor::with_markers(source.fill_value(), markers.clone(), elements);
    let surveyor = surveyor.with_valid(valid);
    let prepared = Prepared::<N>::new(&surveyor)?;
    let work = |number| -> Result<Survey> {
        let region = source.region(number)?;
        let mut block = BlockSurvey::new(&prepared);
        let is_stored = source.pieces(&region, |_, elements| block.add(elements))?;
        if !is_stored {
            block.add_fill(region.elements());
        }
        block.finish(|index, name| format!("{} is {name}", region.element(index)))
    };
    let mut total = surveyor.nothing.clone();
    workers.run(source.pass("range"), source.chunks(), work, |found| {
        total.absorb(&found);
        prepared.grids.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&total.grids);
        Ok(())
    })?;
    Ok(total)
}

/// State that all blocks share.
struct Prepared<'a, N> {
    surveyor: &'a Surveyor,
    reader: NumberReader,
    /// The special values, which count in no range.
    reserved: Vec<N>,
    /// One of this many elements is in the sample.
    step: u64,
    /// An excerpt is kept if its number is not above this.
    greatest_key: u64,
    /// The grids of the blocks so far: a grid that one has given up is not tested again.
    grids: Mutex<Grids>,
    /// The lengths of the blocks of fill values so far, each of which has the same excerpts.
    of_fill: Mutex<BTreeSet<u64>>,
}

impl<'a, N: Number> Prepared<'a, N> {
    fn new(surveyor: &'a Surveyor) -> Result<Self> {
        let element_type = surveyor.nothing.element_type;
        let reader = NumberReader::new(element_type)?;
        let reserved = surveyor.nothing.reserved_values.numbers(&reader)?;
        let bytes = surveyor.elements.saturating_mul(element_type.size() as u64);
        let greatest_key = greatest_key(bytes);
        let step = (surveyor.elements / SAMPLE).max(1);
        let grids = Mutex::new(Grids::new(element_type));
        let of_fill = Mutex::default();
        Ok(Self { surveyor, reader, reserved, step, greatest_key, grids, of_fill })
    }
}

/// A pseudo-random number that depends only on some elements.
fn key(elements: &[u8]) -> u64 {
    let length = elements.len();
    let words = 64.min(length / 8).max(1);
    let places = (0..words).map(|word| word * (length / words));
    let mixed = places.fold(length as u64, |mixed, place| {
        let mut word = [0; 8];
        for (to, &from) in word.iter_mut().zip(elements.iter().skip(place)) {
            *to = from;
        }
        (mixed ^ u64::from_ne_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    });
    (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// The survey of a block in progress.
struct BlockSurvey<'a, N> {
    prepared: &'a Prepared<'a, N>,
    survey: Survey,
    kinds: Kinds<N>,
    /// The index of the first infinity, and its name.
    first_infinite: Option<Infinite>,
    /// How many elements there are until the next one for the sample.
    until_next: u64,
    taken: Vec<u8>,
}

/// The index of an infinity, and its name.
type Infinite = (usize, &'static str);

impl<'a, N: Number> BlockSurvey<'a, N> {
    fn new(prepared: &'a Prepared<'a, N>) -> Self {
        let grids = prepared.grids.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Self {
            prepared,
            survey: Survey { grids, ..prepared.surveyor.nothing.clone() },
            kinds: Kinds::none(),
            first_infinite: None,
            until_next: 0,
            taken: Vec::new(),
        }
    }

    /// Adds the next elements of the block.
    fn add(&mut self, elements: &[u8]) -> Result<()> {
        let Prepared { reader, step, .. } = self.prepared;
        let size = reader.element_type().size();
        let key = self.add_excerpt(elements);
        if self.survey.elements == 0 {
            // Of blocks smaller than a step, the right share has an element in the sample.
            self.until_next = key % step;
        }
        let count = (elements.len() / size) as u64;
        while self.until_next < count {
            let start = self.until_next as usize * size;
            self.taken.extend(elements.get(start..start + size).unwrap_or_default());
            self.until_next += step;
        }
        self.until_next -= count;
        let mut numbers = Vec::new();
        for part in elements.chunks(BLOCK * size) {
            self.count(part, &mut numbers)?;
            self.survey.elements += (part.len() / size) as u64;
        }
        Ok(())
    }

    /// Counts elements and special values, and updates the grids with the others.
    fn count(&mut self, bytes: &[u8], numbers: &mut Vec<N>) -> Result<()> {
        let Prepared { reader, reserved, .. } = self.prepared;
        let Survey { elements: before, reserved_counts, grids, nan_kinds, .. } = &mut self.survey;
        reader.read_into(bytes, numbers)?;
        let kinds = Kinds::of(numbers, reserved);
        if kinds.counts.nan > 0 {
            nan_kinds.add_all(reader.element_type(), bytes, kinds.counts.nan);
        }
        if kinds.counts.missing > 0 {
            for (count, value) in reserved_counts.iter_mut().zip(reserved) {
                *count += numbers.iter().filter(|&number| number == value).count() as u64;
            }
        }
        if kinds.counts.infinite > 0 && self.first_infinite.is_none() {
            let is_infinite = |number: &N| number.is_infinite() && !reserved.contains(number);
            let index = numbers.iter().position(is_infinite);
            self.first_infinite = index.and_then(|index| {
                let negative = *numbers.get(index)? < N::EXTREMES.1;
                let text = if negative { "-Infinity" } else { "Infinity" };
                Some((*before as usize + index, text))
            });
        }
        let range = (kinds.range.0.to_f64(), kinds.range.1.to_f64());
        if grids.may_change(range.0, range.1) {
            if kinds.counts.missing == 0 {
                grids.add(numbers, range);
            } else {
                let others = numbers.iter().filter(|&number| !reserved.contains(number));
                grids.add(&others.copied().collect::<Vec<_>>(), range);
            }
        }
        self.kinds.add(kinds);
        Ok(())
    }

    /// Adds some elements to the excerpts, if their number is one of those that are kept. Returns the number.
    fn add_excerpt(&mut self, elements: &[u8]) -> u64 {
        let key = key(elements);
        if key <= self.prepared.greatest_key {
            self.survey.keep_excerpt(key, elements);
        }
        key
    }

    /// As [`Self::add`], for elements that are the fill value and not in memory.
    fn add_fill(&mut self, elements: u64) {
        let Survey { fill_value, reserved_values, reserved_counts, nan_kinds, .. } =
            &mut self.survey;
        let index = reserved_values.values().iter().position(|value| value.equals(*fill_value));
        let count = index.and_then(|index| reserved_counts.get_mut(index));
        *count.unwrap_or(&mut self.kinds.counts.nan) += elements;
        if fill_value.is_nan() {
            nan_kinds.add(*fill_value, elements);
        }
        self.survey.elements += elements;
        let of_fill = &self.prepared.of_fill;
        if of_fill.lock().unwrap_or_else(PoisonError::into_inner).insert(elements) {
            let fill = self.survey.fill_value.to_ne_bytes();
            let longest = (READ_SIZE / fill.len()) as u64;
            let lengths = [elements.min(longest), elements % longest];
            for length in lengths.into_iter().filter(|&length| length > 0) {
                self.add_excerpt(&fill.repeat(length as usize));
            }
        }
    }

    /// The survey of the block; `place` names an element.
    fn finish(self, place: impl FnOnce(usize, &str) -> String) -> Result<Survey> {
        let Self { prepared: Prepared { reader, reserved, .. }, mut survey, kinds, taken, .. } =
            self;
        let element_type = reader.element_type();
        survey.nan = kinds.counts.nan;
        survey.infinite = kinds.counts.infinite;
        survey.first_infinite = self.first_infinite.map(|(index, name)| place(index, name));
        let (least, greatest) = kinds.range;
        if least <= greatest {
            let least = least.to_scalar(element_type);
            survey.data_range = least.zip(greatest.to_scalar(element_type));
            if survey.data_range.is_none() {
                bail!("an element is not of type {element_type}");
            }
        }
        let numbers = reader.read::<N>(&taken)?.into_iter();
        for (number, element) in numbers.zip(taken.chunks_exact(element_type.size())) {
            if number.is_finite() && !reserved.contains(&number) {
                survey.sample.extend_from_slice(element);
            }
        }
        Ok(survey)
    }
}
