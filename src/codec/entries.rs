//! The pairs of a scalar map, kept as text, because there may be millions.

use std::fmt;

use crate::JsonScalar;

/// Entries of input and output in the order of the metadata. They are kept as JSON text, so a map takes no more
/// memory than its document.
///
/// ```
/// use zarr_recast::{JsonScalar, Entries};
/// let pairs: Entries = [(f32::NAN, 255_u8), (f32::INFINITY, 254)].into_iter().collect();
/// let (key, value) = pairs.iter().next().unwrap();
/// assert_eq!((key.text(), value.text()), ("\"NaN\"", "255"));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Entries {
    /// The JSON texts of inputs and outputs in turn, each followed by a comma.
    text: String,
    len: usize,
}

impl Entries {
    /// No pairs, with room for this many bytes of JSON.
    pub(super) fn with_room_for(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes), len: 0 }
    }

    /// The number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a pair.
    pub fn push(&mut self, key: impl Into<JsonScalar>, value: impl Into<JsonScalar>) {
        self.push_texts(key.into().text(), value.into().text());
    }

    /// Adds a pair; each text is that of a [`JsonScalar`].
    pub(super) fn push_texts(&mut self, key: &str, value: &str) {
        for text in [key, value] {
            self.text.push_str(text);
            self.text.push(',');
        }
        self.len += 1;
    }

    /// Releases unused memory.
    pub(super) fn shrink(&mut self) {
        self.text.shrink_to_fit();
    }

    /// The pairs, in order.
    pub fn iter(&self) -> impl Iterator<Item = (JsonScalar, JsonScalar)> {
        self.texts().map(|(key, value)| (JsonScalar::known(key), JsonScalar::known(value)))
    }

    /// The JSON texts of the pairs, in order.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut rest = self.text.as_str();
        std::iter::from_fn(move || {
            let (key, after) = first_text(rest)?;
            let (value, after) = first_text(after)?;
            rest = after;
            Some((key, value))
        })
    }
}

/// The text before the first comma outside of a string, and the text after it.
fn first_text(texts: &str) -> Option<(&str, &str)> {
    let (mut in_string, mut escaped) = (false, false);
    let end = texts.bytes().position(|byte| {
        let is_end = byte == b',' && !in_string;
        in_string ^= byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        is_end
    })?;
    Some((&texts[..end], &texts[end + 1..]))
}

impl<K: Into<JsonScalar>, V: Into<JsonScalar>> FromIterator<(K, V)> for Entries {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut collected = Self::default();
        pairs.into_iter().for_each(|(key, value)| collected.push(key, value));
        collected
    }
}

/// The first pairs, as JSON.
impl fmt::Debug for Entries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Enough to recognise a map.
        const SHOWN: usize = 8;
        let mut list = f.debug_list();
        list.entries(self.texts().take(SHOWN).map(|(key, value)| format!("{key} → {value}")));
        if self.len > SHOWN { list.finish_non_exhaustive() } else { list.finish() }
    }
}
