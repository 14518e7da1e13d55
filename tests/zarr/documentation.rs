//! The documents name tests and files that exist.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files of tests, in Rust and in Python.
fn test_files() -> Vec<PathBuf> {
    fn add(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                add(&path, files);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "rs" || extension == "py")
            {
                files.push(path);
            }
        }
    }
    let mut files = Vec::new();
    for folder in
        ["tests", "kernels/tests", "zarrs/tests", "pack/tests", "cli/tests", "python/tests"]
    {
        add(&root().join(folder), &mut files);
    }
    files
}

/// The words in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_test_that_the_tables_name_exists() {
    let files = test_files();
    let sources: Vec<String> = files.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let functions: Vec<&str> = sources
        .iter()
        .flat_map(|source| source.lines())
        .filter_map(|line| {
            let line = line.trim();
            let line = line.strip_prefix("async ").unwrap_or(line);
            line.strip_prefix("fn ").or_else(|| line.strip_prefix("def "))?.split('(').next()
        })
        .collect();
    let is_there = |name: &str| {
        if let Some(document) = name.strip_prefix("metadata/") {
            root().join("tests/metadata").join(document).with_extension("json").is_file()
        } else if Path::new(name)
            .extension()
            .is_some_and(|extension| extension == "rs" || extension == "py")
        {
            files.iter().any(|file| file.ends_with(name))
        } else {
            let name = name.rsplit("::").next().unwrap_or(name);
            match name.strip_suffix('…') {
                Some(start) => functions.iter().any(|function| function.starts_with(start)),
                None => functions.contains(&name),
            }
        }
    };
    for (document, least) in
        [("semantics.md", 60), ("compatibility.md", 20), ("coming_from.md", 12)]
    {
        let text = fs::read_to_string(root().join("docs").join(document)).unwrap();
        let (mut in_table, mut rows) = (false, 0);
        for line in text.lines() {
            let last = line.trim_end_matches('|').rsplit('|').next().unwrap_or_default().trim();
            if !line.starts_with('|') {
                in_table = false;
            } else if last.to_lowercase().starts_with("test") {
                in_table = true;
            } else if in_table && !last.starts_with("---") {
                rows += 1;
                assert!(last.starts_with("the same") || quoted(last).next().is_some(), "{line}");
                for name in quoted(last) {
                    assert!(is_there(name), "{document} names no test: {name}");
                }
            }
        }
        assert!(rows >= least, "{document}: {rows} rows");
    }
}

/// All Markdown files of the repository but those that others have made, such as dependencies.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            let is_made = name.starts_with('.')
                || ["target", "node_modules"].contains(&name)
                || path.join("CACHEDIR.TAG").exists();
            found.extend(if is_made { Vec::new() } else { documents(&path) });
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

#[test]
fn every_link_between_files_leads_somewhere() {
    let mut links = 0;
    for document in documents(root()) {
        let text = fs::read_to_string(&document).unwrap();
        for link in text.split("](").skip(1) {
            let target = link.split([')', '#']).next().unwrap_or_default();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            links += 1;
            let place = document.parent().unwrap().join(target);
            assert!(place.exists(), "{}: {target} is not there", document.display());
        }
    }
    assert!(links >= 20, "{links} links");
}
