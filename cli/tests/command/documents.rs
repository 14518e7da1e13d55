//! The documents say what the command does today.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::common::{Trial, path, recast, repository, weather};

const COMMANDS: [&str; 9] =
    ["pack", "suggest", "unpack", "migrate", "verify", "compare", "info", "cat", "raw"];

/// The pages about the command.
const PAGES: [&str; 11] = [
    "README.md",
    "cli/README.md",
    "python/README.md",
    "docs/README.md",
    "docs/cli.md",
    "docs/compatibility.md",
    "docs/compression.md",
    "docs/guide.md",
    "docs/migrate.md",
    "docs/security.md",
    "docs/what_packing_keeps.md",
];

fn page(name: &str) -> String {
    fs::read_to_string(repository().join(name)).unwrap()
}

/// The text between two others.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(start).unwrap_or_else(|| panic!("{start}"));
    rest.split_once(end).unwrap_or_else(|| panic!("{end}")).0
}

/// The long flags of a line, such as `--readers`.
fn flags(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .filter(|word| word.len() > 2 && word.starts_with("--"))
}

/// Whether a flag may stand in a line: one of the line's command, or of any command if the line begins with none.
fn is_known(line: &str, flag: &str, known: &BTreeMap<&str, BTreeSet<String>>) -> bool {
    let line = line.strip_prefix("recast ").unwrap_or(line);
    let first = line.split_whitespace().next().unwrap_or_default();
    match known.get(first) {
        Some(own) => own.contains(flag),
        None => known.values().any(|own| own.contains(flag)),
    }
}

#[test]
fn every_flag_in_the_documents_is_a_flag_of_the_command() {
    let help = |command| String::from_utf8(recast(&[command, "--help"]).succeeds()).unwrap();
    let known: BTreeMap<_, BTreeSet<String>> = COMMANDS
        .into_iter()
        .map(|command| (command, flags(&help(command)).map(str::to_owned).collect()))
        .collect();
    let others = ["cargo ", "python ", "pip ", "bash "];
    let mut checked = 0;
    for name in PAGES {
        let text = page(name);
        let spans = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
        let commands = text.lines().filter(|line| line.starts_with("recast "));
        for span in spans.chain(commands) {
            if others.iter().any(|other| span.starts_with(other)) {
                continue;
            }
            for flag in flags(span) {
                checked += 1;
                assert!(is_known(span, flag, &known), "{name}: {flag} in `{span}`");
            }
        }
    }
    assert!(checked > 150, "{checked}");
}

/// The folder of the example is a link, as paths in the output are those of the command.
#[cfg(unix)]
#[test]
fn the_output_in_the_readme_is_that_of_its_command() {
    let readme = page("README.md");
    let line = between(&readme, "cargo run --release --bin recast -- ", "\n");
    let expected = between(between(&readme, "<!-- output -->", "<!-- end"), "```text\n", "```");
    let trial = Trial::empty();
    let examples = repository().join("examples");
    std::os::unix::fs::symlink(examples, trial.place("examples")).unwrap();
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let output = recast(&arguments).inside(trial.path()).succeeds();
    assert_eq!(String::from_utf8(output).unwrap(), expected);
}

#[test]
fn the_settings_for_single_arrays_in_the_documents_are_read() {
    let trial = Trial::empty();
    weather(&trial.input());
    let settings = trial.place("recast.toml");
    fs::write(&settings, between(&page("docs/cli.md"), "```toml\n", "```")).unwrap();
    let [input, output] = trial.places();
    let report = recast(&["pack", &input, &output, "-e", "0.01", "--config", &path(&settings)]);
    let report = String::from_utf8(report.succeeds()).unwrap();
    let t2m = report.lines().find(|line| line.starts_with("t2m ")).unwrap();
    assert!(t2m.contains("max error"), "{report}");
}
