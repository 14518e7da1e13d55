//! The names that the chunks of an array have.

use serde_json::{Map, Value};

/// The names that the array's chunks can have, by the encodings of chunk keys in Zarr's specification.
pub(super) struct ChunkNames {
    /// The first part of a name, before a separator.
    prefix: &'static str,
    separator: String,
    /// The number of chunks along each dimension; `None` where a grid is not regular.
    chunks: Vec<Option<u64>>,
}

impl ChunkNames {
    /// None if the metadata name another encoding.
    pub(super) fn new(document: &Map<String, Value>) -> Option<Self> {
        let encoding = document.get("chunk_key_encoding")?;
        let (prefix, separator) = match encoding.get("name").unwrap_or(encoding).as_str()? {
            "default" => ("c", "/"),
            "v2" => ("", "."),
            _ => return None,
        };
        let own = encoding.pointer("/configuration/separator").and_then(Value::as_str);
        let chunk_shape = document.get("chunk_grid")?.pointer("/configuration/chunk_shape");
        let extent = |index: usize| chunk_shape?.get(index)?.as_u64().filter(|extent| *extent > 0);
        let shape = document.get("shape")?.as_array()?.iter().enumerate();
        let chunks = shape.map(|(index, length)| Some(length.as_u64()?.div_ceil(extent(index)?)));
        let separator = own.unwrap_or(separator).to_owned();
        Some(Self { prefix, separator, chunks: chunks.collect() })
    }

    pub(super) fn contain(&self, name: &str) -> bool {
        if self.chunks.is_empty() {
            return name == if self.prefix.is_empty() { "0" } else { self.prefix };
        }
        let indices = match self.prefix {
            "" => Some(name),
            prefix => {
                name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix(&*self.separator))
            }
        };
        let indices: Vec<&str> =
            indices.map_or(Vec::new(), |all| all.split(&*self.separator).collect());
        indices.len() == self.chunks.len()
            && indices.iter().zip(&self.chunks).all(|(text, chunks)| {
                let index = text.parse::<u64>().ok().filter(|index| index.to_string() == **text);
                index.is_some_and(|index| chunks.is_none_or(|chunks| index < chunks))
            })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn chunks_have_the_names_of_their_encoding_and_grid() {
        let names = |name: &str, separator: &str, shape: &[u64]| {
            let chunk_shape = vec![2; shape.len()];
            let document = json!({
                "shape": shape,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk_shape}},
                "chunk_key_encoding": {"name": name, "configuration": {"separator": separator}},
            });
            ChunkNames::new(document.as_object().unwrap())
        };
        for (name, separator, shape, own, others) in [
            (
                "default",
                "/",
                &[3, 8][..],
                &["c/0/0", "c/1/3"][..],
                &["c.0.0", "0/0", "c/2/0", "c/0", "c/0/0/0"][..],
            ),
            (
                "default",
                ".",
                &[3, 8],
                &["c.0.0", "c.1.3"],
                &["c/0/0", "c0.0", "c.00.0", "c..0", "c.+1.0"],
            ),
            (
                "v2",
                ".",
                &[3, 8],
                &["0.0", "1.3"],
                &["0/0", "c.0.0", "0.4", "0.0 ", "-1.0", "0.0.bak"],
            ),
            ("v2", "/", &[3], &["0", "1"], &["2", "", "0/"]),
            ("default", "/", &[], &["c"], &["c/0", "0", ""]),
            ("v2", ".", &[], &["0"], &["c", ""]),
        ] {
            let names = names(name, separator, shape).unwrap();
            for own in own {
                assert!(names.contain(own), "{name} {own}");
            }
            for other in others {
                assert!(!names.contain(other), "{name} {other}");
            }
        }
        assert!(names("fanout", "/", &[3]).is_none());
    }
}
