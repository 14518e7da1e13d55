//! YAML of others, as trees of text: no file makes reading it take long or much memory.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use saphyr_parser::{Event, Parser};

use crate::error::{Result, guarded};

/// A longer text is not read. The recommendations of October 2026 have 96 kB.
pub(super) const MOST_BYTES: usize = 8 << 20;
/// Deeper trees are not read.
const MOST_LEVELS: usize = 64;

/// A tree. Numbers are text, as they stand there.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Yaml {
    Text(String),
    List(Vec<Self>),
    Map(BTreeMap<String, Self>),
}

impl Yaml {
    /// Reads a document.
    ///
    /// # Errors
    /// Names the line. Anchors, aliases and tags are refused.
    pub(super) fn read(text: &str) -> Result<Self> {
        if text.len() > MOST_BYTES {
            bail!("{} bytes; at most {MOST_BYTES} are read", text.len());
        }
        guarded(|| Self::parse(text))
    }

    fn parse(text: &str) -> Result<Self> {
        // Lists and maps that are not yet complete, the maps with the key that waits for its value.
        let mut open: Vec<(Self, Option<String>)> = Vec::new();
        let mut whole = None;
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|error| anyhow::anyhow!("{error}"))?;
            let line = || format!("line {}", span.start.line());
            let refused = match &event {
                Event::Alias(_) => Some("aliases (*name) are not read"),
                Event::Scalar(_, _, anchor, tag)
                | Event::SequenceStart(anchor, tag)
                | Event::MappingStart(anchor, tag)
                    if *anchor != 0 || tag.is_some() =>
                {
                    Some("anchors (&name) and tags (!name) are not read")
                }
                Event::DocumentStart(_) if whole.is_some() => Some("a second document"),
                _ if open.len() > MOST_LEVELS => Some("too many levels"),
                _ => None,
            };
            if let Some(refused) = refused {
                bail!("{}: {refused}", line());
            }
            let complete = match event {
                Event::Scalar(text, ..) => Some(Self::Text(text.into_owned())),
                Event::SequenceStart(..) => {
                    open.push((Self::List(Vec::new()), None));
                    None
                }
                Event::MappingStart(..) => {
                    open.push((Self::Map(BTreeMap::new()), None));
                    None
                }
                Event::SequenceEnd | Event::MappingEnd => open.pop().map(|(done, _)| done),
                Event::Alias(_)
                | Event::Nothing
                | Event::StreamStart
                | Event::StreamEnd
                | Event::DocumentStart(_)
                | Event::DocumentEnd => None,
            };
            match (complete, open.last_mut()) {
                (None, _) => {}
                (Some(value), None | Some((Self::Text(_), _))) => whole = Some(value),
                (Some(value), Some((Self::List(list), _))) => list.push(value),
                (Some(value), Some((Self::Map(map), key))) => match (key.take(), value) {
                    (None, Self::Text(text)) => *key = Some(text),
                    (None, _) => bail!("{}: a key that is no text", line()),
                    (Some(key), value) => {
                        if map.insert(key.clone(), value).is_some() {
                            bail!("{}: {key} twice", line());
                        }
                    }
                },
            }
        }
        whole.context("nothing in it")
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::List(_) | Self::Map(_) => None,
        }
    }

    pub(super) fn list(&self) -> Option<&[Self]> {
        match self {
            Self::List(list) => Some(list),
            Self::Text(_) | Self::Map(_) => None,
        }
    }

    /// A member of a map.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(map) => map.get(key),
            Self::Text(_) | Self::List(_) => None,
        }
    }

    /// The keys of a map.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        let map = match self {
            Self::Map(map) => Some(map),
            Self::Text(_) | Self::List(_) => None,
        };
        map.into_iter().flat_map(BTreeMap::keys).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_of_text_are_read() {
        let read =
            Yaml::read("a:\n- b: 1e-07\n  c: 'x'\n- {d: [1, 2]}\nversion: 0.1.0-b1\n").unwrap();
        let list = read.get("a").and_then(Yaml::list).unwrap();
        assert_eq!(list[0].get("b").and_then(Yaml::text), Some("1e-07"));
        assert_eq!(list[1].get("d").and_then(Yaml::list).map(<[Yaml]>::len), Some(2));
        assert_eq!(read.keys().collect::<Vec<_>>(), ["a", "version"]);
    }

    #[test]
    fn hostile_text_is_refused() {
        let deep = "[".repeat(100_000);
        let laughs = "a: &a [1, 1]\nb: [*a, *a]\n";
        let long = " ".repeat(MOST_BYTES + 1);
        for text in [
            "",
            &deep,
            laughs,
            "b: *a",
            &long,
            "a: 1\na: 2",
            "!!python/x {}",
            "a: 1\n---\nb: 2",
            "{a: ",
            "? [1]\n: 2",
            "\u{0}",
            "a: !x 1",
            "- &a 1",
        ] {
            let start: String = text.chars().take(20).collect();
            assert!(Yaml::read(text).is_err(), "{start}");
        }
    }
}
