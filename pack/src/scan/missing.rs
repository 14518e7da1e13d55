//! Missing markers: values that readers treat as missing. NaN always is one, and is not listed here.

use anyhow::{anyhow, bail};
use recast_kernels::{ElementType, Scalar};
use serde_json::{Map, Value};
use zarr_recast::JsonScalar;

use super::number::{Number, NumberReader, is_less, order, rounded};
use crate::array::source::Source;
use crate::error::Result;
use crate::metadata::document::{MISSING, PROVENANCE, values};
use crate::metadata::fill_attribute::{FILL_VALUE, MISSING_VALUE, marker};
use crate::options::PackOptions;
use crate::text::{nan_pattern, scalar_text};

/// Values that netCDF, CF archives and satellite products use where nothing was measured.
const CUSTOMARY: [f64; 17] = [
    9.969_209_968_386_869e36,
    1e20,
    1e30,
    1e36,
    1e15,
    9.999e20,
    -1e20,
    -1e30,
    -1e34,
    -9999.0,
    -999.0,
    -99_999.0,
    -32_768.0,
    -32_767.0,
    9999.0,
    99_999.0,
    -2_147_483_648.0,
];

/// The ends of a range that look like missing values that no attribute names.
pub(crate) fn customary_markers(range: Option<(Scalar, Scalar)>) -> Vec<Scalar> {
    let (least, greatest) = range.unzip();
    let is_customary = |end: &Scalar| {
        let values = CUSTOMARY.iter().filter_map(|&number| rounded(number, end.element_type()));
        values.into_iter().any(|value| value.equals(*end))
    };
    let mut ends: Vec<Scalar> = least.into_iter().chain(greatest).filter(is_customary).collect();
    ends.dedup_by(|a, b| a.equals(*b));
    ends
}

/// Advice about values that look like missing ones, with a sentence about each, if there is one.
pub(crate) fn advice_on_suspects(suspects: &[(Scalar, String)]) -> String {
    let named = suspects.iter().map(|(value, more)| format!("{}{more}", scalar_text(Some(*value))));
    let values = suspects.iter().map(|(value, _)| scalar_text(Some(*value)));
    format!(
        "{} {} like missing values that no attribute names; if they are, use --missing {}",
        named.collect::<Vec<_>>().join(" and "),
        if suspects.len() == 1 { "looks" } else { "look" },
        values.collect::<Vec<_>>().join(" ")
    )
}

/// The same without more to say of them; `None` if there are none.
pub(crate) fn advice_on(suspects: &[Scalar]) -> Option<String> {
    let suspects: Vec<_> = suspects.iter().map(|value| (*value, String::new())).collect();
    (!suspects.is_empty()).then(|| advice_on_suspects(&suspects))
}

/// The markers of an array, in its type, each value once, in ascending order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Markers(Vec<Scalar>);

impl Markers {
    /// The markers of an array: its attributes `_FillValue` and `missing_value`. The `fill_value` of Zarr v2, which
    /// xarray masks as well, is the first of them.
    pub(crate) fn of(source: &Source) -> Self {
        Self::in_attributes(source.array().attributes(), source.element_type())
    }

    /// As [`Self::of`], with the values that options name.
    pub(crate) fn with(source: &Source, options: &PackOptions) -> Result<Self> {
        Self::of(source).and_named(source.element_type(), options)
    }

    /// These, and the values that options name, in a type.
    pub(crate) fn and_named(
        mut self,
        element_type: ElementType,
        options: &PackOptions,
    ) -> Result<Self> {
        self.extend(Self::named(element_type, options)?.0);
        Ok(self)
    }

    /// The values that options name, in a type.
    pub(crate) fn named(element_type: ElementType, options: &PackOptions) -> Result<Self> {
        let named = options.missing.iter().map(|named| {
            named.to_scalar(element_type).map_err(|error| {
                anyhow!("--missing {named} is not a value of {element_type}: {error}")
            })
        });
        let mut markers: Self = named.collect::<Result<_>>()?;
        if options.infinity {
            let infinities = [false, true].map(|sign| Scalar::infinity(element_type, sign));
            markers.extend(infinities.into_iter().flatten());
        }
        Ok(markers)
    }

    /// Reads `_FillValue` and `missing_value` in the type of an array. An attribute that is not a value of the type
    /// marks no element.
    pub(crate) fn in_attributes(
        attributes: &Map<String, Value>,
        element_type: ElementType,
    ) -> Self {
        let names = [FILL_VALUE, MISSING_VALUE].into_iter();
        let values = names.flat_map(|name| values(attributes.get(name)));
        values.filter_map(|value| marker(value, element_type)).collect()
    }

    /// These, and the values that `--missing` named when an array with these attributes was packed, in a type.
    pub(crate) fn and_recorded(
        mut self,
        attributes: &Map<String, Value>,
        element_type: ElementType,
    ) -> Self {
        let recorded = attributes.get(PROVENANCE).and_then(|packed| packed.get(MISSING));
        self.extend(values(recorded).iter().filter_map(|value| marker(value, element_type)));
        self
    }

    /// The kind of NaN that options name by its bits, in a type.
    ///
    /// # Errors
    /// Several kinds.
    pub(crate) fn named_nan(
        element_type: ElementType,
        options: &PackOptions,
    ) -> Result<Option<Scalar>> {
        let is_pattern = |named: &&JsonScalar| named.text().contains("0x");
        let kinds = options.missing.iter().filter(is_pattern);
        let kinds = kinds.filter_map(|named| named.to_scalar(element_type).ok());
        let mut kinds = kinds.filter(|kind| kind.is_nan());
        let first = kinds.next();
        if let Some((one, other)) = first.zip(kinds.find(|kind| Some(*kind) != first)) {
            bail!(
                "--missing names two kinds of NaN, {} and {}, and the codecs cannot tell them apart; name one, or keep all \
                 with --readers any",
                nan_pattern(one),
                nan_pattern(other)
            );
        }
        Ok(first)
    }

