//! Reads JSON level by level, so that every error has its place and every number keeps its text.
//!
//! `serde_json::Value` would round `9007199254740993.0` and lose the place of an error; raw values
//! keep both, and scanning past a raw value does not recurse, however deeply it is nested.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::MetadataError;

/// JSON as text, or as a value that is already parsed.
///
/// Prefer text: its numbers are read exactly. A parsed [`Value`] holds every number with a point or an
/// exponent as an f64.
#[derive(Clone, Debug)]
pub struct Json<'a>(Cow<'a, str>);

impl<'a> From<&'a str> for Json<'a> {
    fn from(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for Json<'a> {
    fn from(text: &'a String) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl From<&Value> for Json<'_> {
    fn from(value: &Value) -> Self {
        Self(Cow::Owned(value.to_string()))
    }
}

impl Json<'_> {
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

/// An error repeats at most this many characters of a document.
const SHOWN: usize = 80;

/// Text for an error: on one line, and shortened if it is long.
pub(crate) fn shortened(text: &str) -> String {
    let mut shown: String =
        text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// The place of a member.
pub(crate) fn join(parent: &str, member: &str) -> String {
    match (parent, member) {
        ("", _) => member.to_owned(),
        (_, "") => parent.to_owned(),
        (_, member) if member.starts_with('[') => format!("{parent}{member}"),
        _ => format!("{parent}.{member}"),
    }
}

/// A list of names, for an error.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// One JSON value: its unparsed text and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node<'a> {
    path: String,
    text: &'a str,
}

impl<'a> Node<'a> {
    /// A whole document at `path`.
    pub(crate) fn root(path: &str, text: &'a str) -> Result<Self, MetadataError> {
        match serde_json::from_str::<&RawValue>(text) {
            Ok(raw) => Ok(Self { path: path.to_owned(), text: raw.get() }),
            Err(error) => {
                let way_out = match text.trim() {
                    "NaN" | "Infinity" | "-Infinity" | "+Infinity" => "; write it in quotes",
                    _ => "",
                };
                let text = shortened(text);
                Err(MetadataError::new(path, format!("not valid JSON, {error}: {text}{way_out}")))
            }
        }
    }

    /// A text that is known to be a JSON value, without a place.
    pub(crate) fn known(text: &'a str) -> Self {
        Self { path: String::new(), text }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The JSON text, without space around it.
    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    pub(crate) fn error(&self, problem: impl Into<String>) -> MetadataError {
        MetadataError::new(self.path.clone(), problem)
    }

    /// The error for a value of the wrong kind.
    pub(crate) fn unexpected(&self, expected: &str) -> MetadataError {
        let kind = match self.text.as_bytes().first() {
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b'"') => "a string",
            Some(b'n') => "null",
            Some(b't' | b'f') => "a boolean",
            _ => "a number",
        };
        let found = match kind {
            "null" => kind.to_owned(),
            _ => format!("{kind}, {}", shortened(self.text)),
        };
        self.error(format!("must be {expected}; found {found}"))
    }

    pub(crate) fn is_string(&self) -> bool {
        self.text.starts_with('"')
    }

    pub(crate) fn is_number(&self) -> bool {
        self.text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
    }

    /// The text of a string.
    pub(crate) fn string(&self, expected: &str) -> Result<String, MetadataError> {
        if !self.is_string() {
            return Err(self.unexpected(expected));
        }
        // A raw value is scanned, not decoded, so an unpaired surrogate is found only here.
        serde_json::from_str(self.text).map_err(|error| self.error(format!("not valid: {error}")))
    }

    pub(crate) fn boolean(&self) -> Result<bool, MetadataError> {
        match self.text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.unexpected("true or false")),
        }
    }

    /// The elements of an array.
    pub(crate) fn array(
        &self,
        expected: &str,
    ) -> Result<impl ExactSizeIterator<Item = Node<'a>>, MetadataError> {
        if !self.text.starts_with('[') {
            return Err(self.unexpected(expected));
        }
        let elements: Vec<&'a RawValue> = serde_json::from_str(self.text)
            .map_err(|error| self.error(format!("not valid: {error}")))?;
        let path = self.path.clone();
        Ok(elements
            .into_iter()
            .enumerate()
            .map(move |(index, raw)| Node { path: format!("{path}[{index}]"), text: raw.get() }))
    }

    /// Reads the elements of an array one at a time, because there may be millions.
    pub(crate) fn for_each(
        &self,
        expected: &str,
        mut read: impl FnMut(Node<'a>) -> Result<(), MetadataError>,
    ) -> Result<(), MetadataError> {
        if !self.text.starts_with('[') {
            return Err(self.unexpected(expected));
        }
        let mut refused = None;
        let mut index = 0;
        let elements = Elements(|element: &'a RawValue| {
            // Only errors need the place, which takes time to format.
            let result = read(Node::known(element.get()));
            refused = result.err().map(|error| error.below(&format!("{}[{index}]", self.path)));
            index += 1;
            refused.is_none()
        });
        let read = elements.deserialize(&mut serde_json::Deserializer::from_str(self.text));
        match (refused, read) {
            (Some(error), _) => Err(error),
            (None, Err(error)) => Err(self.error(format!("not valid: {error}"))),
            (None, Ok(())) => Ok(()),
        }
    }

    /// The members of an object.
    pub(crate) fn object(&self, expected: &str) -> Result<Object<'a>, MetadataError> {
        if !self.text.starts_with('{') {
            return Err(self.unexpected(expected));
        }
        let Members(members) = serde_json::from_str(self.text)
            .map_err(|error| self.error(format!("not valid: {error}")))?;
        Ok(Object { path: self.path.clone(), members })
    }
}

/// The members of an object that have not been taken yet.
pub(crate) struct Object<'a> {
    path: String,
    members: Vec<(String, &'a RawValue)>,
}

impl<'a> Object<'a> {
    /// Takes a member out.
    pub(crate) fn take(&mut self, name: &str) -> Option<Node<'a>> {
        let index = self.members.iter().position(|(member, _)| member == name)?;
        let (_, raw) = self.members.swap_remove(index);
        Some(Node { path: join(&self.path, name), text: raw.get() })
    }

    /// Takes a member out that must be there.
    pub(crate) fn require(&mut self, name: &str) -> Result<Node<'a>, MetadataError> {
        self.take(name)
            .ok_or_else(|| MetadataError::new(join(&self.path, name), "missing; it is required"))
    }

    /// Refuses the members that are left. `known` has the names of all possible members.
    pub(crate) fn finish(self, known: &[&str]) -> Result<(), MetadataError> {
        let Some((name, _)) = self.members.first() else { return Ok(()) };
        let problem = if known.contains(&name.as_str()) {
            "given twice".to_owned()
        } else {
            format!("unknown key; the keys here are {}", list(known.iter().copied()))
        };
        Err(MetadataError::new(join(&self.path, &shortened(name)), problem))
    }
}

/// Deserialises an array by passing on its elements until one is refused.
struct Elements<F>(F);

impl<'de, F: FnMut(&'de RawValue) -> bool> DeserializeSeed<'de> for Elements<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(&'de RawValue) -> bool> Visitor<'de> for Elements<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element()? {
            if !self.0(element) {
                return Err(serde::de::Error::custom("an element is refused"));
            }
        }
        Ok(())
    }
}

/// Deserialises an object as its members in order, repeated names included.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}
