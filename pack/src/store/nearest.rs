//! Errors about places that are not there or are files, with the nearest names, or the way to Zarr.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, anyhow};

use super::names::{DOCUMENTS, folder_of, is_content};
use crate::error::{ErrorKind, Result};

/// At most this many names are suggested.
const MOST: usize = 3;

/// Of larger folders, the names of so many entries are looked at.
const MOST_ENTRIES: usize = 10_000;

/// How errors of the system begin.
const NOTHING: &str = "no such file or directory";

/// The nearest of some names, in words; `None` if there are none. Names with slashes may also be near by their last part.
pub(crate) fn nearest(name: &str, names: &[&str]) -> Option<String> {
    let mut nearest = names.to_vec();
    nearest.sort_by_cached_key(|one| distances(name, one));
    nearest.truncate(MOST);
    match nearest.as_slice() {
        [] => None,
        [one] => Some(format!("the nearest name is {one}")),
        several => Some(format!("the nearest names are {}", several.join(", "))),
    }
}

/// How far a name is from the nearer of a path and its last part, and from the path.
fn distances(name: &str, path: &str) -> (usize, usize) {
    let last = path.rsplit('/').next().unwrap_or(path);
    let [path, last] = [path, last].map(|one| strsim::damerau_levenshtein(name, one));
    (path.min(last), path)
}

/// The error for a path at which nothing is: its first missing part, and the nearest names in that part's folder.
pub(super) fn not_found(path: &Path) -> anyhow::Error {
    let is_missing =
        |place: &&Path| !place.as_os_str().is_empty() && fs::symlink_metadata(place).is_err();
    let first = path.ancestors().take_while(is_missing).last();
    let inside = first.and_then(|first| Some((folder_of(first), first.file_name()?.to_str()?)));
    let Some((folder, name)) = inside else {
        return ErrorKind::NotFound.error(format!("{NOTHING}; a link on the way leads nowhere"));
    };
    let shown = match folder.to_str() {
        Some(".") => "the current directory".to_owned(),
        _ => folder.display().to_string(),
    };
    ErrorKind::NotFound.error(has_no(&shown, name, &names_in(folder)))
}

/// The folder that is to get an output, without links.
pub(super) fn real_folder(folder: &Path) -> Result<PathBuf> {
    let told = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => anyhow!(not_found(folder).to_string()),
        _ => error.into(),
    };
    folder
        .canonicalize()
        .map_err(told)
        .context("the directory above it cannot be found; make it first")
}

/// The error for a name that a folder lacks, with the nearest names in the folder.
pub(super) fn has_no(folder: &str, name: &str, names: &[String]) -> String {
    // Of all that a folder holds, most is something else.
    let is_near = |other: &&str| distances(name, other).0 * 2 <= name.chars().count();
    let near: Vec<&str> = names.iter().map(String::as_str).filter(is_near).collect();
    let nearest = nearest(name, &near).map(|nearest| format!("; {nearest}")).unwrap_or_default();
    format!("{NOTHING}: {folder} has no {name}{nearest}")
}

/// The names in a folder that may be meant; none if it cannot be listed.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_ENTRIES);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_meant = |name: &String| {
        is_content(name) && !name.starts_with('.') && !DOCUMENTS.contains(&name.as_str())
    };
    let mut names: Vec<String> = names.filter(is_meant).collect();
    names.sort_unstable();
    names
}

/// A format whose files xarray reads.
struct FileFormat {
    /// The endings of the names of files.
    extensions: &'static [&'static str],
    /// The package that xarray reads them with.
    package: &'static str,
    /// Further arguments of `open_dataset`.
    arguments: &'static str,
}

const FORMATS: [FileFormat; 4] = [
    FileFormat { extensions: &["nc", "nc4", "cdf"], package: "netCDF4 or h5netcdf", arguments: "" },
    // Their dimensions need not have names.
    FileFormat {
        extensions: &["h5", "hdf5", "he5", "hdf"],
        package: "h5netcdf",
        arguments: ", engine='h5netcdf', phony_dims='sort'",
    },
    FileFormat { extensions: &["grib", "grib2", "grb", "grb2"], package: "cfgrib", arguments: "" },
    FileFormat { extensions: &["tif", "tiff"], package: "rioxarray", arguments: "" },
];

/// The file that a path leads into as if it were a directory.
pub(super) fn file_above(path: &Path) -> &Path {
    path.ancestors().find(|above| above.is_file()).unwrap_or(path)
}

/// The extension of a file that xarray reads, with its format.
fn format_of(path: &Path) -> Option<(String, &'static FileFormat)> {
    let extension = path.extension()?.to_string_lossy().to_ascii_lowercase();
    let format = FORMATS.iter().find(|format| format.extensions.contains(&extension.as_str()))?;
    Some((extension, format))
}

/// Whether xarray reads a file, by its name.
pub(super) fn is_readable(path: &Path) -> bool {
    format_of(path).is_some()
}

/// What a file is that no array or group can be.
const NO_DIRECTORY: &str = "not a directory; an array is a directory with zarr.json or .zarray";

/// The same as [`no_directory`] of a file in a zip file.
pub(super) fn no_directory_in_zip(path: &Path) -> &'static str {
    if is_readable(path) {
        "a file, and not Zarr; unzip it: then recast names the line that writes it as Zarr"
    } else {
        NO_DIRECTORY
    }
}

/// That a file is no directory, and for a format that xarray reads, the line that writes it as Zarr.
pub(super) fn no_directory(path: &Path) -> String {
    let Some((extension, FileFormat { package, arguments, .. })) = format_of(path) else {
        return NO_DIRECTORY.to_owned();
    };
    // Shells and Python obey some characters.
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '=');
    let text = path.to_str().filter(|text| text.chars().all(is_plain));
    let source = text.map_or_else(|| format!("FILE.{extension}"), str::to_owned);
    let target = Path::new(&source).with_extension("zarr");
    format!(
        "a file, and not Zarr; with xarray, zarr and {package}, this line writes it as Zarr: \
         python -c \"import xarray as xr; xr.open_dataset('{source}'{arguments}).to_zarr('{}')\"",
        target.display()
    )
}
