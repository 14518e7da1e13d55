//! The `recast` command: packs Zarr arrays within an error bound, explains them and unpacks them.

#![forbid(unsafe_code)]

mod args;
mod array;
mod carry;
mod cat;
mod cf;
mod charts;
mod choose;
mod codecs;
mod compare;
mod difference;
mod failure;
mod group;
mod info;
mod limits;
mod manual;
mod migrate;
mod number;
mod output;
mod pack;
mod page;
mod plain;
mod raw;
#[cfg(feature = "object-store")]
mod remote;
mod report;
mod store;
mod stream;
mod summary;
mod sums;
mod survey;
mod unpack;
mod verify;
mod work;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return failure::usage(&error),
    };
    failure::quiet_panics();
    zarrs_recast::register();
    let result = failure::guarded(|| match &cli.command {
        Command::Pack(arguments) if group::is_group(&arguments.input) => group::run(arguments),
        Command::Pack(arguments) if arguments.group.is_used() => Err(group::is_no_group(arguments)),
        Command::Pack(arguments) if arguments.from_cf => cf::pack(arguments),
        Command::Pack(arguments) => pack::run(arguments),
        Command::Unpack(arguments) if arguments.to_cf => cf::unpack(arguments),
        Command::Unpack(arguments) => unpack::run(arguments),
        Command::Migrate(arguments) if group::is_group(&arguments.input) => {
            migrate::group::run(arguments)
        }
        Command::Migrate(arguments) => migrate::run(arguments),
        Command::Verify(arguments) => compare::verify(arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Info(arguments) => info::run(arguments),
        Command::Cat(arguments) => cat::run(arguments),
        Command::Raw(arguments) => raw::run(arguments),
        Command::Completions(arguments) => manual::completions(arguments),
        Command::Man(arguments) => manual::page(arguments),
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error),
    }
}
