//! The feature `transpose`: chunks are transposed as by zarrs.

use std::num::NonZeroU64;
use std::sync::Arc;

use serde_json::json;
use zarrs::array::codec::api::{
    ArrayToArrayCodecTraits, Codec, CodecMetadataOptions, CodecOptions,
};
use zarrs::array::codec::{TransposeCodec, TransposeOrder};
use zarrs::array::{ArrayBytes, DataType, FillValue, data_type};
use zarrs::metadata::v3::MetadataV3;
use zarrs::plugin::ZarrVersion;

/// All orders of so many axes.
fn orders(dimensions: usize) -> Vec<Vec<usize>> {
    if dimensions == 0 {
        return vec![Vec::new()];
    }
    let shorter = orders(dimensions - 1);
    let longer = shorter.iter().flat_map(|order| {
        (0..dimensions).map(|place| {
            let mut order = order.clone();
            order.insert(place, dimensions - 1);
            order
        })
    });
    longer.collect()
}

/// The codec of this crate, and zarrs' own.
fn codecs(order: &[usize]) -> [Arc<dyn ArrayToArrayCodecTraits>; 2] {
    zarrs_recast::register();
    let metadata = json!({"name": "transpose", "configuration": {"order": order}});
    let metadata: MetadataV3 = serde_json::from_value(metadata).expect("metadata");
    let Codec::ArrayToArray(ours) = Codec::from_metadata(&metadata).expect("a codec") else {
        panic!("not from array to array");
    };
    assert!(!ours.as_any().is::<TransposeCodec>());
    let theirs = TransposeCodec::new(TransposeOrder::new(order).expect("an order"));
    let codecs: [Arc<dyn ArrayToArrayCodecTraits>; 2] = [ours, Arc::new(theirs)];
    let [ours, theirs] = codecs.each_ref().map(|codec| {
        let configuration = codec.configuration(ZarrVersion::V3, &CodecMetadataOptions::default());
        (codec.name(ZarrVersion::V3), configuration)
    });
    assert_eq!(ours, theirs, "what is written in metadata");
    codecs
}

fn assert_same(order: &[usize], shape: &[u64], data_type: &DataType) {
    let size = data_type.fixed_size().expect("a size");
    let elements = shape.iter().product::<u64>() as usize;
    let bytes: Vec<u8> = (0..elements * size).map(|at| ((at * 31) >> 3) as u8).collect();
    let shape: Vec<NonZeroU64> = shape.iter().map(|&n| n.try_into().expect("not 0")).collect();
    let (fill_value, options) = (FillValue::new(vec![0; size]), CodecOptions::default());
    let [ours, theirs] = codecs(order).map(|codec| {
        let chunk = ArrayBytes::from(bytes.clone());
        let encoded = codec.encode(chunk, &shape, data_type, &fill_value, &options);
        let encoded = encoded.expect("encoded").into_owned();
        let decoded = codec.decode(encoded.clone(), &shape, data_type, &fill_value, &options);
        let decoded = decoded.expect("decoded").into_fixed().expect("fixed");
        assert_eq!(decoded, bytes, "{order:?} of {shape:?}");
        encoded.into_fixed().expect("fixed").into_owned()
    });
    assert!(ours == theirs, "{order:?} of {shape:?}, {size} bytes an element");
}

#[test]
fn every_order_of_axes_gives_the_chunk_that_zarrs_gives() {
    let types = [
        data_type::uint8(),
        data_type::int16(),
        data_type::float32(),
        data_type::float64(),
        data_type::complex128(),
    ];
    for shape in [&[3, 1, 5, 4, 2][..], &[7, 9, 4, 3], &[33, 17, 70], &[130, 65], &[9]] {
        for order in orders(shape.len()) {
            for data_type in &types {
                assert_same(&order, shape, data_type);
            }
        }
    }
}

#[test]
fn elements_of_other_sizes_are_transposed_too() {
    let raw = DataType::from_metadata(&MetadataV3::new("r24")).expect("three bytes");
    assert_same(&[2, 0, 1], &[4, 5, 6], &raw);
}

#[test]
fn what_zarrs_refuses_is_refused_with_the_same_words() {
    let (data_type, fill_value) = (data_type::int16(), FillValue::new(vec![0; 2]));
    let shape = [4, 5].map(|n: u64| NonZeroU64::new(n).expect("not 0"));
    let options = CodecOptions::default();
    for (order, bytes) in [(&[2, 0, 1][..], 40), (&[1, 0], 39), (&[1, 0], 42)] {
        let [ours, theirs] = codecs(order).map(|codec| {
            [
                codec.encode(vec![0; bytes].into(), &shape, &data_type, &fill_value, &options),
                codec.decode(vec![0; bytes].into(), &shape, &data_type, &fill_value, &options),
            ]
            .map(|result| result.map(|_| ()).expect_err("refused").to_string())
        });
        assert_eq!(ours, theirs, "{order:?}, {bytes} bytes");
    }
}
