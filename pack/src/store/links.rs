//! Links in INPUT that lead out of it: their targets are read, and copied into OUTPUT.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::bail;
use serde::Serialize;

use super::local::visit_below;
use super::location::url;
use crate::error::Result;
use crate::runtime::Runtime;
use crate::text::count;

/// A dataset under version control may have a link for each chunk.
const MOST_FOLDERS: usize = 20;
const MOST_EXAMPLES: usize = 3;

/// The links in the folder of an input that lead out of it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct OutsideLinks {
    /// The number of links.
    pub count: u64,
    /// Where they lead: the first 20 folders, by name.
    pub folders: Vec<LinkedFolder>,
}

/// A folder outside of an input, with links to it.
#[derive(Clone, Debug, Serialize)]
pub struct LinkedFolder {
    /// The outermost folder, or file, that does not hold the input.
    pub folder: String,
    /// The number of links that lead to the folder, or to anything in it.
    pub count: u64,
    /// The first three, by name.
    pub examples: Vec<OutsideLink>,
}

/// A link that leads out of an input.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct OutsideLink {
    /// Its path in the input.
    pub link: String,
    /// Where it leads, through all further links.
    pub target: String,
}

impl OutsideLinks {
    /// Those of an input; none in a zip file or behind a URL. `check` gets what each leads to.
    pub(crate) fn of(input: &Path, mut check: impl FnMut(&Path) -> Result<()>) -> Result<Self> {
        if url(input).is_some() {
            return Ok(Self::default());
        }
        let Ok(root) = input.canonicalize() else { return Ok(Self::default()) };
        let mut all = 0;
        let mut folders: BTreeMap<PathBuf, LinkedFolder> = BTreeMap::new();
        visit_below(input, |path, _, kind| {
            if !kind.is_symlink() {
                return Ok(());
            }
            // Readers tell of a link to nothing.
            let Ok(target) = path.canonicalize() else { return Ok(()) };
            if target.starts_with(&root) {
                return Ok(());
            }
            check(&target)?;
            all += 1;
            let outermost = outermost(&target, &root);
            let folder = outermost.display().to_string();
            let new = || LinkedFolder { folder, count: 0, examples: Vec::new() };
            let folder = folders.entry(outermost).or_insert_with(new);
            folder.count += 1;
            let link = path.strip_prefix(input).unwrap_or(path).display().to_string();
            folder.examples.push(OutsideLink { link, target: target.display().to_string() });
            folder.examples.sort_unstable();
            folder.examples.truncate(MOST_EXAMPLES);
            if folders.len() > MOST_FOLDERS {
                folders.pop_last();
            }
            Ok(())
        })?;
        Ok(Self { count: all, folders: folders.into_values().collect() })
    }

    /// Refuses them, if the caller wants none.
    pub(crate) fn refuse_unwanted(&self, input: &Path, runtime: &Runtime) -> Result<()> {
        let example = self.folders.first().and_then(|folder| folder.examples.first());
        let Some(OutsideLink { link, target }) = example.filter(|_| runtime.no_outside_links)
        else {
            return Ok(());
        };
        let others = match self.count {
            1 => String::new(),
            all => format!(" ({} more lead out)", count(all - 1)),
        };
        bail!(
            "{}: a link to {target}, which is outside of INPUT{others}; put what it leads to in its place, or run \
             without --no-outside-links",
            input.join(link).display()
        );
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The outermost folder around a path that is not around another one.
fn outermost(path: &Path, other: &Path) -> PathBuf {
    let mut folder = PathBuf::new();
    for part in path.components() {
        folder.push(part);
        if !other.starts_with(&folder) {
            break;
        }
    }
    folder
}
