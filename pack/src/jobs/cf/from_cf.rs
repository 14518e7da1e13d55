//! Replaces CF's attributes by codecs over the same stored codes.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use recast_kernels::{ElementType, Scalar};
use serde::Serialize;
use serde_json::{Map, Value, json};
use zarr_recast::{BindOptions, Chain, Codec, FillCheck};

use super::attributes::{self, Arithmetic, Attributes, Codes};
use super::invert::{Inversion, invert};
use crate::check::difference::Differences;
use crate::error::{Error, Result};
use crate::io::destination::Destination;
use crate::io::metadata::{PROVENANCE, name_dimensions};
use crate::io::region::Region;
use crate::io::rewrite_metadata::RewrittenMetadata;
use crate::io::shard_codecs::{Readers, readers};
use crate::io::source::Source;
use crate::io::staging::Staged;
use crate::io::transfer::Transfer;
use crate::jobs::runner::{DryRun, Job};
use crate::json as scalars;
use crate::options::ShardCodecs;
use crate::runtime::{Runtime, Workers};
use crate::scan::charts::{ChartSpec, Charts, Pieces, gather};
use crate::scan::missing::Markers;
use crate::scan::number::integer;
use crate::scan::reader::Reader;
use crate::scan::survey::union;
use crate::scan::surveyor::survey;

/// Turns the attributes with which CF packs integers into codecs, over the same stored bytes.
#[derive(Clone, Debug)]
pub struct FromCfJob {
    /// The array of packed integers.
    pub input: PathBuf,
    /// The Zarr v3 array to write.
    pub output: PathBuf,
    /// The type of the values: float32 or float64. By default, the type in which codecs reproduce CF's
    /// arithmetic bit for bit. If both or neither do, float32 for integers of at most 16 bits whose attributes
    /// are float32 numbers, else float64.
    pub decoded_type: Option<ElementType>,
    /// Where the codecs go in an array with shards.
    pub shard_codecs: ShardCodecs,
    /// Replaces an array at `output`, once the new one is whole.
    pub overwrite: bool,
    /// Writes the attribute `recast`, which keeps the attributes that were replaced.
    pub provenance: bool,
    /// Gathers [`Charts`] for the report, in a pass of their own.
    pub charts: bool,
}

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
    #[serde(serialize_with = "scalars::element_type")]
    pub stored_data_type: ElementType,
    /// The type of the values.
    #[serde(serialize_with = "scalars::element_type")]
    pub data_type: ElementType,
    /// The fill value.
    #[serde(serialize_with = "scalars::scalar")]
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
    /// The other type of the values, if it is possible.
    pub alternative: Option<CfAlternative>,
    /// Missing elements.
    pub missing: u64,
    /// Their codes.
    #[serde(serialize_with = "scalars::list")]
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

/// Differences over codes.
#[derive(Clone, Debug, Serialize)]
pub struct CodeDifferences {
    /// The differences.
    #[serde(flatten)]
    pub differences: Differences,
    /// Which codes were compared.
    pub which: String,
}

/// The other possible type of the values, and its cost.
#[derive(Clone, Debug, Serialize)]
pub struct CfAlternative {
    /// The type.
    #[serde(serialize_with = "scalars::element_type")]
    pub data_type: ElementType,
    /// The differences from CF's arithmetic in that type, over codes.
    pub codes: CodeDifferences,
    /// The largest distance between CF's values in the two types.
    pub largest_distance: f64,
    /// The bytes of all decoded elements.
    pub decoded_bytes: u64,
}

/// The new form of an array.
struct Conversion {
    rule: Attributes,
    codes: Codes,
    decoding: Decoding,
    other: Option<Decoding>,
    rewritten: RewrittenMetadata,
}

/// How values of one type are decoded.
struct Decoding {
    arithmetic: Arithmetic,
    inversion: Inversion,
    fill_value: Scalar,
    /// Codes that encoding does not reproduce; `None` if it refuses some.
    not_encoded: Option<u64>,
}

