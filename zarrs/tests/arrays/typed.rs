//! Codecs of Rust values: the same arrays as from JSON, refused when they are built, and errors as data.

use crate::common;
use std::error::Error;
use std::sync::Arc;

use serde_json::{Value, json};
use zarrs::array::codec::api::ArrayToArrayCodecTraits;
use zarrs::array::codec::{TransposeCodec, TransposeOrder};
use zarrs::array::{Array, ArrayBuilder, ArraySubset, CodecOptions, data_type};
use zarrs::storage::store::MemoryStore;
use zarrs_recast::{
    AsType, BindOptions, CastError, CastValue, ElementError, ElementType, FillCheck,
    FixedScaleOffset, Operation, OutOfRange, Reason, RecastCodec, Rounding, ScaleOffset,
};

type Codecs = Vec<Arc<dyn ArrayToArrayCodecTraits>>;

fn memory() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new())
}

fn builder(codecs: Codecs, fill_value: f32) -> ArrayBuilder {
    let mut builder = ArrayBuilder::new([4, 6], [2, 3], data_type::float32(), fill_value);
    builder.array_to_array_codecs(codecs);
    builder
}

fn to_uint8() -> Codecs {
    vec![RecastCodec::from(CastValue::new(ElementType::UInt8)).into()]
}

/// `scale_offset` and `cast_value`, each by its own constructor.
fn scaled() -> Codecs {
    vec![
        RecastCodec::from(ScaleOffset::default().offset(5).scale(2)).into(),
        RecastCodec::from(CastValue::new(ElementType::UInt8)).into(),
    ]
}

#[test]
fn typed_codecs_write_the_metadata_that_json_has() {
    let cast = CastValue::new(ElementType::Int16)
        .rounding(Rounding::TowardsZero)
        .out_of_range(OutOfRange::Clamp)
        .map_both(f32::NAN, -1_i16);
    let fixed = FixedScaleOffset::new(0, 10, "<f4", Some("<i2")).expect("types");
    let as_type = AsType::new("<f8", "<f4").expect("types");
    let cases: [(RecastCodec, Value); 4] = [
        (
            ScaleOffset::default().offset(0.5).scale(10).into(),
            json!({"name": "scale_offset", "configuration": {"offset": 0.5, "scale": 10}}),
        ),
        (
            cast.into(),
            json!({"name": "cast_value", "configuration": {
                "data_type": "int16", "rounding": "towards-zero", "out_of_range": "clamp",
                "scalar_map": {"encode": [["NaN", -1]], "decode": [[-1, "NaN"]]}}}),
        ),
        (
            fixed.into(),
            json!({"name": "numcodecs.fixedscaleoffset", "configuration": {
                "offset": 0, "scale": 10, "dtype": "<f4", "astype": "<i2"}}),
        ),
        (
            as_type.into(),
            json!({"name": "numcodecs.astype", "configuration": {
                "encode_dtype": "<f8", "decode_dtype": "<f4"}}),
        ),
    ];
    zarrs_recast::register();
    for (codec, json) in cases {
        let store = memory();
        let array = builder(vec![codec.into()], 0.0).build(store.clone(), "/").expect("an array");
        let metadata = serde_json::to_value(array.metadata()).expect("JSON");
        assert_eq!(metadata["codecs"][0], json);
        // What one writes the other reads.
        array.store_metadata().expect("stored");
        let elements: Vec<f32> = (0..24_u8).map(f32::from).collect();
        array.store_array_subset(&array.subset_all(), &elements).expect("written");
        let opened = Array::open(store, "/").expect("opened");
        let read: Vec<f32> = opened.retrieve_array_subset(&opened.subset_all()).expect("read");
        assert_eq!(read, elements);
    }
}

#[test]
fn a_fill_value_that_cannot_be_encoded_is_refused_when_the_array_is_built() {
    for shards in [false, true] {
        let mut builder = builder(to_uint8(), f32::NAN);
        if shards {
            builder.subchunk_shape(vec![1, 3]);
        }
        let error = zarrs_recast::build(&builder, memory(), "/").expect_err("NaN").to_string();
        assert!(error.contains("cast_value"), "{error}");
        assert!(error.contains("fill_value: float32 NaN cannot be encoded"), "{error}");

        builder.fill_value(0.5_f32); // stored as 0, which is another value
        let error = zarrs_recast::build(&builder, memory(), "/").expect_err("0.5").to_string();
        assert!(error.contains("fill_value: float32 0.5 does not survive"), "{error}");

        builder.fill_value(7.0_f32);
        zarrs_recast::build(&builder, memory(), "/").expect("7");
    }
    // Options that the builder has count as they do for writing.
    let mut builder = builder(to_uint8(), 0.5);
    let report = BindOptions::default().fill_check(FillCheck::ReportOnly);
    builder.codec_specific_options(
        zarrs::array::codec::api::CodecSpecificOptions::default().with_option(report),
    );
    zarrs_recast::build(&builder, memory(), "/").expect("as was asked for");
}

