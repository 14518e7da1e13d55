//! Chooses codecs for an array from its survey, as `recast pack` does, for other programs that write.

use anyhow::bail;
use recast_kernels::{ElementType, Scalar, in_default_environment};
use zarr_recast::Codec;

use super::candidate::Candidate;
use super::candidates::Candidates;
use super::facts::Facts;
use super::goals::{Goals, MeanExceeded, judge, reached};
use super::proof::{is_proven, is_proven_for_seen, refuse_constant};
use crate::array::region::Region;
use crate::check::chunk_check::Expected;
use crate::check::coarse::CoarseBound;
use crate::check::comparison::{Comparison, Keeps, Violation};
use crate::check::sums::Sums;
use crate::error::{Error, Result, usage};
use crate::options::{PackOptions, Requirement};
use crate::round::rounder::Rounder;
use crate::scan::clamp::Clamp;
use crate::scan::lattice::Lattice;
use crate::scan::missing::{Markers, advice_on, customary_markers};
use crate::scan::survey::Survey;
use crate::scan::valid::BeyondValid;

/// Codecs for an array, with their properties.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The value codecs, in the order in which elements pass them; empty if none is needed.
    pub codecs: Vec<Codec>,
    /// The type of the stored elements.
    pub data_type: ElementType,
    /// The array's fill value; it survives the codecs.
    pub fill_value: Scalar,
    /// The stored code of the fill value.
    pub encoded_fill_value: Option<Scalar>,
    /// The range of values that the codecs can store; `None` without codecs.
    pub storable_range: Option<(Scalar, Scalar)>,
    /// The grid on which values must be to keep the bound, with [`PackOptions::grid`]; `None` if all values do.
    pub only: Option<Lattice>,
    /// The magnitude from which values keep [`PackOptions::max_rel_error`]; `None` if all do. Those of a smaller magnitude
    /// may be off by more, unless they were surveyed or are 0.
    pub relative_from: Option<Scalar>,
    /// How the bound compares with the values, if it is so coarse that it leaves little of them.
    pub coarse: Option<CoarseBound>,
    /// The last valid values, where they decode to values beyond the valid range of the array's attributes.
    pub beyond_valid: Vec<BeyondValid>,
    /// Whether the arithmetic alone proves the bound for every value of the range, also for unseen ones.
    pub is_proven: bool,
    /// Whether every surveyed element is known to keep the bound: by the arithmetic, or because the survey found all of
    /// them close to multiples of a step. If not, use [`Self::check`].
    pub is_proven_for_surveyed: bool,
    /// The rounder of values that are written as plain numbers, without codecs, with [`crate::Reader::Any`].
    pub rounder: Option<Rounder>,
    candidate: Candidate,
    expected: Expected,
    clamp: Option<Clamp>,
}

/// Chooses codecs for an array: those that `recast pack` tries first with the same options and the same
/// [`PackOptions::grid`], if the surveyed blocks are the chunks. By default the codecs are for values to come, too:
/// any value in the range of those surveyed, or in [`PackOptions::range`], keeps the bound.
///
/// The command then compares every element, and tries the next candidate if one is wrong. So does
/// [`choose_checked`]. If [`Choice::is_proven_for_surveyed`] holds, there is nothing to compare.
///
/// # Errors
/// Options that no array can be packed with, or that need more than a survey (`from_cf`); a
/// bound that no codecs keep.
pub fn choose(survey: &Survey, options: &PackOptions) -> std::result::Result<Choice, Error> {
    choose_checked(survey, options, |_| Ok(Compared::default()))
}

/// As [`choose`], but calls `check` for each candidate until it finds no problem, as `recast pack` does. `check` may
/// call [`Choice::check`] for all blocks, and returns what that found of them, merged. A bound of a mean needs that of all
/// elements that were surveyed; finer candidates are tried until it holds.
///
/// # Errors
/// As [`choose`]; includes the problem that `check` found with the last candidate.
pub fn choose_checked(
    survey: &Survey,
    options: &PackOptions,
    mut check: impl FnMut(&Choice) -> std::result::Result<Compared, Error>,
) -> std::result::Result<Choice, Error> {
    in_default_environment((survey, options), |(survey, options)| {
        Ok(chosen(survey, options, &mut check)?)
    })
}

/// Checks a choice.
type Check<'a> = &'a mut dyn FnMut(&Choice) -> std::result::Result<Compared, Error>;

/// The findings of [`Choice::check`] about elements.
#[derive(Clone, Debug, Default)]
pub struct Compared(Comparison);

impl Compared {
    /// The findings about the elements of both.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self(self.0.merge(other.0))
    }

    /// The number of the elements.
    fn elements(&self) -> u64 {
        let Sums { elements, counts, .. } = &self.0.sums;
        elements + counts.nan + counts.missing + counts.fill + counts.infinite
    }
}