    /// Adds values; NaN needs no marker.
    pub(crate) fn extend(&mut self, values: impl IntoIterator<Item = Scalar>) {
        self.0.extend(values.into_iter().filter(|value| !value.is_nan()));
        self.0.sort_by(|&a, &b| order(a, b));
        self.0.dedup_by(|a, b| a.equals(*b));
    }

    /// All of them, in ascending order.
    pub(crate) fn values(&self) -> &[Scalar] {
        &self.0
    }

    /// Whether a value of the same type is one of them.
    pub(crate) fn contains(&self, value: Scalar) -> bool {
        self.index(value).is_some()
    }

    /// The place of a value of the same type among them.
    pub(crate) fn index(&self, value: Scalar) -> Option<usize> {
        let index = self.0.partition_point(|&marker| is_less(marker, value));
        self.0.get(index).filter(|marker| marker.equals(value)).map(|_| index)
    }

    /// The range of the elements that are [`Self::others`].
    pub(crate) fn range_of_others(
        &self,
        element_type: ElementType,
        elements: &[u8],
    ) -> Result<Option<(f64, f64)>> {
        let numbers = self.others(element_type, elements)?.into_iter();
        Ok(numbers.map(|one| (one, one)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))))
    }

    /// Elements as numbers, without NaN, infinities and those that are markers.
    pub(crate) fn others(&self, element_type: ElementType, elements: &[u8]) -> Result<Vec<f64>> {
        let reader = NumberReader::new(element_type)?;
        let markers: Vec<f64> = self.numbers(&reader)?;
        let is_marker = |number: f64| {
            markers.get(markers.partition_point(|&marker| marker < number)) == Some(&number)
        };
        let mut numbers = reader.read(elements)?;
        numbers.retain(|number: &f64| number.is_finite() && !is_marker(*number));
        Ok(numbers)
    }

    /// The markers but 0, which is a number like any other unless it is declared missing.
    pub(crate) fn without_zeros(&self) -> Self {
        self.0.iter().copied().filter(|marker| !marker.is_zero()).collect()
    }

    /// The markers as numbers.
    pub(crate) fn numbers<N: Number>(&self, reader: &NumberReader) -> Result<Vec<N>> {
        let bytes: Vec<u8> = self.0.iter().flat_map(|marker| marker.to_ne_bytes()).collect();
        reader.read(&bytes)
    }
}

impl FromIterator<Scalar> for Markers {
    fn from_iter<I: IntoIterator<Item = Scalar>>(values: I) -> Self {
        let mut markers = Self::default();
        markers.extend(values);
        markers
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::metadata::fill_attribute::to_attribute;

    #[allow(clippy::needless_pass_by_value)] // json!(…) makes a value
    fn read(attributes: Value, element_type: ElementType) -> Vec<f64> {
        let attributes = attributes.as_object().unwrap();
        let markers = Markers::in_attributes(attributes, element_type);
        markers.values().iter().map(|marker| marker.to_f64()).collect()
    }

    #[test]
    fn an_end_of_the_range_that_archives_use_for_missing_values_looks_missing() {
        let looks_missing = |low: f64, high: f64| -> Vec<f64> {
            let found = customary_markers(Some((low.into(), high.into())));
            found.into_iter().map(Scalar::to_f64).collect()
        };
        // netCDF's default for float, CMIP's, and those of satellites and stations.
        for low in [-1e20, -1e30, -1e34, -9999.0, -999.0, -99_999.0, -32_768.0] {
            assert_eq!(looks_missing(low, 300.5), [low]);
        }
        for high in [9.969_209_968_386_869e36, 1e15, 1e20, 1e30, 1e36, 9.999e20] {
            assert_eq!(looks_missing(-20.5, high), [high]);
        }
        assert_eq!(looks_missing(-9999.0, 1e20), [-9999.0, 1e20]);
        assert!(looks_missing(-9998.0, 300.0).is_empty());
        assert!(customary_markers(None).is_empty());
    }

    #[test]
    fn markers_are_numbers_lists_and_what_xarray_writes() {
        let float32 = ElementType::Float32;
        assert_eq!(read(json!({"_FillValue": 1e20}), float32), [f64::from(1e20_f32)]);
        assert_eq!(read(json!({"missing_value": [-999.0, -32768]}), float32), [-32768.0, -999.0]);
        let both = json!({"_FillValue": -999.0, "missing_value": -999});
        assert_eq!(read(both, float32), [-999.0]);
        // xarray's FillValueCoder.encode(-9999.0, np.dtype("float32"))
        assert_eq!(read(json!({"_FillValue": "AAAAAICHw8A="}), float32), [-9999.0]);
        assert_eq!(to_attribute(Scalar::from(-9999.0_f32)), json!("AAAAAICHw8A="));
        // NaN needs no marker, and infinity is a value.
        assert!(read(json!({"_FillValue": "AAAAAAAA+H8="}), float32).is_empty());
        assert!(read(json!({"_FillValue": "NaN", "missing_value": null}), float32).is_empty());
        assert_eq!(read(json!({"_FillValue": "Infinity"}), float32), [f64::INFINITY]);
        // No element of the type has this value.
        assert!(read(json!({"_FillValue": 1e300}), float32).is_empty());
        assert!(read(json!({"_FillValue": 300}), ElementType::UInt8).is_empty());
        assert_eq!(read(json!({"_FillValue": -1}), ElementType::Int16), [-1.0]);
    }
}
