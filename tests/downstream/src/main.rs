//! Packs an array, reads it back by way of an asynchronous store, and asks about an element that fails.

mod stable;

use std::error::Error;
use std::sync::Arc;

use recast_kernels::{Cast, Level, Plan};
use zarr_recast::{BindOptions, Chain, advice};
use zarrs::array::codec::ZstdCodec;
use zarrs::array::{ArrayBuilder, ArraySubset, data_type};
use zarrs::storage::store::AsyncMemoryStore;
use zarrs_recast::{
    CastValue, Codec, ElementError, ElementType, FillCheck, OutOfRange, Reason, RecastCodec,
    Rounding, ScaleOffset,
};

fn codecs() -> [Codec; 2] {
    let cast = CastValue::new(ElementType::UInt8).rounding(Rounding::NearestAway);
    [ScaleOffset::default().offset(5).scale(2).into(), cast.map_both(f32::NAN, 255_u8).into()]
}

/// What a program does that knows nothing of arrays.
fn chains() -> Result<(), Box<dyn Error>> {
    let options = BindOptions::default().fill_check(FillCheck::Create);
    let chain = Chain::bind(ElementType::Float32, Some(f32::NAN.into()), &codecs(), &options)?;
    let encoded: Vec<u8> = chain.encoder().run_slice(&[5.25_f32, f32::NAN])?;
    assert_eq!(encoded, [1, 255]);
    let decoded: Vec<f32> = chain.decoder().run_slice(&encoded)?;
    assert!(decoded[0].to_bits() == 5.5_f32.to_bits() && decoded[1].is_nan());

    let clamp = Cast::new(ElementType::Int8).out_of_range(OutOfRange::Clamp);
    let plan = Plan::builder(ElementType::Int16).cast(clamp).level(Level::Scalar).build()?;
    assert_eq!(plan.run_to_vec(&300_i16.to_ne_bytes())?, [127]);
    // The crates in signatures are re-exported: no version of one's own is needed.
    let mut half = [recast_kernels::half::f16::ZERO];
    recast_kernels::cast(&[1.5_f32], &mut half, &Cast::new(ElementType::Float16))?;
    assert_eq!(recast_kernels::bytemuck::cast::<_, u16>(half[0]), 0x3e00);
    // Types that may grow have an arm for what they may grow.
    let name = match plan.steps().first() {
        Some(recast_kernels::Step::Cast(cast)) => cast.target.name(),
        _ => "another step",
    };
    assert_eq!(name, "int8");
    Ok(())
}

/// A sharded array, packed by codecs inside its shards.
async fn arrays() -> Result<(), Box<dyn Error>> {
    let mut builder = ArrayBuilder::new([64, 64], [32, 32], data_type::float32(), f32::NAN);
    builder
        .subchunk_shape(vec![8, 8])
        .array_to_array_codecs(codecs().map(|codec| RecastCodec::from(codec).into()).to_vec())
        .bytes_to_bytes_codecs(vec![Arc::new(ZstdCodec::new(1, false))]);
    let store = Arc::new(AsyncMemoryStore::new());
    let array = zarrs_recast::fused(zarrs_recast::build(&builder, store, "/")?);
    array.async_store_metadata().await?;
    let elements: Vec<f32> = (0..64 * 64_u16).map(|i| 5.0 + f32::from(i % 200) / 2.0).collect();
    array.async_store_array_subset(&array.subset_all(), elements.clone()).await?;
    let region = ArraySubset::from([10..11, 3..13]);
    let read: Vec<f32> = array.async_retrieve_array_subset(&region).await?;
    assert_eq!(read, elements[643..653]);

    let error = array.async_store_chunk(&[0, 0], vec![-1.0_f32; 32 * 32]).await;
    let error = error.expect_err("-1 is out of range");
    let error = ElementError::of(&error).ok_or("not about an element")?;
    assert_eq!((error.source.reason, error.at.as_deref()), (Reason::OutOfRange, Some(&[0, 0][..])));
    println!("{error}\n{}", advice(&error.source));

    builder.fill_value(-1.0_f32);
    let refused = zarrs_recast::build(&builder, Arc::new(AsyncMemoryStore::new()), "/");
    println!("{}", zarrs_recast::explain(&refused.expect_err("-1 is no fill value")));
    Ok(())
}

/// What stays true when the crates grow.
fn stability() -> Result<(), Box<dyn Error>> {
    println!("{:?} types, roundings, modes and levels", stable::all());
    let plan = Plan::builder(ElementType::Float32).cast(Cast::new(ElementType::Int8)).build()?;
    let error = plan.run_to_vec(&300_f32.to_ne_bytes()).expect_err("300 is out of range").into();
    let bound = Chain::bind(
        ElementType::Float32,
        Some(0.5_f32.into()),
        &[CastValue::new(ElementType::Int8).into()],
        &BindOptions::default(),
    );
    let texts = [
        stable::rounding(Rounding::NearestAway),
        stable::out_of_range(OutOfRange::Clamp),
        stable::overflow(recast_kernels::FloatOverflow::Error),
        stable::format(ElementType::Float8E4M3.format()),
        stable::level(plan.level()),
        plan.steps().first().map_or("none", stable::step),
        stable::error(&error),
        stable::codec(&codecs()[0]),
        stable::fill_check(FillCheck::Open),
        stable::bind_error(&bound.expect_err("0.5 becomes 0")),
    ];
    let expected = "nearest known known float known known element specified known fill value";
    assert_eq!(texts.join(" "), expected);
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    chains()?;
    stability()?;
    arrays().await
}
