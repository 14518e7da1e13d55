//! Use of the command: memory, help for the shell, manual pages.

use crate::common::{Trial, bash, kelvin, recast};
use serde_json::json;

#[test]
fn memory_can_be_bounded() {
    let trial = Trial::new(&kelvin(30_000), 10_000, json!({"fill_value": "NaN"}));
    // A chunk has 40 000 bytes, and is held four times.
    for size in ["160000", "160kB", "157KiB", "1M", "2GiB"] {
        trial.packs(&["-e", "0.01", "--max-memory", size, "--overwrite"]);
    }
    let error = trial.fails(&["-e", "0.01", "--max-memory", "159999", "--overwrite"]);
    assert!(error.contains("[10000]") && error.contains("--max-memory"), "{error}");
    for wrong in ["", "x", "-1", "0", "5 parsecs", "1.2.3M"] {
        trial.usage(&["-e", "0.01", "--max-memory", wrong]);
    }
}

#[test]
fn completions_and_manual_pages_are_made_from_the_arguments() {
    for (shell, needle) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef recast"),
        ("fish", "complete -c recast"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion"),
    ] {
        let script = String::from_utf8(recast(&["completions", shell]).succeeds()).unwrap();
        assert!(script.contains(needle) && script.contains("max-abs-error"), "{shell}");
    }
    recast(&["completions", "command.com"]).fails(2);
    let page = String::from_utf8(recast(&["man"]).succeeds()).unwrap();
    assert!(page.contains(".TH recast 1") && page.contains("recast\\-pack(1)"), "{page}");
    let page = String::from_utf8(recast(&["man", "pack"]).succeeds()).unwrap();
    assert!(page.contains(".TH recast-pack 1") && page.contains("max\\-abs\\-error"), "{page}");
    let error = recast(&["man", "pock"]).fails(2);
    assert!(error.contains("pock") && error.contains("pack"), "{error}");
}

/// Help and manual pages are often only looked into, and a full disk is told of.
#[cfg(unix)]
#[test]
fn what_is_printed_about_the_command_may_be_read_in_part() {
    for arguments in ["man", "man pack", "completions bash", "--help", "pack --help"] {
        for (way, expected) in [
            ("(sleep 0.2; \"$0\" ARGUMENTS) | true; exit ${PIPESTATUS[0]}", 0),
            ("\"$0\" ARGUMENTS >/dev/full", 1),
        ] {
            let line = way.replace("ARGUMENTS", arguments);
            let run = bash(&line, &[]);
            let error = String::from_utf8(run.stderr).unwrap();
            assert_eq!(run.status.code(), Some(expected), "{line}: {error}");
            assert!(expected == 1 || error.is_empty(), "{line}: {error}");
        }
    }
}

#[test]
fn help_has_no_colours_where_there_is_no_terminal() {
    for command in ["pack", "verify", "compare", "unpack", "info", "cat", "raw"] {
        let help = recast(&[command, "--help"]).succeeds();
        assert!(!help.contains(&0x1b), "{command}");
    }
}
