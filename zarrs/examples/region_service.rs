//! A service that reads regions of a sharded, packed array asynchronously, many at a time:
//! `cargo run -p zarrs-recast --example region_service`
//!
//! The store here is a folder; any other of `object_store` (S3, GCS, Azure, HTTP) takes its place.

use std::error::Error;
use std::ops::Range;
use std::sync::Arc;

use zarrs::array::{Array, ArrayBuilder, ArraySubset, data_type};
use zarrs_object_store::AsyncObjectStore;
use zarrs_object_store::object_store::local::LocalFileSystem;
use zarrs_recast::{CastValue, ElementType, RecastCodec, ScaleOffset};

type Store = AsyncObjectStore<LocalFileSystem>;

/// One array, opened once, for any number of requests.
#[derive(Clone)]
struct Service {
    array: Arc<Array<Store>>,
}

impl Service {
    async fn open(store: Arc<Store>, path: &str) -> Result<Self, Box<dyn Error + Send + Sync>> {
        zarrs_recast::register();
        let array = Array::async_open(store, path).await?;
        Ok(Self { array: Arc::new(zarrs_recast::fused(array)) })
    }

    /// The mean of the elements of a region that are not missing. Of each shard, only the index and the
    /// chunks are read that the region is in.
    async fn mean(&self, rows: Range<u64>, columns: Range<u64>) -> Result<f64, String> {
        let region = ArraySubset::from([rows, columns]);
        // zarrs reads the fill value there.
        if !region.inbounds_shape(self.array.shape()) {
            return Err(format!("{region}: the array has {:?} elements", self.array.shape()));
        }
        let elements = self.array.async_retrieve_array_subset::<Vec<f32>>(&region);
        let elements = elements.await.map_err(|error| format!("{region}: {error}"))?;
        let valid = elements.iter().filter(|x| !x.is_nan()).map(|&x| f64::from(x));
        let (sum, count) = valid.fold((0.0, 0), |(sum, count), x| (sum + x, count + 1));
        Ok(sum / f64::from(count))
    }
}

/// Writes temperatures in steps of 0.01 as `int16`, in shards of 256 · 256 with chunks of 32 · 32.
async fn write_array(store: Arc<Store>, path: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut builder = ArrayBuilder::new([512, 512], [256, 256], data_type::float32(), f32::NAN);
    builder.subchunk_shape(vec![32, 32]).array_to_array_codecs(vec![
        RecastCodec::from(ScaleOffset::default().offset(10).scale(100)).into(),
        RecastCodec::from(CastValue::new(ElementType::Int16).map_both(f32::NAN, i16::MIN)).into(),
    ]);
    let array = zarrs_recast::fused(zarrs_recast::build(&builder, store, path)?);
    array.async_store_metadata().await?;
    let temperature =
        |i: u32| if i.is_multiple_of(97) { f32::NAN } else { 10.0 + (i / 512) as f32 / 50.0 };
    let elements: Vec<f32> = (0..512 * 512).map(temperature).collect();
    array.async_store_array_subset(&array.subset_all(), elements).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let folder = tempfile::tempdir()?;
    let store = LocalFileSystem::new_with_prefix(folder.path())?;
    let store = Arc::new(AsyncObjectStore::new(store));
    write_array(store.clone(), "/temperature").await?;

    let service = Service::open(store, "/temperature").await?;
    let requests: Vec<_> = (0..8)
        .map(|request| {
            let service = service.clone();
            let rows = 60 * request..60 * request + 60;
            tokio::spawn(async move { (rows.clone(), service.mean(rows, 100..400).await) })
        })
        .collect();
    for request in requests {
        let (rows, mean) = request.await?;
        println!("rows {rows:?}: {:.2} degrees", mean?);
    }
    // A region that is not there is an answer too.
    println!("{}", service.mean(500..600, 0..10).await.expect_err("there are 512 rows"));
    Ok(())
}