#[test]
fn a_fill_value_that_scale_offset_does_not_return_is_refused_when_the_array_is_built() {
    let scale = || RecastCodec::from(ScaleOffset::default().offset(273.15).scale(0.3)).into();
    for shards in [false, true] {
        let mut builder = ArrayBuilder::new([4], [4], data_type::float64(), 0.1);
        builder.array_to_array_codecs(vec![scale()]);
        if shards {
            builder.subchunk_shape(vec![2]);
        }
        let error = zarrs_recast::build(&builder, memory(), "/").expect_err("0.1").to_string();
        assert!(
            error.contains("fill_value: float64 0.1 comes back from scale_offset as"),
            "{error}"
        );
        assert!(error.contains("fill_check = Open lets it pass"), "{error}");
        // An array that exists is read and written.
        let array = builder.build(memory(), "/").expect("an array");
        zarrs_recast::check(&array).expect("as the first write");
    }
    // The cast next to it rounds to the fill value again.
    let mut builder = ArrayBuilder::new([4], [4], data_type::float32(), 0.1_f32);
    let cast = RecastCodec::from(CastValue::new(ElementType::Float64)).into();
    builder.array_to_array_codecs(vec![cast, scale()]);
    zarrs_recast::build(&builder, memory(), "/").expect("0.1 comes back from both");
}

#[test]
fn a_type_that_a_codec_cannot_take_is_refused_when_the_array_is_built() {
    let codec = RecastCodec::from(ScaleOffset::default().scale(0.1));
    let mut builder = ArrayBuilder::new([4], [2], data_type::int16(), 0_i16);
    builder.array_to_array_codecs(vec![codec.into()]);
    let error = zarrs_recast::build(&builder, memory(), "/").expect_err("0.1").to_string();
    assert!(error.contains("scale: 0.1 is not a whole number"), "{error}");
}

/// 24 elements from 5 on, but the one at [3, 4] is 300.
fn elements() -> Vec<f32> {
    (5..29_u8).map(|i| if i == 27 { 300.0 } else { f32::from(i) }).collect()
}

#[test]
fn the_source_of_an_error_is_the_element() {
    let array = builder(to_uint8(), 0.0).build(memory(), "/").expect("an array");
    let error = array.store_chunk(&[1, 1], vec![1.0_f32, 2.0, 300.0, 4.0, 5.0, 6.0]);
    let error = error.expect_err("300");
    let source = error.source().and_then(|error| error.downcast_ref::<CastError>());
    let source = source.expect("a CastError");
    assert_eq!((source.index, source.reason), (2, Reason::OutOfRange));
    assert_eq!(source.value, 300.0_f32.into());

    let error = ElementError::of(&error).expect("an element");
    assert_eq!((error.codecs.as_str(), error.operation), ("cast_value", Operation::Encoding));
    assert_eq!((&error.at, &error.chunk), (&Some(vec![0, 2]), &None));

    // Other errors are not about an element.
    let error = array.store_chunk(&[0, 0], vec![1.0_f32]).expect_err("too few");
    assert_eq!(ElementError::of(&error), None);
}

/// With and without shards, whose codecs see inner chunks only.
#[test]
fn write_names_the_element_in_the_array() {
    for shards in [None, Some(vec![1, 3])] {
        let mut builder = builder(scaled(), 5.0);
        if let Some(shape) = shards {
            builder.subchunk_shape(shape);
        }
        let array = zarrs_recast::build(&builder, memory(), "/").expect("an array");
        let all = array.subset_all();
        let error = zarrs_recast::write(&array, &all, &elements()).expect_err("300");
        let text = error.to_string();
        let error = ElementError::of(&error).expect("an element");
        assert_eq!((&error.chunk, &error.at), (&Some(vec![1, 1]), &Some(vec![1, 1])), "{text}");
        assert_eq!((&error.element, error.source.index), (&Some(vec![3, 4]), 22), "{text}");
        assert!(text.ends_with("(at [3, 4] of the array, in chunk [1, 1])"), "{text}");

        // In a part that begins within a chunk.
        let part = ArraySubset::from([3..4, 4..6]);
        let error = zarrs_recast::write(&array, &part, &[6.0_f32, 300.0]).expect_err("300");
        let error = ElementError::of(&error).expect("an element");
        assert_eq!((&error.chunk, &error.at), (&Some(vec![1, 1]), &Some(vec![1, 2])));
        assert_eq!((&error.element, error.source.index), (&Some(vec![3, 5]), 1));

        let sound: Vec<f32> = (0..24_u8).map(|i| 5.0 + f32::from(i) / 2.0).collect();
        zarrs_recast::write(&array, &all, &sound).expect("written");
        assert_eq!(array.retrieve_array_subset::<Vec<f32>>(&all).expect("read"), sound);
    }
}