fn chosen(survey: &Survey, options: &PackOptions, check: Check<'_>) -> Result<Choice> {
    options.checked()?;
    let options = options.for_type(survey.element_type)?;
    let options = PackOptions { grid: Some(options.grid.unwrap_or(false)), ..options };
    if options.from_cf {
        return usage(
            "--from-cf needs all elements, but a survey has only some of them; use recast pack",
        );
    }
    let mut survey = survey.clone();
    let named = Markers::named(survey.element_type, &options)?;
    if let Some(unknown) = named.values().iter().find(|one| !survey.markers.contains(**one)) {
        bail!(
            "{unknown} is named as missing, but the survey counted it as data; name it before the \
             survey"
        );
    }
    survey.narrow(&options)?;
    let mut goals = Goals::new(&options, &survey)?;
    loop {
        match chosen_in_bound(&survey, &options, &goals.options(), check) {
            Ok(choice) => return Ok(choice),
            Err(why) => goals.advance(why)?,
        }
    }
}

/// The same with the bound of every element that follows from what is asked for.
fn chosen_in_bound(
    survey: &Survey,
    asked: &PackOptions,
    options: &PackOptions,
    check: Check<'_>,
) -> Result<Choice> {
    let facts = Facts::new("the array".to_owned(), options, survey, None)?;
    let mut candidates = Candidates::new(&facts);
    while let Some(candidate) = candidates.next() {
        let candidate = candidate?;
        refuse_constant(&facts, &candidate, survey)?;
        let choice = Choice::new(&facts, candidate);
        let checked = check(&choice).map_err(Error::into_inner);
        match checked.and_then(|compared| check_mean(survey, asked, &compared)) {
            Ok(()) => return Ok(choice),
            // A finer type of floating-point numbers has a smaller mean error, too.
            Err(error) if options.max_rel_error.is_some() && error.is::<MeanExceeded>() => {
                candidates.reject(Violation::elsewhere(&error.to_string()).into())?;
            }
            Err(wrong) => candidates.reject(wrong)?,
        }
    }
    let failure = candidates.explained();
    Err(match advice_on(&customary_markers(survey.data_range)) {
        Some(advice) => failure.context(advice),
        None => failure,
    })
}

/// Whether elements keep the bounds of means.
///
/// # Errors
/// [`MeanExceeded`]; a bound of a mean of which some values are not known.
fn check_mean(survey: &Survey, asked: &PackOptions, compared: &Compared) -> Result<()> {
    let Some(flag) = asked.flag_of_mean() else { return Ok(()) };
    if survey.elements() == 0 || compared.elements() != survey.elements() {
        return usage(format!(
            "{flag} bounds a mean, which is not known before all values are; use recast pack, or --max-abs-error, \
             which no mean exceeds"
        ));
    }
    judge(&reached(&Requirement::of(asked), &compared.0, survey.extent_of_error()))
}

impl Choice {
    fn new(facts: &Facts<'_>, candidate: Candidate) -> Self {
        let Facts { options, survey, .. } = *facts;
        let Keeps { bits, .. } = facts.tolerance().keeps;
        let is_free = facts.tolerance().keeps.is_nothing()
            && !bits
            && !facts.tolerance().is_each
            && !options.has_mean_goal();
        let is_proven = is_free && is_proven(facts, &candidate);
        let is_proven_for_surveyed =
            is_proven || (is_free && is_proven_for_seen(facts, &candidate));
        let Candidate { codecs, chain, only, rounder, .. } = &candidate;
        Self {
            data_type: chain.encoded_type(),
            fill_value: survey.fill_value,
            encoded_fill_value: chain.encoded_fill_value(),
            storable_range: candidate.storable(survey, true),
            only: *only,
            relative_from: candidate.relative_from,
            coarse: CoarseBound::of(options, survey),
            beyond_valid: candidate.beyond_valid(survey),
            is_proven,
            is_proven_for_surveyed,
            codecs: codecs.clone(),
            rounder: rounder.clone(),
            candidate,
            expected: Expected::of(survey, facts.tolerance())
                .with_exact_sums(options.has_mean_goal()),
            clamp: survey.clamp.clone(),
        }
    }

    /// The answer of `check` in [`choose_checked`] for an element that another process found wrong by
    /// [`Self::check`] and described in these words.
    #[must_use]
    pub fn refuted(why: &str) -> Error {
        anyhow::Error::from(Violation::elsewhere(why)).into()
    }

    /// Encodes elements, decodes them and compares. Each must be within the bound, and missing values must come back
    /// bit for bit.
    ///
    /// # Errors
    /// The first wrong element, by its index.
    pub fn check(&self, elements: &[u8]) -> std::result::Result<Compared, Error> {
        in_default_environment((self, elements), |(choice, elements)| Ok(choice.checked(elements)?))
    }

    fn checked(&self, elements: &[u8]) -> Result<Compared> {
        let mut elements = elements.to_vec();
        if let Some(clamp) = &self.clamp {
            clamp.apply(&mut elements)?;
        }
        let decoded = self.candidate.decoded(&elements)?;
        let size = self.fill_value.element_type().size();
        let region = Region::line((elements.len() / size) as u64);
        self.expected.checker()?.compared(&region, &elements, &decoded).map(Compared)
    }
}
