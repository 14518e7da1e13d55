//! Replaces CF's attributes by codecs over the same stored codes.

use anyhow::{Context, bail};
use recast_kernels::{ElementType, Scalar};
use serde::Serialize;
use serde_json::{Map, Value, json};
use zarr_recast::{Codec, FillCheck};

use super::attributes::{self, APPLIED, Attributes, Codes, VALID};
use super::decoding::{CodeDifferences, Decoding};
use super::invert::way_out;
use crate::array::pairs::Pairs;
use crate::array::region::Region;
use crate::array::rewrite_metadata::RewrittenMetadata;
use crate::array::source::Source;
use crate::check::difference::Differences;
use crate::error::{Result, usage};
use crate::jobs::pack::PackJob;
use crate::json;
use crate::metadata::document::PROVENANCE;
use crate::metadata::shard_codecs::{Readers, readers};
use crate::runtime::{Runtime, Workers};
use crate::scan::charts::{Charts, Pieces};
use crate::scan::missing::Markers;
use crate::scan::number::integer;
use crate::scan::survey::union;
use crate::scan::surveyor::survey;
use crate::store::destination::Destination;
use crate::store::links::OutsideLinks;
use crate::store::staging::Staged;
use crate::store::transfer::Transfer;
use crate::text::as_shown;

/// The report of an array that CF packed.
#[derive(Debug, Serialize)]
pub struct FromCfReport {
    /// The array that was read.
    pub input: String,
    /// The array that was written.
    pub output: String,
    /// Extents of the array.
    pub shape: Vec<u64>,
    /// The type of the stored codes, as `_Unsigned` says.
    pub stored_data_type: ElementType,
    /// The type of the values.
    pub data_type: ElementType,
    /// The type in which xarray reads the input.
    pub xarray_data_type: ElementType,
    /// The fill value.
    #[serde(serialize_with = "json::written")]
    pub fill_value: Scalar,
    /// All codecs, as in zarr.json.
    pub codecs: Value,
    /// Which readers can open the output.
    pub readers: Readers,
    /// Whether all codes and all elements decode to the bits of CF's arithmetic.
    pub bit_identical: bool,
    /// The differences over codes.
    pub codes: CodeDifferences,
    /// The differences over the elements of the array.
    pub elements: Differences,
    /// The bytes of all decoded elements.
    pub decoded_bytes: u64,
    /// Missing elements.
    pub missing: u64,
    /// Their codes.
    #[serde(serialize_with = "json::written")]
    pub missing_codes: Vec<Scalar>,
    /// Entries of the decode map that only correct the last bits.
    pub patched_codes: usize,
    /// Codes that encoding does not reproduce; `None` if some are refused.
    pub codes_not_encoded_back: Option<u64>,
    /// Chunks that were copied as they are; `None` in a dry run.
    pub chunks: Option<u64>,
    /// Their bytes.
    pub bytes: Option<u64>,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Warnings for readers.
    pub warnings: Vec<String>,
    /// The links that lead out of the input; their targets were read.
    #[serde(skip_serializing_if = "OutsideLinks::is_empty")]
    pub outside_links: OutsideLinks,
    /// CF's arithmetic as a formula.
    #[serde(skip)]
    pub formula: String,
    /// The value codecs.
    #[serde(skip)]
    pub value_codecs: Vec<Codec>,
    /// The data of the plots, if requested.
    #[serde(skip)]
    pub charts: Option<Charts>,
}

/// The new form of an array.
struct NewCodecs {
    rule: Attributes,
    xarray_type: ElementType,
    codes: Codes,
    decoding: Decoding,
    rewritten: RewrittenMetadata,
}

/// The comparison of data: the differences, and the number of missing elements.
type Checked = (Differences, u64);

fn merge(a: Checked, b: Checked) -> Checked {
    (a.0.merge(b.0), a.1 + b.1)
}