/// `scale_offset` multiplies before `cast_value` fails, and `transpose` moves elements.
#[test]
fn write_shows_the_value_and_place_that_were_given() {
    let order = TransposeOrder::new(&[1, 0]).expect("an order");
    let mut codecs = scaled();
    codecs.insert(0, Arc::new(TransposeCodec::new(order)));
    let builder = builder(codecs, 5.0);
    let array = builder.build(memory(), "/").expect("an array");
    let error = zarrs_recast::write(&array, &array.subset_all(), &elements()).expect_err("300");
    let text = error.to_string();
    let error = ElementError::of(&error).expect("an element");
    assert_eq!((&error.element, &error.at), (&Some(vec![3, 4]), &Some(vec![1, 1])), "{text}");
    assert!(text.contains("element 22: float32 300.0 (by then float32 590.0) is"), "{text}");

    // zarrs alone tells the codec neither the place nor the value that was given.
    let error = array.store_array_subset(&array.subset_all(), elements()).expect_err("300");
    let text = error.to_string();
    assert!(text.contains("float32 590.0 is out of range"), "{text}");
    assert!(text.ends_with("(at [1, 1] of the elements that reach cast_value)"), "{text}");
}

/// Also inside shards; while elements are read and written, codecs do not know it.
#[test]
fn build_names_the_place_of_the_codec_that_refuses() {
    let mut codecs = scaled();
    codecs.insert(0, RecastCodec::from(CastValue::new(ElementType::Float64)).into());
    for (shards, list) in [(None, "codecs"), (Some(vec![1, 3]), "codecs[0].configuration.codecs")] {
        let mut builder = builder(codecs.clone(), -1.0);
        if let Some(shape) = shards {
            builder.subchunk_shape(shape);
        }
        let error = zarrs_recast::build(&builder, memory(), "/").expect_err("-1").to_string();
        let place = format!("cannot be encoded by {list}[2] (cast_value)");
        assert!(error.contains(&place), "{error}");

        let array = builder.build(memory(), "/").expect("an array");
        let error = array.store_chunk(&[0, 0], vec![6.0_f32; 6]).expect_err("-1").to_string();
        assert!(error.contains("cannot be encoded by cast_value"), "{error}");
    }
}

#[test]
fn read_names_the_chunk_and_the_element() {
    let scale = RecastCodec::from(ScaleOffset::default().scale(3));
    let mut builder = ArrayBuilder::new([4, 6], [2, 3], data_type::int32(), 0_i32);
    builder.array_to_array_codecs(vec![scale.into()]);
    let store = memory();
    let array = builder.build(store.clone(), "/").expect("an array");
    // Written without the codec: 4 is no multiple of the scale.
    let plain = ArrayBuilder::new([4, 6], [2, 3], data_type::int32(), 0_i32);
    let plain = plain.build(store, "/").expect("an array");
    plain.store_chunk(&[1, 0], vec![3_i32, 3, 3, 3, 4, 3]).expect("written");

    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
    let all = array.subset_all();
    let error = pool.install(|| zarrs_recast::read::<i32, _>(&array, &all)).expect_err("4");
    let error = ElementError::of(&error).expect("an element");
    assert_eq!((&error.chunk, &error.at), (&Some(vec![1, 0]), &Some(vec![1, 1])));
    assert_eq!(error.element, Some(vec![3, 1]));
    assert_eq!(
        (error.operation, error.source.reason),
        (Operation::Decoding, Reason::InexactDivision)
    );
}

/// One pass over each chunk of a shard: the error names both codecs, for they run as one.
#[test]
fn codecs_inside_shards_run_as_one_once_fused() {
    let mut builder = builder(scaled(), 5.0);
    let array = builder.subchunk_shape(vec![1, 3]).build(memory(), "/").expect("an array");
    let codecs = |array: &Array<MemoryStore>| {
        let error = array.store_array_subset(&array.subset_all(), elements()).expect_err("300");
        ElementError::of(&error).expect("an element").codecs.clone()
    };
    assert_eq!(codecs(&array), "cast_value");
    let metadata = array.metadata().clone();
    let array = zarrs_recast::fused(array);
    assert_eq!(codecs(&array), "scale_offset + cast_value");
    assert_eq!(*array.metadata(), metadata);
    // Twice is as once.
    assert_eq!(codecs(&zarrs_recast::fused(array)), "scale_offset + cast_value");
}

