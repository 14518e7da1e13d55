//! The job that migrates, and migrating an array.

use std::path::{Path, PathBuf};
use std::{fmt, fs};

use anyhow::{Context, anyhow, bail};
use serde::Serialize;
use serde_json::Value;
use zarr_recast::{BindOptions, Chain, Codec, FillCheck};

use super::in_place;
use super::metadata::{compare, new_codecs, rewritten};
use crate::array::region::Region;
use crate::array::rewrite_metadata::RewrittenMetadata;
use crate::array::source::Source;
use crate::array::writer::{Encoding, Writer};
use crate::check::difference::Differences;
use crate::error::{Result, is_interrupted};
use crate::jobs::cf::attributes::{PACKED_BY_CF, is_packed_by_cf};
use crate::metadata::byte_codecs::Storage;
use crate::metadata::document::text;
use crate::metadata::shard_codecs::{Readers, readers};
use crate::options::{Compressor, ShardCodecs};
use crate::runtime::Workers;
use crate::store::links::OutsideLinks;
use crate::store::location::url;
use crate::store::transfer::{Transfer, Transferred};
use crate::text::{as_shown, bytes, count, number_of};

/// Turns an array of Zarr v1 or v2, or with `numcodecs.fixedscaleoffset` or `numcodecs.astype`, into Zarr v3 with
/// `scale_offset` and `cast_value`; or a group with everything in it.
///
/// Writes new metadata over the same chunks if that gives the same values. Every bit of every element is compared
/// before and after.
#[derive(Clone, Debug)]
pub struct MigrateJob {
    /// The array or group: Zarr v1, v2 or v3.
    pub input: PathBuf,
    /// The Zarr v3 array or group to write. `None` replaces the metadata of `input`, and keeps the old files as
    /// `NAME.bak`.
    pub output: Option<PathBuf>,
    /// Copies chunks instead of linking them.
    pub copy: bool,
    /// Decodes everything and encodes it again.
    pub reencode: bool,
    /// Replaces an array or group at `output`, once the new one is whole.
    pub overwrite: bool,
    /// How chunks that are encoded again are compressed.
    pub compressor: Compressor,
}

impl MigrateJob {
    /// Migrates `input` to `output`, or in place.
    #[must_use]
    pub fn new(input: impl Into<PathBuf>, output: Option<PathBuf>) -> Self {
        Self {
            input: input.into(),
            output,
            copy: false,
            reencode: false,
            overwrite: false,
            compressor: Compressor::ZSTD,
        }
    }

    /// How unchanged files get there.
    pub(super) fn transfer(&self) -> Transfer {
        let is_remote = self.output.as_deref().is_some_and(|output| url(output).is_some());
        if self.copy || is_remote { Transfer::Copy } else { Transfer::Link }
    }
}

/// The report of a migrated array.
#[derive(Clone, Debug, Serialize)]
pub struct ArrayMigration {
    /// The array that was read.
    pub input: String,
    /// The value codecs that it has now.
    pub codecs: Vec<Value>,
    /// Which readers can open it; `None` without value codecs, when every reader of Zarr v3 with its type can.
    pub readers: Option<Readers>,
    /// Whether only the metadata are new.
    pub metadata_only: bool,
    /// How it was done, for people.
    pub how: String,
    /// Whether all elements are the same bits.
    pub bit_identical: bool,
    /// The differences.
    pub elements: Differences,
    /// A further step that the array needs, if any.
    pub hint: Option<String>,
    /// The links that lead out of the input; their targets were read.
    #[serde(skip_serializing_if = "OutsideLinks::is_empty")]
    pub outside_links: OutsideLinks,
    /// Where the array is now.
    #[serde(skip)]
    pub place: String,
    /// The value codecs that it had.
    #[serde(skip)]
    pub source_codecs: Vec<Value>,
}

impl ArrayMigration {
    /// The report of an array for which a run that was killed had compared all elements, and written the new metadata.
    pub(super) fn finished(source: &Source, kept: &[String]) -> Result<Self> {
        let value_codecs = source.codecs().value_codecs();
        let codecs: Vec<Value> = value_codecs.iter().map(Codec::to_json).collect();
        let all = RewrittenMetadata::new(source)?;
        Ok(Self {
            input: as_shown(source.path()),
            codecs: codecs.clone(),
            readers: readers_of(all.codecs(), &value_codecs, source),
            metadata_only: true,
            how: format!(
                "already Zarr v3: an earlier run wrote the metadata and was killed; finished, the old ones are in {}",
                kept.join(", ")
            ),
            bit_identical: true,
            elements: Differences::none(source.elements() as u64),
            hint: cf_hint(source),
            outside_links: OutsideLinks::default(),
            place: as_shown(source.path()),
            source_codecs: codecs,
        })
    }
}

