//! `recast migrate`: arrays of older formats and with codecs of numcodecs, as Zarr v3 with
//! `scale_offset` and `cast_value`.

pub(crate) mod group;
mod in_place;
mod modern;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use recast_kernels::{ElementType, Scalar};
use serde_json::{Value, json};
use zarr_recast::{BindOptions, CastValue, Chain, Codec, FillCheck, JsonScalar, ScalarMap};
use zarrs::array::ArrayMetadata;

use crate::args::{Compressor, Migrate};
use crate::array::Source;
use crate::carry::{Carried, Transfer, Transferred};
use crate::choose::ends;
use crate::difference::Differences;
use crate::output::{Destination, Encoding, Writer};
use crate::report::{Table, bytes, count, print};
use crate::work::Workers;

use modern::modern;

pub(crate) fn run(arguments: &Migrate) -> Result<()> {
    let Migrate { input, output, common, .. } = arguments;
    let destination = destination(arguments)?;
    // Legacy codecs are bound with a report anyway; what exists is read as it is.
    let source = Source::open(input, common.fill_check())?;
    let workers = Workers::new(common.threads, !common.quiet)?;
    if is_modern(&source) {
        bail!(
            "{}: already Zarr v3 without numcodecs.fixedscaleoffset and numcodecs.astype, so there \
             is nothing to migrate",
            input.display()
        );
    }
    let migration = Migration::asked(arguments, &source, &workers)
        .with_context(|| input.display().to_string())?;
    let outcome = match destination {
        None => migration.in_place()?,
        Some(destination) => {
            let staged = destination.stage()?;
            let (place, transfer) = (staged.path(), transfer(arguments));
            let outcome = migration.write(place, transfer, common.compressor, &workers)?;
            destination.commit(staged)?;
            outcome
        }
    };
    let place = output.as_ref().unwrap_or(input);
    let to_json = || migration.to_json(&outcome, input);
    print(arguments.json, common.quiet, to_json, || migration.to_table(&outcome, place))
}

/// Where the result is to be, unless it is in place.
fn destination(arguments: &Migrate) -> Result<Option<Destination>> {
    let Migrate { input, output, common, .. } = arguments;
    let destination = |output: &PathBuf| Destination::new(input, output, common.overwrite);
    output.as_ref().map(destination).transpose()
}

/// How files that stay the same get there.
fn transfer(arguments: &Migrate) -> Transfer {
    if arguments.copy { Transfer::Copy } else { Transfer::Link }
}

/// The error for a zip file or a URL in place.
const NO_DIRECTORY: &str = "not a directory, so it cannot be changed in place; name an OUTPUT";

/// Whether an array is already what it would become.
fn is_modern(source: &Source) -> bool {
    let is_v3 = matches!(source.array().metadata(), ArrayMetadata::V3(_));
    is_v3 && !source.codecs().value_codecs().iter().any(Codec::is_legacy)
}

/// An array, and what it becomes.
pub(crate) struct Migration<'a> {
    source: &'a Source,
    /// The value codecs, all of them in their order.
    codecs: Vec<Codec>,
    /// The new metadata over the same chunks, or why there are none.
    carried: Result<Carried>,
    differences: Differences,
}

/// What was done.
pub(crate) enum Outcome {
    /// New metadata, and the same chunks.
    Carried(Transferred),
    /// New metadata in place of the old ones, which are in these files now.
    InPlace(Vec<String>),
    /// Everything was decoded and encoded again; so many bytes are stored.
    Encoded(u64),
}

impl<'a> Migration<'a> {
    /// Finds the new metadata, and compares what is read through them and through the old ones.
    pub(crate) fn new(source: &'a Source, workers: &Workers) -> Result<Self> {
        let carried = carried(source, workers).and_then(|carried| {
            let differences = compare(source, &carried, workers)?;
            Ok((carried, differences))
        });
        let (carried, differences) = match carried {
            Ok((carried, differences)) => (Ok(carried), differences),
            Err(reason) => (Err(reason), Differences::default()),
        };
        let codecs = match &carried {
            Ok(carried) => carried.value_codecs()?,
            Err(_) => each_modern(source)?,
        };
        Ok(Self { source, codecs, carried, differences })
    }

