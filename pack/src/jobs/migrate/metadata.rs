//! New metadata for the chunks of an array, and whether they give the same values.

use anyhow::anyhow;
use recast_kernels::{ElementType, Scalar};
use zarr_recast::{BindOptions, CastValue, Chain, Codec, FillCheck, ScalarMap};

use super::legacy::replace_legacy;
use crate::array::pairs::Pairs;
use crate::array::region::Region;
use crate::array::rewrite_metadata::RewrittenMetadata;
use crate::array::source::Source;
use crate::check::difference::Differences;
use crate::choose::codes::ends;
use crate::error::Result;
use crate::runtime::Workers;
use crate::scan::number::encoded;

/// The new codecs, without checking the fill value.
pub(super) fn new_codecs(source: &Source) -> Result<Vec<Codec>> {
    replace_all(&source.codecs().value_codecs(), &mut source.element_type())
}

/// The new codecs for a run of them. `element_type` is the type that reaches them, and becomes that behind them.
fn replace_all(run: &[Codec], element_type: &mut ElementType) -> Result<Vec<Codec>> {
    let mut codecs = Vec::new();
    for codec in run {
        let new = replace_legacy(codec, *element_type)?;
        let bound = Chain::bind(*element_type, None, &new, &BindOptions::default())?;
        *element_type = bound.encoded_type();
        codecs.extend(new);
    }
    Ok(codecs)
}

/// New metadata over the same chunks.
pub(super) struct Rewritten {
    pub(super) metadata: RewrittenMetadata,
    /// The array that readers of these metadata get.
    pub(super) result: Source,
}

impl Rewritten {
    fn new(source: &Source, metadata: RewrittenMetadata) -> Result<Self> {
        Ok(Self { result: metadata.over(source, FillCheck::Create)?, metadata })
    }
}

/// The new metadata, if they can be read over the same chunks.
pub(super) fn rewritten(source: &Source, workers: &Workers) -> Result<Rewritten> {
    let mut rewritten = RewrittenMetadata::new(source)?;
    let mut element_type = source.element_type();
    let mut fill = source.fill_value();
    rewritten.replace_value_codecs(|run| {
        let codecs = replace_all(run, &mut element_type)?;
        let options = BindOptions::default().fill_check(FillCheck::ReportOnly);
        let bound = Chain::bind(fill.element_type(), Some(fill), &codecs, &options);
        // A fill value that cannot be encoded needs a map, and cannot reach later codecs.
        if let Some(encoded) = bound.ok().and_then(|chain| chain.encoded_fill_value()) {
            fill = encoded;
        }
        Ok(codecs)
    })?;
    let refusal = match Rewritten::new(source, rewritten.clone()) {
        Ok(found) => return Ok(found),
        Err(refusal) => refusal,
    };
    let legacy = source.codecs().value_codecs();
    if !legacy.iter().any(Codec::is_legacy) {
        return Err(refusal);
    }
    // The fill value does not survive (numcodecs does not require it), so add an entry to the last map.
    let used = used_codes(source, &rewritten, element_type, workers)?;
    for code in ends(element_type).into_iter().filter(|code| !used.contains(code)) {
        let mut mapped = rewritten.clone();
        let mut is_done = false;
        mapped.replace_value_codecs(|run| {
            let mut codecs = run.to_vec();
            if !is_done && let Some(entry) = fill_entry(&codecs, source.fill_value(), code) {
                is_done = true;
                codecs = entry;
            }
            Ok(codecs)
        })?;
        if is_done && let Ok(found) = Rewritten::new(source, mapped) {
            return Ok(found);
        }
    }
    Err(refusal.context(format!(
        "the fill value {} does not survive the new codecs, and no code is left for it",
        source.fill_value()
    )))
}

/// Codecs whose last cast maps the fill value to a code and back.
fn fill_entry(codecs: &[Codec], fill: Scalar, code: Scalar) -> Option<Vec<Codec>> {
    let (last, head) = codecs.split_last()?;
    let Codec::CastValue(last) = last else { return None };
    let options = BindOptions::default().fill_check(FillCheck::ReportOnly);
    let head_chain = Chain::bind(fill.element_type(), None, head, &options).ok()?;
    let working = encoded(&head_chain, fill)?;
    let mut last: CastValue = last.clone();
    last.scalar_map = Some(ScalarMap {
        encode: Some([(working, code)].into_iter().collect()),
        decode: Some([(code, working)].into_iter().collect()),
    });
    let mut codecs = head.to_vec();
    codecs.push(last.into());
    Some(codecs)
}

/// Which of the codes at the ends of the stored type are in use.
fn used_codes(
    source: &Source,
    rewritten: &RewrittenMetadata,
    stored: ElementType,
    workers: &Workers,
) -> Result<Vec<Scalar>> {
    let mut plain = rewritten.clone();
    plain.replace_value_codecs(|_| Ok(Vec::new()))?;
    plain.set_values(stored, Scalar::zero(stored));
    let codes = plain.over(source, FillCheck::ReportOnly)?;
    let work = |number| -> Result<Vec<Scalar>> {
        let region = codes.region(number)?;
        let Some(elements) = codes.read(&region)? else { return Ok(Vec::new()) };
        let is_used = |code: &Scalar| {
            let code = code.to_ne_bytes();
            elements.chunks_exact(code.len()).any(|element| element == code)
        };
        Ok(ends(stored).into_iter().filter(is_used).collect())
    };
    workers.merge("codes", codes.chunks(), work, |mut all, mut one| {
        one.retain(|code| !all.contains(code));
        all.extend(one);
        all
    })
}

/// Compares all elements with those that readers of the new metadata get, at the same chunks.
pub(super) fn compare(source: &Source, result: &Source, workers: &Workers) -> Result<Differences> {
    let element_type = source.element_type();
    if result.element_type() != element_type {
        return Err(anyhow!("the elements would be {}", result.element_type()));
    }
    let work = |_: &Region, [before, after]: [Vec<u8>; 2]| {
        Differences::between(element_type, &before, &after)
    };
    Pairs::new(source, result).merge_elements("compare", workers, work, Differences::merge)
}