/// Who can read an array with these codecs; `None` without value codecs.
fn readers_of(all: &Value, value_codecs: &[Codec], source: &Source) -> Option<Readers> {
    (!value_codecs.is_empty()).then(|| readers(all, value_codecs, source.element_type()))
}

/// The sentence about an array with nothing to migrate; `None` for other arrays.
pub(super) fn nothing_to_migrate(source: &Source) -> Option<String> {
    if source.is_older() || source.codecs().value_codecs().iter().any(Codec::is_legacy) {
        return None;
    }
    let hint = cf_hint(source).map(|hint| format!("; {hint}")).unwrap_or_default();
    Some(format!("nothing to migrate{hint}"))
}

/// The hint for an array that CF's attributes pack.
fn cf_hint(source: &Source) -> Option<String> {
    is_packed_by_cf(source).then(|| format!("the integers are {PACKED_BY_CF}"))
}

/// An array and its new form.
pub(super) struct Migration<'a> {
    job: &'a MigrateJob,
    source: Source,
    /// The value codecs, all of them in their order.
    codecs: Vec<Codec>,
    /// The new metadata over the same chunks, or why there are none.
    rewritten: Result<RewrittenMetadata>,
}

impl<'a> Migration<'a> {
    /// Finds the new metadata. In place, the elements are compared, read with these and with the old ones; those of an
    /// output, once they are written.
    pub(super) fn new(job: &'a MigrateJob, source: Source, workers: &Workers) -> Result<Self> {
        let mut found = rewritten(&source, workers);
        // Without new metadata, those with which the elements are encoded again.
        let codecs = match &found {
            Ok((_, result)) => result.codecs().value_codecs(),
            Err(_) => new_codecs(&source)?,
        };
        if job.reencode {
            found = Err(anyhow!("--reencode asks for it"));
        }
        if let (None, Ok((_, result))) = (&job.output, &found)
            && let Err(reason) = compare(&source, result, workers)
        {
            if is_interrupted(&reason) {
                return Err(reason);
            }
            found = Err(reason);
        }
        let rewritten = found.map(|(metadata, _)| metadata);
        Ok(Self { job, source, codecs, rewritten })
    }

    /// Writes the array into a directory; it is reported at `place`.
    pub(super) fn write(
        mut self,
        directory: &Path,
        place: &Path,
        workers: &Workers,
    ) -> Result<ArrayMigration> {
        if let Ok(rewritten) = &self.rewritten {
            let transfer = self.job.transfer();
            let transferred = rewritten.write(&self.source, directory, transfer, workers)?;
            let result = Source::written(directory, FillCheck::Open)?;
            match compare(&self.source, &result, workers) {
                Ok(()) => {
                    let all = rewritten.codecs().clone();
                    return Ok(self.report(&all, true, metadata_only(&transferred), place));
                }
                Err(error) if is_interrupted(&error) => return Err(error),
                Err(reason) => {
                    self.codecs = new_codecs(&self.source)?;
                    self.rewritten = Err(reason);
                    for entry in fs::read_dir(directory)? {
                        let path = entry?.path();
                        if path.is_dir() {
                            fs::remove_dir_all(path)?;
                        } else {
                            fs::remove_file(path)?;
                        }
                    }
                }
            }
        }
        let (all, stored) = self.encode(directory, workers)?;
        let stored = bytes(stored as f64);
        let reason = self.rewritten.as_ref().err();
        let reason = reason.map(|reason| format!(", because {reason:#}")).unwrap_or_default();
        Ok(self.report(&all, false, format!("encoded again{reason}; {stored}"), place))
    }