/// Turns the attributes with which CF packs integers into codecs, over the same stored bytes. The attribute `recast` keeps the
/// attributes that were replaced.
///
/// By default, values are of the type in which codecs reproduce CF's arithmetic bit for bit. If both or neither do, float32
/// for integers of at most 16 bits whose attributes are float32 numbers, else float64.
pub(crate) fn from_cf(
    job: &PackJob,
    destination: &Destination,
    runtime: &Runtime,
) -> Result<(FromCfReport, Staged)> {
    let (source, workers, conversion) = open(job, runtime)?;
    let staged = destination.stage()?;
    let transferred =
        conversion.rewritten.write(&source, staged.path(), Transfer::Copy, &workers)?;
    let result = Source::written(staged.path(), FillCheck::Create)?;
    let pairs = Pairs::new(&source, &result);
    let check =
        |region: &Region, [codes, found]: [Vec<u8>; 2]| conversion.check(region, &codes, &found);
    let checked = pairs.merge_elements("verify", &workers, check, merge)?;
    let max_error = checked.0.max;
    let charts = job.charts.then(|| conversion.charts(&source, &result, max_error, &workers));
    let charts = charts.transpose()?;
    let report = FromCfReport {
        chunks: Some(transferred.copied),
        bytes: Some(transferred.bytes),
        dry_run: false,
        charts,
        ..report(job, &source, conversion, checked)
    };
    Ok((report, staged))
}

/// As [`from_cf`], but writes nothing.
pub(crate) fn dry_from_cf(job: &PackJob, runtime: &Runtime) -> Result<FromCfReport> {
    let (source, workers, conversion) = open(job, runtime)?;
    let chain = &conversion.decoding.inversion.chain;
    let check = |number| {
        let region = source.region(number)?;
        let codes = source.read_or_fill(&region)?;
        conversion.check(&region, &codes, &chain.decode(&codes)?)
    };
    let checked = workers.merge("verify", source.chunks(), check, merge)?;
    Ok(report(job, &source, conversion, checked))
}

/// Opens the array, and finds its new codecs.
fn open(job: &PackJob, runtime: &Runtime) -> Result<(Source, Workers, NewCodecs)> {
    let PackJob { input, options, scale_from, .. } = job;
    if !scale_from.is_empty() {
        return usage(
            "scale_from cannot be used with from_cf, which takes the codecs from attributes; leave one of them out",
        );
    }
    options.checked()?;
    let source = Source::open_for(runtime, input)?;
    source.refuse_place(options.shard_codecs)?;
    let workers = Workers::within(runtime, [source.chunk_memory()])?;
    let conversion = convert(&source, job, &workers);
    let conversion = conversion.with_context(|| input.display().to_string())?;
    Ok((source, workers, conversion))
}

/// The report of a dry run.
fn report(
    job: &PackJob,
    source: &Source,
    conversion: NewCodecs,
    (elements, missing): Checked,
) -> FromCfReport {
    let NewCodecs { rule, xarray_type, codes, decoding, rewritten } = conversion;
    let Decoding { arithmetic, inversion, fill_value, not_encoded } = decoding;
    FromCfReport {
        input: as_shown(&job.input),
        output: as_shown(&job.output),
        shape: source.array().shape().to_vec(),
        stored_data_type: rule.code_type,
        data_type: arithmetic.decoded_type(),
        xarray_data_type: xarray_type,
        fill_value,
        codecs: rewritten.codecs().clone(),
        readers: readers(rewritten.codecs(), &inversion.codecs, arithmetic.decoded_type()),
        bit_identical: inversion.differences.is_none() && elements.is_none(),
        codes: CodeDifferences { differences: inversion.differences, which: codes.what },
        elements,
        decoded_bytes: source.elements() as u64 * arithmetic.decoded_type().size() as u64,
        missing,
        formula: rule.formula(),
        missing_codes: rule.missing,
        patched_codes: inversion.patched,
        codes_not_encoded_back: not_encoded,
        chunks: None,
        bytes: None,
        dry_run: true,
        warnings: rule.warnings,
        outside_links: OutsideLinks::default(),
        value_codecs: inversion.codecs,
        charts: None,
    }
}