impl Decoding {
    fn new(rule: &Attributes, decoded: ElementType, codes: &Codes, fill: Scalar) -> Result<Self> {
        let arithmetic = Arithmetic::new(rule, decoded)?;
        let inversion = invert(rule, &arithmetic, codes, fill)?;
        let fill_value = inversion.chain.decode(&fill.to_ne_bytes())?;
        let fill_value = Scalar::from_ne_bytes(decoded, &fill_value).context("no fill value")?;
        let options = BindOptions::default();
        let bound = Chain::bind(decoded, Some(fill_value), &inversion.codecs, &options);
        let bound = bound.with_context(|| {
            format!("the fill value {fill} decodes to {fill_value}, and that must come back")
        })?;
        if bound.encoded_fill_value().is_none_or(|code| code != fill) {
            bail!(
                "the fill value {fill} decodes to {fill_value}, which is stored as another code; use \
                 --decoded-type float64"
            );
        }
        let not_encoded = not_encoded(rule, codes, &inversion)?;
        Ok(Self { arithmetic, inversion, fill_value, not_encoded })
    }

    /// Whether every code has CF's value to the last bit, and encoding reproduces it.
    fn is_exact(&self) -> bool {
        self.inversion.differences.is_none() && self.not_encoded == Some(0)
    }

    /// The decoding in the requested type, or else in the exact one; and the decoding in the other type.
    fn choose(
        rule: &Attributes,
        requested: Option<ElementType>,
        codes: &Codes,
        fill: Scalar,
    ) -> Result<(Self, Option<Self>)> {
        let natural = requested.unwrap_or_else(|| rule.natural_type());
        let first = Self::new(rule, natural, codes, fill);
        if rule.code_type.bits() > 16 {
            // float32 cannot distinguish all of these codes.
            return Ok((first?, None));
        }
        let other = match natural {
            ElementType::Float32 => ElementType::Float64,
            _ => ElementType::Float32,
        };
        // An impossible type is not an alternative.
        let second = Self::new(rule, other, codes, fill).ok();
        let is_better = requested.is_none()
            && !first.as_ref().is_ok_and(Self::is_exact)
            && second.as_ref().is_some_and(Self::is_exact);
        match second {
            Some(second) if is_better => Ok((second, first.ok())),
            second => Ok((first?, second)),
        }
    }

    /// The cost of this decoding instead of another.
    fn in_place_of(&self, chosen: &Self, codes: &Codes, elements: u64) -> Result<CfAlternative> {
        let values = |decoding: &Self| -> Result<Vec<f64>> {
            let arithmetic = &decoding.arithmetic;
            Reader::new(arithmetic.decoded_type())?.read(&arithmetic.decode(&codes.bytes)?)
        };
        let (mine, theirs) = (values(self)?, values(chosen)?);
        let distances = mine.iter().zip(&theirs).map(|(a, b)| (a - b).abs());
        let data_type = self.arithmetic.decoded_type();
        Ok(CfAlternative {
            data_type,
            codes: CodeDifferences {
                differences: self.inversion.differences,
                which: codes.what.clone(),
            },
            // Missing values are NaN, and never a maximum.
            largest_distance: distances.fold(0.0, f64::max),
            decoded_bytes: elements * data_type.size() as u64,
        })
    }
}

/// The results from the data.
#[derive(Clone, Copy, Default)]
struct Found {
    differences: Differences,
    missing: u64,
}

impl FromCfJob {
    /// Converts `input` to `output`.
    #[must_use]
    pub fn new(input: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        Self {
            input: input.into(),
            output: output.into(),
            decoded_type: None,
            shard_codecs: ShardCodecs::Auto,
            overwrite: false,
            provenance: true,
            charts: false,
        }
    }
}

impl Job for FromCfJob {
    type Report = FromCfReport;

    fn places(&self) -> (&Path, &Path, bool) {
        (&self.input, &self.output, self.overwrite)
    }

