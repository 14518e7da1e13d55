//! `recast completions` and `recast man`: generated from the arguments.

use std::io::Write;

use anyhow::{Context, Result};

use crate::args::{Completions, Man, command};
use crate::failure::UsageError;
use crate::standard_output::standard_output;

pub(crate) fn completions(arguments: &Completions) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command(), "recast", &mut script);
    standard_output().write_all(&script).context("standard output")
}

pub(crate) fn page(arguments: &Man) -> Result<()> {
    let mut command = command();
    command.build();
    if let Some(name) = &arguments.command {
        let commands: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let unknown = UsageError(format!(
            "{name} is not a command; the commands are {}",
            commands.join(", ")
        ));
        let found = command.find_subcommand(name).ok_or(unknown)?;
        command = found.clone().display_name(format!("recast-{name}"));
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    standard_output().write_all(&page).context("standard output")
}