    /// Decodes all elements, and encodes them with the new codecs. Returns all codecs, and the number of stored bytes.
    ///
    /// # Errors
    /// Elements that do not come back as they were.
    fn encode(&self, directory: &Path, workers: &Workers) -> Result<(Value, u64)> {
        let source = &self.source;
        let (element_type, fill) = (source.element_type(), source.fill_value());
        let chain = Chain::bind(element_type, Some(fill), &self.codecs, &BindOptions::default())?;
        let encoding = Encoding {
            element_type: chain.encoded_type(),
            fill_value: chain.encoded_fill_value().context("the fill value was not encoded")?,
            codecs: &self.codecs,
            storage: Storage::named(self.job.compressor)?,
            shard_codecs: ShardCodecs::Auto,
        };
        let attributes = source.array().attributes().clone();
        let writer = Writer::new(source, &encoding, attributes)?;
        // A chunk whose codes are the fill value's is not stored, so that its elements become the fill value.
        encoded(&chain, &fill.to_ne_bytes(), format_args!("the fill value {fill}"))?;
        let encode = |region: &Region, elements: Vec<u8>| {
            encoded(&chain, &elements, format_args!("chunk {:?}", region.chunk))
        };
        let stored = writer.write_all(source, directory, "encode", workers, encode)?;
        Ok((writer.codecs().clone(), stored))
    }

    /// Writes the new metadata over the old metadata.
    pub(super) fn in_place(self) -> Result<ArrayMigration> {
        let rewritten = self.rewritten_or_refusal()?;
        let replace = || -> Result<Vec<Vec<String>>> {
            let folder = in_place::folder(self.source.location())?;
            in_place::replace(&[(folder, text(rewritten.document())?)])
        };
        let kept = replace().with_context(|| self.source.path().display().to_string())?;
        Ok(self.replaced(&kept.concat()))
    }

    /// The report, once the new metadata are in place; the old ones are in these files.
    pub(super) fn replaced(self, kept: &[String]) -> ArrayMigration {
        let how = format!("metadata only, in place; the old ones are in {}", kept.join(", "));
        let place = self.source.path().to_owned();
        let all = self.rewritten.as_ref().map(|new| new.codecs().clone()).unwrap_or_default();
        self.report(&all, true, how, &place)
    }

    /// The new metadata for the chunks as they are.
    pub(super) fn rewritten_or_refusal(&self) -> Result<&RewrittenMetadata> {
        self.rewritten.as_ref().map_err(|reason| {
            anyhow!(
                "{}: the chunks have to be encoded again, because {reason:#}; name an OUTPUT \
                 instead of --in-place, which is written if every value comes back",
                self.source.path().display()
            )
        })
    }

    fn report(self, all: &Value, metadata_only: bool, how: String, place: &Path) -> ArrayMigration {
        let old = self.source.codecs().value_codecs();
        ArrayMigration {
            input: as_shown(self.source.path()),
            codecs: self.codecs.iter().map(Codec::to_json).collect(),
            readers: readers_of(all, &self.codecs, &self.source),
            metadata_only,
            how,
            // Anything else would have been an error.
            bit_identical: true,
            elements: Differences::none(self.source.elements() as u64),
            hint: cf_hint(&self.source),
            outside_links: OutsideLinks::default(),
            place: as_shown(place),
            source_codecs: old.iter().map(Codec::to_json).collect(),
        }
    }
}

/// The codes of elements, which decode to the same bits.
fn encoded(chain: &Chain, elements: &[u8], place: fmt::Arguments<'_>) -> Result<Vec<u8>> {
    let codes = chain.encode(elements)?;
    let differences = Differences::between(chain.decoded_type(), elements, &chain.decode(&codes)?)?;
    if differences.is_none() {
        return Ok(codes);
    }
    bail!(
        "{place} does not come back when it is encoded again: {}; write the array again without codecs of numcodecs, for \
         instance with zarr-python",
        differences.describe("elements")
    )
}

/// How an array got new metadata over the same chunks.
fn metadata_only(Transferred { copied, linked, bytes: size }: &Transferred) -> String {
    let chunks = match (*copied, *linked) {
        (copied, 0) => format!("{} copied", number_of(copied, "chunk")),
        (0, linked) => format!("{} in the same files in both arrays", number_of(linked, "chunk")),
        (copied, linked) => {
            let copied = number_of(copied, "chunk");
            format!("{copied} copied and {} in the same files in both", count(linked))
        }
    };
    format!("metadata only; {chunks}, {}", bytes(*size as f64))
}