    fn write(
        &self,
        destination: &Destination,
        runtime: &Runtime,
    ) -> Result<(FromCfReport, Staged)> {
        let (source, workers, conversion) = self.convert(runtime)?;
        let staged = destination.stage()?;
        let transferred =
            conversion.rewritten.write(&source, staged.path(), Transfer::Copy, &workers)?;
        let result = Source::written(staged.path(), FillCheck::Create)?;
        let decoded = |region: &Region| result.read_or_fill(region);
        let found = check(&source, decoded, &conversion, &workers)?;
        let max_error = found.differences.max;
        let charts = self.charts.then(|| conversion.charts(&source, &result, max_error, &workers));
        let charts = charts.transpose()?;
        let report = FromCfReport {
            chunks: Some(transferred.copied),
            bytes: Some(transferred.bytes),
            dry_run: false,
            charts,
            ..self.report(&source, conversion, found)?
        };
        Ok((report, staged))
    }
}

impl DryRun for FromCfJob {
    fn preview(&self, runtime: &Runtime) -> std::result::Result<FromCfReport, Error> {
        let (source, workers, conversion) = self.convert(runtime)?;
        let chain = &conversion.decoding.inversion.chain;
        let decoded = |region: &Region| Ok(chain.decode(&source.read_or_fill(region)?)?);
        let found = check(&source, decoded, &conversion, &workers)?;
        Ok(self.report(&source, conversion, found)?)
    }
}

impl FromCfJob {
    /// Opens the array, and finds its new codecs.
    fn convert(&self, runtime: &Runtime) -> Result<(Source, Workers, Conversion)> {
        let source = Source::open_for(runtime, &self.input)?;
        source.refuse_place(self.shard_codecs)?;
        let workers = Workers::within(runtime, [source.chunk_memory()])?;
        let conversion =
            convert(&source, self, &workers).with_context(|| self.input.display().to_string())?;
        Ok((source, workers, conversion))
    }

    /// The report of a dry run.
    fn report(
        &self,
        source: &Source,
        conversion: Conversion,
        found: Found,
    ) -> Result<FromCfReport> {
        let Conversion { rule, codes, decoding, other, rewritten } = conversion;
        let elements = source.elements() as u64;
        let alternative = other.map(|other| other.in_place_of(&decoding, &codes, elements));
        let Decoding { arithmetic, inversion, fill_value, not_encoded } = decoding;
        Ok(FromCfReport {
            input: self.input.display().to_string(),
            output: self.output.display().to_string(),
            shape: source.array().shape().to_vec(),
            stored_data_type: rule.code_type,
            data_type: arithmetic.decoded_type(),
            fill_value,
            codecs: rewritten.codecs().clone(),
            readers: readers(rewritten.codecs(), &inversion.codecs, arithmetic.decoded_type()),
            bit_identical: inversion.differences.is_none() && found.differences.is_none(),
            codes: CodeDifferences { differences: inversion.differences, which: codes.what },
            elements: found.differences,
            decoded_bytes: elements * arithmetic.decoded_type().size() as u64,
            alternative: alternative.transpose()?,
            missing: found.missing,
            formula: rule.formula(),
            missing_codes: rule.missing,
            patched_codes: inversion.patched,
            codes_not_encoded_back: not_encoded,
            chunks: None,
            bytes: None,
            dry_run: true,
            warnings: rule.warnings,
            value_codecs: inversion.codecs,
            charts: None,
        })
    }
}

fn convert(source: &Source, job: &FromCfJob, workers: &Workers) -> Result<Conversion> {
    let stored = source.element_type();
    let given = source.array().attributes().clone();
    let mut rule = Attributes::read(&given, stored)?;
    if !source.codecs().value_codecs().is_empty() && rule.code_type != stored {
        bail!("{} beside value codecs; unpack the array first", attributes::UNSIGNED);
    }
    let fill = Scalar::from_bits(rule.code_type, source.fill_value().bits());
    let range = if rule.code_type.bits() > 16 { range(source, &rule, workers)? } else { None };
    let codes = Codes::new(rule.code_type, range);
    let (decoding, other) = Decoding::choose(&rule, job.decoded_type, &codes, fill)?;

    let mut kept = given.clone();
    let packing = attributes::packing(&given);
    attributes::decode_valid(&mut kept, stored, &mut rule, &decoding.arithmetic)?;
    for name in attributes::APPLIED {
        kept.remove(name);
    }
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
    let mut rewritten = RewrittenMetadata::new(source)?;
    rewritten.use_default_keys();
    let mut names = rewritten.document().clone();
    names.insert("attributes".into(), kept.into());
    name_dimensions(&mut names);
    let kept = names.remove("attributes").and_then(|kept| kept.as_object().cloned());
    rewritten.set_attributes(kept.unwrap_or_default());
    let decoded = decoding.arithmetic.decoded_type();
    rewritten.set_values(decoded, decoding.fill_value);
    rewritten.prepend(&decoding.inversion.codecs, decoded, job.shard_codecs);
    Ok(Conversion { rule, codes, decoding, other, rewritten })
}