#[test]
fn codecs_inside_shards_inside_shards_run_as_one_once_fused() {
    let inner = json!([
        {"name": "scale_offset", "configuration": {"offset": 5, "scale": 2}},
        {"name": "cast_value", "configuration": {"data_type": "uint8"}},
        {"name": "bytes"},
    ]);
    let shard = |shape: [u64; 2], codecs: &Value| {
        json!([{"name": "sharding_indexed", "configuration": {
            "chunk_shape": shape, "codecs": codecs, "index_location": "end", "index_codecs": [
                {"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}}])
    };
    let codecs = shard([2, 3], &shard([1, 3], &inner));
    zarrs_recast::register();
    let (_folder, store) = common::empty_store();
    let document = common::metadata("float32", 5, &[4, 6], &[4, 6], &codecs);
    let array = zarrs_recast::fused(common::create(&store, &document).expect("an array"));
    let options = CodecOptions::default();
    let error = array.store_chunk_opt(&[0, 0], elements(), &options).expect_err("300");
    let error = ElementError::of(&error).expect("an element");
    assert_eq!(error.codecs, "scale_offset + cast_value");
}

/// Options of the sharding codec outlive fusing.
#[test]
fn a_fused_shard_keeps_the_order_that_its_chunks_are_written_in() {
    use zarrs::array::codec::{ShardingCodecOptions, SubchunkWriteOrder};
    let options = ShardingCodecOptions::default().with_subchunk_write_order(SubchunkWriteOrder::C);
    let mut builder = builder(scaled(), 5.0);
    builder.subchunk_shape(vec![1, 3]).codec_specific_options(
        zarrs::array::codec::api::CodecSpecificOptions::default().with_option(options),
    );
    let array = zarrs_recast::fused(builder.build(memory(), "/").expect("an array"));
    let text = format!("{:?}", array.codecs().array_to_bytes_codec());
    assert!(text.contains("subchunk_write_order: C"), "{text}");
}

/// One thread decodes a whole shard at once; what is missing in it is the fill value, whether that survives the
/// codecs (5) or not (5.2).
#[test]
fn a_whole_shard_reads_as_its_parts_do_with_chunks_missing_in_it() {
    let store = memory();
    let array = |fill_value| {
        let mut builder = builder(scaled(), fill_value);
        builder.subchunk_shape(vec![1, 3]).build(store.clone(), "/").expect("an array")
    };
    // The first row of the first shard; its second one is missing.
    let row = ArraySubset::from([0..1, 0..3]);
    array(5.0).store_array_subset(&row, vec![6.0_f32, 7.5, 5.0]).expect("written");
    for fill_value in [5.0, 5.2] {
        for threads in [1, 4] {
            let options = CodecOptions::default().with_concurrent_target(threads);
            let fused = zarrs_recast::fused(array(fill_value));
            let read: Vec<f32> = fused.retrieve_chunk_opt(&[0, 0], &options).expect("read");
            let expected = [6.0, 7.5, 5.0, fill_value, fill_value, fill_value];
            assert_eq!(read, expected, "{threads} threads");
        }
    }
}

/// An element that cannot be decoded is named by its place in the chunk of the shard, fused or not.
#[test]
fn an_error_in_a_whole_shard_is_that_of_its_chunk() {
    let store = memory();
    let encoded = |data_type, codecs: Codecs| {
        let mut builder = ArrayBuilder::new([2, 3], [2, 3], data_type, 0_u8);
        builder.subchunk_shape(vec![1, 3]).array_to_array_codecs(codecs);
        builder.build(store.clone(), "/")
    };
    let codes = encoded(data_type::uint8(), vec![]).expect("an array");
    codes.store_chunk(&[0, 0], vec![1_u8, 2, 3, 4, 250, 6]).expect("written");
    let array = encoded(
        data_type::int8(),
        vec![
            RecastCodec::from(CastValue::new(ElementType::Int16)).into(),
            RecastCodec::from(CastValue::new(ElementType::UInt8)).into(),
        ],
    );
    let array = array.expect("an array");
    let options = CodecOptions::default().with_concurrent_target(1);
    for array in [zarrs_recast::fused(array.with_storage(array.storage())), array] {
        let error = array.retrieve_chunk_opt::<Vec<i8>>(&[0, 0], &options).expect_err("250");
        let error = ElementError::of(&error).expect("an element");
        assert_eq!(error.at.as_deref(), Some(&[0, 1][..]));
    }
}