    /// As [`Self::new`], but encoded again if the arguments ask for it.
    fn asked(arguments: &Migrate, source: &'a Source, workers: &Workers) -> Result<Self> {
        let mut migration = Self::new(source, workers)?;
        if arguments.reencode {
            migration.carried = Err(anyhow!("--reencode asks for it"));
        }
        Ok(migration)
    }

    /// Writes the array into a directory.
    pub(crate) fn write(
        &self,
        directory: &Path,
        transfer: Transfer,
        compressor: Compressor,
        workers: &Workers,
    ) -> Result<Outcome> {
        if let Ok(carried) = &self.carried {
            let mut carried = carried.clone();
            carried.use_default_keys();
            let transferred = carried.write(self.source, directory, transfer, workers)?;
            Source::open(directory, FillCheck::Open).context("reading back what was written")?;
            return Ok(Outcome::Carried(transferred));
        }
        self.encode(directory, compressor, workers)
    }

    /// Decodes all elements, and encodes them with the new codecs.
    fn encode(
        &self,
        directory: &Path,
        compressor: Compressor,
        workers: &Workers,
    ) -> Result<Outcome> {
        let source = self.source;
        let (element_type, fill) = (source.element_type(), source.fill_value());
        let chain = Chain::bind(element_type, Some(fill), &self.codecs, &BindOptions::default())?;
        let encoding = Encoding {
            element_type: chain.encoded_type(),
            fill_value: chain.encoded_fill_value().context("the fill value was not encoded")?,
            codecs: &self.codecs,
            compressor,
        };
        let attributes = source.array().attributes().clone();
        let writer = Writer::new(source, &encoding, attributes)?;
        let mut stored = 0;
        let work = |number| -> Result<u64> {
            let region = source.region(number)?;
            let Some(elements) = source.read(&region)? else { return Ok(0) };
            let encoded = chain.encode(&elements)?;
            let decoded = chain.decode(&encoded)?;
            let differences = Differences::between(element_type, &elements, &decoded)?;
            if !differences.is_none() {
                let described = differences.describe("elements");
                bail!(
                    "chunk {:?} does not come back when it is encoded again: {described}",
                    region.chunk
                );
            }
            writer.write(directory, &region, &encoded)
        };
        workers.run("encode", source.chunks(), work, |bytes| {
            stored += bytes;
            Ok(())
        })?;
        writer.finish(directory)?;
        Source::open(directory, FillCheck::Enforce).context("reading back what was written")?;
        Ok(Outcome::Encoded(stored))
    }

    /// Writes the new metadata over the old ones.
    fn in_place(&self) -> Result<Outcome> {
        let shown = self.source.path().display();
        let carried = self.carried_or_refusal()?;
        let replace = || -> Result<Vec<Vec<String>>> {
            let folder = self.source.location().directory().context(NO_DIRECTORY)?;
            in_place::refuse_copies(&folder)?;
            in_place::replace(&[(folder, carried.text()?)])
        };
        let kept = replace().with_context(|| shown.to_string())?;
        Ok(Outcome::InPlace(kept.concat()))
    }

    /// The new metadata for the chunks as they are.
    fn carried_or_refusal(&self) -> Result<&Carried> {
        self.carried.as_ref().map_err(|reason| {
            anyhow!(
                "{}: the chunks have to be encoded again, as {reason:#}; name an OUTPUT instead of \
                 --in-place",
                self.source.path().display()
            )
        })
    }