/// The least and greatest code in the data.
fn range(source: &Source, rule: &Attributes, workers: &Workers) -> Result<Option<(i128, i128)>> {
    if rule.code_type != source.element_type() {
        return Ok(None);
    }
    let survey = survey(source, &Markers::default(), workers)?;
    // Chunks that are not stored hold the fill value.
    let fill = integer(source.fill_value());
    let ends = survey.range.map(|(least, greatest)| [integer(least), integer(greatest)]);
    let ends = ends.into_iter().flatten().flatten().chain(fill);
    let ends: Vec<i128> = ends.collect();
    Ok(ends.iter().min().copied().zip(ends.iter().max().copied()))
}

/// The number of codes, without missing ones, that encoding does not reproduce; `None` if one cannot be
/// encoded.
fn not_encoded(rule: &Attributes, codes: &Codes, inversion: &Inversion) -> Result<Option<u64>> {
    let decoded = inversion.chain.decode(&codes.bytes)?;
    let Ok(encoded) = inversion.chain.encode(&decoded) else { return Ok(None) };
    let size = rule.code_type.size();
    let missing: Vec<Vec<u8>> = rule.missing.iter().map(|code| code.to_ne_bytes()).collect();
    let pairs = codes.bytes.chunks_exact(size).zip(encoded.chunks_exact(size));
    let changed = pairs.filter(|(before, after)| {
        before != after && !missing.iter().any(|missing| missing == before)
    });
    Ok(Some(changed.count() as u64))
}

/// Compares every decoded element with CF's arithmetic on the codes of the input.
fn check(
    source: &Source,
    decode: impl Fn(&Region) -> Result<Vec<u8>> + Sync,
    conversion: &Conversion,
    workers: &Workers,
) -> Result<Found> {
    let Conversion { rule, decoding: Decoding { arithmetic, .. }, .. } = conversion;
    let decoded = arithmetic.decoded_type();
    let nan = Scalar::nan(decoded).context("a type without NaN")?.to_ne_bytes();
    let work = |number| -> Result<Found> {
        let region = source.region(number)?;
        let expected = arithmetic.decode(&source.read_or_fill(&region)?)?;
        let found = decode(&region)?;
        let differences = Differences::between(decoded, &expected, &found)?;
        if differences.not_finite > 0 {
            bail!("chunk {:?}: a missing value did not stay one", region.chunk);
        }
        let missing = expected.chunks_exact(decoded.size()).filter(|value| *value == nan);
        let missing = if rule.missing.is_empty() { 0 } else { missing.count() as u64 };
        Ok(Found { differences, missing })
    };
    workers.merge("verify", source.chunks(), work, |all, one| Found {
        differences: all.differences.merge(one.differences),
        missing: all.missing + one.missing,
    })
}

impl Conversion {
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
        let range = union(survey.range, fill.map(|fill| (fill, fill)));
        let (decoded, markers) = (arithmetic.decoded_type(), Markers::default());
        let spec = ChartSpec::new(source, decoded, range, &markers, max_error);
        let spec = spec.with_codes(&inversion.chain, range);
        gather(&spec, workers, source.chunks(), |number| {
            let region = source.region(number)?;
            let codes = source.read_or_fill(&region)?;
            let before = arithmetic.decode(&codes)?;
            let after = result.read_or_fill(&region)?;
            Ok(Some((region, Pieces { before, after, codes: Some(codes) })))
        })
    }
}

/// The attributes that tell how the original array was packed, if there was one.
pub(super) fn original(attributes: &Map<String, Value>) -> Option<Map<String, Value>> {
    attributes.get(PROVENANCE)?.get("cf")?.as_object().cloned()
}
