//! `recast unpack`: the decoded values of an array, without value codecs.

use anyhow::{Context, Result};
use zarr_recast::FillCheck;

use crate::args::Unpack;
use crate::array::Source;
use crate::output::{Destination, Encoding, Writer};
use crate::pack::PROVENANCE;
use crate::work::Workers;

pub(crate) fn run(arguments: &Unpack) -> Result<()> {
    let Unpack { input, output, common, .. } = arguments;
    let destination = Destination::new(input, output, common.overwrite)?;
    let source = Source::open(input, common.fill_check())?;
    let workers = Workers::within(common, &[&source])?;
    let staged = destination.stage()?;
    let mut attributes = source.array().attributes().clone();
    attributes.remove(PROVENANCE);
    let encoding = Encoding {
        element_type: source.element_type(),
        fill_value: source.fill_value(),
        codecs: &[],
        compressor: common.compressor,
    };
    let writer = Writer::new(&source, &encoding, attributes)?;
    let work = |number| -> Result<u64> {
        let region = source.region(number)?;
        let Some(elements) = source.read(&region)? else { return Ok(0) };
        writer.write(staged.path(), &region, &elements)
    };
    workers.run(source.pass("unpack"), source.chunks(), work, |_| Ok(()))?;
    writer.finish(staged.path())?;
    Source::open(staged.path(), FillCheck::Enforce).context("reading back what was written")?;
    destination.commit(staged)
}