    fn how(&self, outcome: &Outcome) -> String {
        match outcome {
            Outcome::Carried(Transferred { copied, linked, bytes: size }) => {
                let size = bytes(*size as f64);
                match (copied, linked) {
                    (copied, 0) => {
                        format!("metadata only; {} chunks copied, {size}", count(*copied))
                    }
                    (0, linked) => format!(
                        "metadata only; {} chunks are the same files in both arrays, {size}",
                        count(*linked)
                    ),
                    (copied, linked) => format!(
                        "metadata only; {} chunks copied and {} the same files in both, {size}",
                        count(*copied),
                        count(*linked)
                    ),
                }
            }
            Outcome::InPlace(kept) => {
                format!("metadata only, in place; the old ones are in {}", kept.join(", "))
            }
            Outcome::Encoded(size) => {
                let reason = self.carried.as_ref().err();
                let reason = reason.map(|reason| format!(", as {reason:#}")).unwrap_or_default();
                format!("encoded again{reason}; {}", bytes(*size as f64))
            }
        }
    }

    pub(crate) fn to_json(&self, outcome: &Outcome, input: &Path) -> Value {
        json!({
            "input": input.display().to_string(),
            "codecs": self.codecs.iter().map(Codec::to_json).collect::<Vec<_>>(),
            "metadata_only": !matches!(outcome, Outcome::Encoded(_)),
            "how": self.how(outcome),
            "bit_identical": self.differences.is_none(),
            "elements": self.differences.to_json(),
        })
    }

    fn to_table(&self, outcome: &Outcome, place: &Path) -> Table {
        let mut table = Table::default();
        table.row("migrated", place.display().to_string());
        table.row("how", self.how(outcome));
        let value_codecs = |list: &[Codec]| {
            let names: Vec<String> = list.iter().map(|codec| codec.to_json().to_string()).collect();
            if names.is_empty() { "none".to_owned() } else { names.join("\n") }
        };
        table.row("codecs", value_codecs(&self.source.codecs().value_codecs()));
        table.row("become", value_codecs(&self.codecs));
        table.row("decoding", self.compared(outcome));
        table
    }

    fn compared(&self, outcome: &Outcome) -> String {
        match outcome {
            Outcome::Encoded(_) => "bit-identical in all elements".to_owned(),
            _ => self.differences.describe("elements"),
        }
    }
}

/// The new codecs one by one, without a look at the fill value.
fn each_modern(source: &Source) -> Result<Vec<Codec>> {
    let mut codecs = Vec::new();
    let mut element_type = source.element_type();
    for codec in source.codecs().value_codecs() {
        let new = modern(&codec, element_type)?;
        let bound = Chain::bind(element_type, None, &new, &BindOptions::default())?;
        element_type = bound.encoded_type();
        codecs.extend(new);
    }
    Ok(codecs)
}

/// The new metadata, if they can be read over the same chunks.
fn carried(source: &Source, workers: &Workers) -> Result<Carried> {
    let mut carried = Carried::new(source)?;
    let mut element_type = source.element_type();
    let mut fill = source.fill_value();
    carried.replace_value_codecs(|run| {
        let mut codecs = Vec::new();
        for codec in run {
            let new = modern(codec, element_type)?;
            let bound = Chain::bind(element_type, None, &new, &BindOptions::default())?;
            element_type = bound.encoded_type();
            codecs.extend(new);
        }
        let options = BindOptions::default().fill_check(FillCheck::Report);
        let bound = Chain::bind(fill.element_type(), Some(fill), &codecs, &options);
        // One that cannot be encoded needs a map, and so it cannot reach codecs further on.
        if let Some(encoded) = bound.ok().and_then(|chain| chain.encoded_fill_value()) {
            fill = encoded;
        }
        Ok(codecs)
    })?;
    let fits = |carried: &Carried| {
        source.with_document(carried.document().clone().into(), FillCheck::Enforce).map(|_| ())
    };
    let Err(refusal) = fits(&carried) else { return Ok(carried) };
    let legacy = source.codecs().value_codecs();
    if !legacy.iter().any(Codec::is_legacy) {
        return Err(refusal);
    }
    // The fill value does not survive, which numcodecs never asked of it: an entry in the last map.
    let used = used_codes(source, &carried, element_type, workers)?;
    for code in ends(element_type).into_iter().filter(|code| !used.contains(code)) {
        let mut mapped = carried.clone();
        let mut is_done = false;
        mapped.replace_value_codecs(|run| {
            let mut codecs = run.to_vec();
            if !is_done && let Some(entry) = fill_entry(&codecs, source.fill_value(), code) {
                is_done = true;
                codecs = entry;
            }
            Ok(codecs)
        })?;
        if is_done && fits(&mapped).is_ok() {
            return Ok(mapped);
        }
    }
    Err(refusal.context(format!(
        "the fill value {} does not survive the new codecs, and no code is left for it",
        source.fill_value()
    )))
}

