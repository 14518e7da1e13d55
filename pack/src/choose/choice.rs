//! Chooses codecs for an array from its survey, as `recast pack` does, for other programs that write.

use anyhow::bail;
use recast_kernels::{ElementType, Scalar};
use zarr_recast::Codec;

use super::packing::Packing;
use super::room::storable;
use super::search::Search;
use crate::check::chunk_check::Judge;
use crate::check::coarse::CoarseBound;
use crate::check::comparison::Violation;
use crate::check::tolerance::Tolerance;
use crate::error::{Error, OptionsError, Result};
use crate::io::region::Region;
use crate::options::PackOptions;
use crate::scan::lattice::Lattice;
use crate::scan::limits::Limits;
use crate::scan::missing::{Markers, advice_on_suspects, customary_markers};
use crate::scan::narrow::{Wanted, keep_within};
use crate::scan::number::{Number, is_wide};
use crate::scan::survey::{Survey, union};
use crate::text::scalar_text;

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
    /// How the bound compares with the values, if it is so coarse that it leaves little of them.
    pub coarse: Option<CoarseBound>,
    /// Whether the arithmetic alone proves the bound for every value of the range, also for unseen ones.
    pub is_proven: bool,
    /// Whether every surveyed element is known to keep the bound: by the arithmetic, or because the survey found all of
    /// them close to multiples of a step. If not, use [`Self::check`].
    pub is_proven_for_surveyed: bool,
    packing: Packing,
    tolerance: Tolerance,
    markers: Markers,
    apart: Markers,
    limits: Option<Limits>,
}

/// Chooses codecs for an array: those that `recast pack` tries first with the same options and the same
/// [`PackOptions::grid`], if the surveyed blocks are the chunks. By default the codecs are for values to come, too:
/// any value in the range of those surveyed, or in [`PackOptions::range`], keeps the bound.
///
/// The command then compares every element, and tries the next candidate if one is wrong. So does
/// [`choose_checked`]. If [`Choice::is_proven_for_surveyed`] holds, there is nothing to compare.
///
/// # Errors
/// Options that no array can be packed with, or that need more than a survey (`percentile`, `from_cf`); a
/// bound that no codecs keep.
pub fn choose(survey: &Survey, options: &PackOptions) -> std::result::Result<Choice, Error> {
    choose_checked(survey, options, |_| Ok(()))
}

/// As [`choose`], but calls `check` for each candidate until it finds no problem, as `recast pack` does. `check` may
/// call [`Choice::check`] for all blocks.
///
/// # Errors
/// As [`choose`]; includes the problem that `check` found with the last candidate.
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
    let options = options.for_type(survey.element_type)?;
    let options = PackOptions { grid: Some(options.grid.unwrap_or(false)), ..options };
    for (flag, is_given) in
        [("--percentile", options.percentile.is_some()), ("--from-cf", options.from_cf)]
    {
        if is_given {
            let text = format!(
                "{flag} needs all elements, but a survey has only some of them; use recast pack"
            );
            return Err(OptionsError(text).into());
        }
    }
    let mut survey = survey.clone();
    let named = Markers::named(survey.element_type, &options)?;
    if let Some(unknown) = named.values().iter().find(|one| !survey.markers.contains(**one)) {
        bail!(
            "{unknown} is named as missing, but the survey counted it as data; name it before the \
             survey"
        );
    }
    let wanted = Wanted { least: options.src_min, greatest: options.src_max, percentiles: None };
    keep_within(&mut survey, &wanted, None)?;
    if let Some(range) = &options.range {
        survey.promise(range)?;
    }
    let options = options.for_range(survey.range);
    let search = Search::new("the array".to_owned(), &options, &survey, None)?;
    let found = search.find(|packing| {
        let is_proven = search.is_proven(&packing);
        let choice = Choice {
            coarse: CoarseBound::of(&options, &survey),
            only: packing.only,
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
