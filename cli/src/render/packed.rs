//! Lines that all reports of `recast pack` share.

use anyhow::Result;
use recast_pack::{ArrayReport, FromCfReport, GroupEntry, GroupReport, PackReport};
use serde_json::Value;

use super::page::Section;
use super::table::Table;
use super::{cf, group, pack};

/// Any kind of report of `recast pack`.
pub(crate) trait Packed {
    /// The report for people.
    fn table(&self) -> Table;

    /// The codecs, to copy.
    fn codecs(&self) -> String;

    /// The sections of a page about it.
    fn sections(&self) -> Result<Vec<Section>>;

    /// What failed of a job that went on all the same.
    fn failure(&self) -> Option<String> {
        None
    }
}

impl Packed for PackReport {
    fn table(&self) -> Table {
        pack::table(self)
    }

    fn codecs(&self) -> String {
        member(&self.codecs)
    }

    fn sections(&self) -> Result<Vec<Section>> {
        Ok(vec![Section::new(&self.table(), self.charts.as_ref())?])
    }
}

impl Packed for FromCfReport {
    fn table(&self) -> Table {
        cf::from_cf(self)
    }

    fn codecs(&self) -> String {
        member(&self.codecs)
    }

    fn sections(&self) -> Result<Vec<Section>> {
        Ok(vec![Section::new(&self.table(), self.charts.as_ref())?])
    }
}

impl Packed for ArrayReport {
    fn table(&self) -> Table {
        match self {
            Self::Packed(report) => report.table(),
            Self::FromCf(report) => report.table(),
        }
    }

    fn codecs(&self) -> String {
        match self {
            Self::Packed(report) => report.codecs(),
            Self::FromCf(report) => report.codecs(),
        }
    }

    fn sections(&self) -> Result<Vec<Section>> {
        match self {
            Self::Packed(report) => report.sections(),
            Self::FromCf(report) => report.sections(),
        }
    }
}

/// Codecs as a member of zarr.json.
fn member(codecs: &Value) -> String {
    format!("\"codecs\": {codecs:#}\n")
}

impl Packed for GroupReport {
    fn failure(&self) -> Option<String> {
        Self::failure(self)
    }

    fn table(&self) -> Table {
        group::table(self)
    }

    fn codecs(&self) -> String {
        let packed = self.arrays.iter().filter_map(|entry| match entry {
            GroupEntry::Packed { array, report } => Some(format!("{array}: {}", report.codecs())),
            GroupEntry::Copied { .. } | GroupEntry::Failed { .. } => None,
        });
        packed.collect::<Vec<_>>().join("\n")
    }

    fn sections(&self) -> Result<Vec<Section>> {
        let mut sections = vec![Section::new(&self.table(), None)?];
        for entry in &self.arrays {
            if let GroupEntry::Packed { array, report } = entry {
                let parts = report.sections()?.into_iter();
                sections.extend(parts.map(|section| section.named(array)));
            }
        }
        Ok(sections)
    }
}