/// Codecs whose last cast stores the fill value as a code and gives it back.
fn fill_entry(codecs: &[Codec], fill: Scalar, code: Scalar) -> Option<Vec<Codec>> {
    let (last, head) = codecs.split_last()?;
    let Codec::CastValue(last) = last else { return None };
    let options = BindOptions::default().fill_check(FillCheck::Report);
    let head_chain = Chain::bind(fill.element_type(), None, head, &options).ok()?;
    let working = head_chain.encode(&fill.to_ne_bytes()).ok()?;
    let working = Scalar::from_ne_bytes(head_chain.encoded_type(), &working)?;
    let mut last: CastValue = last.clone();
    last.scalar_map = Some(ScalarMap {
        encode: Some(vec![(JsonScalar::from(working), JsonScalar::from(code))]),
        decode: Some(vec![(JsonScalar::from(code), JsonScalar::from(working))]),
    });
    let mut codecs = head.to_vec();
    codecs.push(last.into());
    Some(codecs)
}

/// Which of the codes at the ends of the stored type are there.
fn used_codes(
    source: &Source,
    carried: &Carried,
    stored: ElementType,
    workers: &Workers,
) -> Result<Vec<Scalar>> {
    let mut plain = carried.clone();
    plain.replace_value_codecs(|_| Ok(Vec::new()))?;
    plain.set_values(stored, Scalar::zero(stored));
    let codes = source.with_document(plain.document().clone().into(), FillCheck::Report)?;
    let candidates = ends(stored);
    let wanted: Vec<Vec<u8>> = candidates.iter().map(|code| code.to_ne_bytes()).collect();
    let mut used = vec![false; candidates.len()];
    let work = |number| -> Result<Vec<bool>> {
        let region = codes.region(number)?;
        let Some(elements) = codes.read(&region)? else { return Ok(Vec::new()) };
        let has = |code: &Vec<u8>| elements.chunks_exact(code.len()).any(|element| element == code);
        Ok(wanted.iter().map(has).collect())
    };
    workers.run("codes", codes.chunks(), work, |found| {
        for (used, found) in used.iter_mut().zip(found) {
            *used |= found;
        }
        Ok(())
    })?;
    let used = candidates.into_iter().zip(used).filter_map(|(code, used)| used.then_some(code));
    Ok(used.collect())
}

/// Compares all elements as the old and the new metadata give them.
fn compare(source: &Source, carried: &Carried, workers: &Workers) -> Result<Differences> {
    let result = source.with_document(carried.document().clone().into(), FillCheck::Open)?;
    let element_type = source.element_type();
    if result.element_type() != element_type {
        return Err(anyhow!("the elements would be {}", result.element_type()));
    }
    let mut total = Differences::default();
    let work = |number| -> Result<Differences> {
        let region = source.region(number)?;
        let (before, after) = (source.read_or_fill(&region)?, result.read_or_fill(&region)?);
        Differences::between(element_type, &before, &after)
    };
    workers.run("compare", source.chunks(), work, |one| {
        total = total.merge(one);
        Ok(())
    })?;
    Ok(total)
}
