//! Codecs for an array that a survey tells of: what `recast pack` chooses, for other programs that write.

use anyhow::bail;
use recast_kernels::{ElementType, Scalar};
use zarr_recast::Codec;

use super::packing::Packing;
use super::room::storable;
use super::search::Search;
use crate::check::chunk_check::Judge;
use crate::check::comparison::Violation;
use crate::check::tolerance::Tolerance;
use crate::error::{Error, OptionsError, Result};
use crate::io::region::Region;
use crate::options::PackOptions;
use crate::scan::limits::Limits;
use crate::scan::missing::{Markers, advice_on_suspects, customary_markers};
use crate::scan::narrow::{Wanted, keep_within};
use crate::scan::number::{Number, is_wide};
use crate::scan::survey::{Survey, union};
use crate::text::scalar_text;

/// Codecs for an array, and what goes with them.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The value codecs, in the order in which elements pass them; none if nothing needs to be done.
    pub codecs: Vec<Codec>,
    /// The type of the stored elements.
    pub data_type: ElementType,
    /// The array's fill value; it survives the codecs.
    pub fill_value: Scalar,
    /// The stored code of the fill value.
    pub encoded_fill_value: Option<Scalar>,
    /// The range of values that the codecs can store; `None` without codecs.
    pub storable_range: Option<(Scalar, Scalar)>,
    /// Whether every value of the range keeps the bound by the arithmetic alone, also one that no survey has seen.
    pub is_proven: bool,
    /// Whether every element that was surveyed is known to keep the bound: by the arithmetic, or because the survey
    /// found all of them close to multiples of a step. If not, [`Self::check`] tells.
    pub is_proven_for_surveyed: bool,
    packing: Packing,
    tolerance: Tolerance,
    markers: Markers,
    apart: Markers,
    limits: Option<Limits>,
}

/// Chooses codecs for an array: those that `recast pack` tries first with the same options, where the blocks that
/// were surveyed are the chunks.
///
/// The command then compares every element, and goes on to the next candidate if one is not right. So does
/// [`choose_checked`]. Where [`Choice::is_proven_for_surveyed`] holds, there is nothing to compare.
///
/// # Errors
/// Options that no array can be packed with, or that need more than a survey (`percentile`, `from_cf`); a
/// bound that no codecs keep.
pub fn choose(survey: &Survey, options: &PackOptions) -> std::result::Result<Choice, Error> {
    choose_checked(survey, options, |_| Ok(()))
}

/// As [`choose`], but `check` is asked of each candidate, for instance by [`Choice::check`] of all blocks, until it
/// finds nothing wrong: what `recast pack` does.
///
/// # Errors
/// As [`choose`]; with what `check` found wrong with the last candidate.
pub fn choose_checked(
    survey: &Survey,
    options: &PackOptions,
    check: impl FnMut(&Choice) -> std::result::Result<(), Error>,
) -> std::result::Result<Choice, Error> {
    Ok(chosen(survey, options, check)?)
}

fn chosen(
    survey: &Survey,
    options: &PackOptions,
    mut check: impl FnMut(&Choice) -> std::result::Result<(), Error>,
) -> Result<Choice> {
    options.checked()?;
    let options = &options.for_type(survey.element_type)?;
    for (flag, is_given) in
        [("--percentile", options.percentile.is_some()), ("--from-cf", options.from_cf)]
    {
        if is_given {
            let text = format!("{flag} needs all elements, and a survey has some; use recast pack");
            return Err(OptionsError(text).into());
        }
    }
    let mut survey = survey.clone();
    let named = Markers::named(survey.element_type, options)?;
    if let Some(unknown) = named.values().iter().find(|one| !survey.markers.contains(**one)) {
        bail!(
            "{unknown} is to be missing, and the survey took it for data; name it before the survey"
        );
    }
    let wanted = Wanted { least: options.src_min, greatest: options.src_max, percentiles: None };
    keep_within(&mut survey, &wanted, None)?;
    if let Some(range) = &options.range {
        survey.promise(range)?;
    }
    let search = Search::new("the array".to_owned(), options, &survey, None)?;
    let found = search.find(|packing| {
        let is_proven = search.is_proven(&packing);
        let choice = Choice {
            codecs: packing.codecs.clone(),
            data_type: packing.chain.encoded_type(),
            fill_value: survey.fill_value,
            encoded_fill_value: packing.chain.encoded_fill_value(),
            storable_range: storable(survey.element_type, &packing.codecs)
                .and_then(|storable| union(Some(storable), survey.to_store())),
            is_proven,
            is_proven_for_surveyed: is_proven || search.is_proven_for_seen(&packing),
            packing,
            tolerance: search.tolerance(),
            markers: survey.markers.clone(),
            apart: survey.apart.clone(),
            limits: survey.limits.clone(),
        };
        check(&choice).map_err(Error::into_inner)?;
        Ok(choice)
    })?;
    found.map_err(|failure| {
        let failure = search.explained(failure);
        let suspects = customary_markers(survey.data_range);
        if suspects.is_empty() {
            return failure;
        }
        let named: Vec<String> = suspects.iter().map(|one| scalar_text(Some(*one))).collect();
        failure.context(advice_on_suspects(&named, &suspects))
    })
}

impl Choice {
    /// What `check` of [`choose_checked`] answers where an element is not right, as another process found by
    /// [`Self::check`] and told in these words.
    #[must_use]
    pub fn refuted(why: &str) -> Error {
        anyhow::Error::from(Violation::elsewhere(why)).into()
    }

    /// Encodes elements, decodes them again, and compares: each must be within the bound, and what is missing
    /// must come back bit for bit.
    ///
    /// # Errors
    /// The first element that is not right, by its index.
    pub fn check(&self, elements: &[u8]) -> std::result::Result<(), Error> {
        if is_wide(self.fill_value.element_type()) {
            self.check_as::<i128>(elements)?;
        } else {
            self.check_as::<f64>(elements)?;
        }
        Ok(())
    }

    fn check_as<N: Number>(&self, elements: &[u8]) -> Result<()> {
        let element_type = self.fill_value.element_type();
        let judge = Judge::<N>::new(element_type, &self.markers, self.tolerance)?;
        let judge = judge.apart_from(&self.apart)?;
        let mut elements = elements.to_vec();
        if let Some(limits) = &self.limits {
            limits.apply(&mut elements)?;
        }
        let chain = &self.packing.chain;
        let decoded = chain.decode(&chain.encode(&elements)?)?;
        let region = Region::line((elements.len() / element_type.size()) as u64);
        judge.check(&region).add(&elements, &decoded)
    }
}
