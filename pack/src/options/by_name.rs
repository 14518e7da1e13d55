//! Bounds for single arrays as arguments of a command.

use clap::{ArgAction, ArgMatches, Command};

use super::arguments::number;
use super::own::OwnOptions;
use super::{BOUNDS, Bound, PackOptions};

/// Bounds for single arrays, such as `-e t2m=0.01`, beside the one for all.
impl PackOptions {
    /// Whether an option may be given by the names of arrays.
    #[must_use]
    pub fn takes_names(option: &str) -> bool {
        BOUNDS.iter().any(|bound| bound.option == option)
    }

    /// Lets the arguments that bound the error be given several times, also as NAME=NUMBER.
    #[must_use]
    pub fn with_names(command: Command) -> Command {
        BOUNDS.iter().fold(command, |command, &Bound { option, numbers, .. }| {
            let parse = move |text: &str| -> Result<f64, String> {
                let (name, text) = named_number(text);
                if name == Some("") {
                    return Err("the name of an array is needed before =".to_owned());
                }
                number(numbers)(text).map_err(|error| match name {
                    Some(_) => error.to_owned(),
                    None => format!("{error}; NAME=NUMBER is for one array of a group"),
                })
            };
            command.mut_arg(option, |arg| arg.action(ArgAction::Append).value_parser(parse))
        })
    }

    /// Of matches for [`Self::with_names`], these options with the bounds for all arrays, and those with names, in
    /// their order.
    ///
    /// # Errors
    /// Two bounds of one kind for all.
    pub fn by_name(
        mut self,
        matches: &ArgMatches,
    ) -> Result<(Self, Vec<(String, OwnOptions)>), String> {
        let mut named = Vec::new();
        for Bound { option, field, .. } in BOUNDS {
            *field(&mut self) = None;
            let numbers = matches.get_many::<f64>(option).into_iter().flatten();
            let texts = matches.get_raw(option).into_iter().flatten();
            let places = matches.indices_of(option).into_iter().flatten();
            for ((text, &number), place) in texts.zip(numbers).zip(places) {
                let text = text.to_string_lossy();
                let Some(name) = named_number(&text).0 else {
                    if field(&mut self).replace(number).is_some() {
                        let flag = option.replace('_', "-");
                        return Err(format!(
                            "--{flag} is given twice for all arrays; NAME=NUMBER is for single ones"
                        ));
                    }
                    continue;
                };
                let mut own = Self::default();
                *field(&mut own) = Some(number);
                named.push((place, name.to_owned(), OwnOptions::from(own)));
            }
        }
        named.sort_by_key(|&(place, ..)| place);
        Ok((self, named.into_iter().map(|(_, name, own)| (name, own)).collect()))
    }
}

/// The name before a number, if there is one, and the number.
fn named_number(text: &str) -> (Option<&str>, &str) {
    match text.rsplit_once('=') {
        Some((name, number)) => (Some(name), number),
        None => (None, text),
    }
}