fn convert(source: &Source, job: &PackJob, workers: &Workers) -> Result<NewCodecs> {
    let stored = source.element_type();
    let mut rewritten = RewrittenMetadata::new(source)?;
    let given = rewritten.document().get("attributes").and_then(Value::as_object);
    let given = given.cloned().unwrap_or_default();
    let mut rule = Attributes::read(&given, stored)?;
    if !source.codecs().value_codecs().is_empty() && rule.code_type != stored {
        bail!("{} beside value codecs; unpack the array first", attributes::UNSIGNED);
    }
    let fill = Scalar::from_bits(rule.code_type, source.fill_value().bits());
    let range = if rule.code_type.bits() > 16 { range(source, &rule, workers)? } else { None };
    let codes = Codes::new(rule.code_type, range);
    let decoding = Decoding::choose(&rule, job.options.decoded_type, &codes, fill)?;

    let xarray_type = rule.xarray_type(&given);
    let packing = [APPLIED.as_slice(), &VALID].concat();
    let packing = attributes::picked(&given, &packing);
    let mut kept = rule.of_values(&given, stored, &decoding.arithmetic)?;
    kept.remove(PROVENANCE);
    if job.provenance {
        kept.insert(
            PROVENANCE.into(),
            json!({
                "version": env!("CARGO_PKG_VERSION"),
                "source_data_type": stored.name(),
                "cf": packing,
            }),
        );
    }
    rewritten.set_attributes(kept);
    let decoded = decoding.arithmetic.decoded_type();
    rewritten.set_values(decoded, decoding.fill_value);
    rewritten.prepend(&decoding.inversion.codecs, decoded, job.options.shard_codecs);
    Ok(NewCodecs { rule, xarray_type, codes, decoding, rewritten })
}

/// The least and greatest code in the data.
fn range(source: &Source, rule: &Attributes, workers: &Workers) -> Result<Option<(i128, i128)>> {
    if rule.code_type != source.element_type() {
        return Ok(None);
    }
    let survey = survey(source, &Markers::default(), workers)?;
    // Chunks that are not stored hold the fill value.
    let fill = source.fill_value();
    let range = union(survey.range(), Some((fill, fill)));
    Ok(range.and_then(|(least, greatest)| integer(least).zip(integer(greatest))))
}

impl NewCodecs {
    /// Compares the codecs' values for a chunk's codes with those of CF's arithmetic.
    fn check(&self, region: &Region, codes: &[u8], found: &[u8]) -> Result<Checked> {
        let Self { rule, decoding: Decoding { arithmetic, .. }, .. } = self;
        let decoded = arithmetic.decoded_type();
        let nan = Scalar::nan(decoded).context("a type without NaN")?.to_ne_bytes();
        let expected = arithmetic.decode(codes)?;
        let differences = Differences::between(decoded, &expected, found)?;
        if differences.not_finite > 0 {
            bail!(
                "chunk {:?}: {} of {} elements are finite by CF's arithmetic, {}, and not by the codecs, or the other \
                 way round; {}",
                region.chunk,
                differences.not_finite,
                differences.elements,
                rule.formula(),
                way_out(decoded)
            );
        }
        let missing = expected.chunks_exact(decoded.size()).filter(|value| *value == nan);
        let missing = if rule.missing.is_empty() { 0 } else { missing.count() as u64 };
        Ok((differences, missing))
    }

    /// Goes through the array once more for the plots: values, codes, and the differences between the codecs and CF.
    fn charts(
        &self,
        source: &Source,
        result: &Source,
        max_error: f64,
        workers: &Workers,
    ) -> Result<Charts> {
        let Decoding { arithmetic, inversion, .. } = &self.decoding;
        let survey = survey(result, &Markers::default(), workers)?;
        // Missing values read as NaN. If the fill value is a number, it is one of the values.
        let fill =
            Some(survey.fill_value).filter(|&fill| fill.is_finite() && survey.count(fill) > 0);
        let range = union(survey.range(), fill.map(|fill| (fill, fill)));
        let (decoded, markers) = (arithmetic.decoded_type(), Markers::default());
        let charts = Charts::new(source, workers.runtime(), decoded, range, &markers, max_error);
        let charts = charts.with_codes(&inversion.chain, range);
        let pairs = Pairs::new(source, result);
        charts.gather(workers, pairs.regions(), |number| {
            let (region, [codes, after]) = pairs.elements(number)?;
            let before = arithmetic.decode(&codes)?;
            Ok(Some((region, Pieces { before, after, codes: Some(codes) })))
        })
    }
}

/// The attributes that tell how the original array was packed, if there was one.
pub(super) fn original(attributes: &Map<String, Value>) -> Option<Map<String, Value>> {
    attributes.get(PROVENANCE)?.get("cf")?.as_object().cloned()
}
