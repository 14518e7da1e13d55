//! Packs an array of one branch of an Icechunk repository into another, and commits it after it has been verified.

use std::future::Future;
use std::sync::Arc;

use anyhow::{Result, bail};
use recast_pack::{AllClose, CompareJob, Job, Mount, PackJob, PackOptions, Runtime, Visibility};
use tokio::runtime::Handle;
use zarrs_icechunk::AsyncIcechunkStore;
use zarrs_icechunk::icechunk::repository::VersionInfo;
use zarrs_icechunk::icechunk::session::Session;
use zarrs_icechunk::icechunk::{Repository, new_in_memory_storage};
use zarrs_storage::storage_adapter::async_to_sync::{
    AsyncToSyncBlockOn, AsyncToSyncStorageAdapter,
};
use zarrs_storage::{ReadableWritableListableStorageTraits, StoreKey};

const BOUND: f64 = 0.01;

/// Threads of the job wait for the runtime on which Icechunk works.
struct OnRuntime(Handle);

impl AsyncToSyncBlockOn for OnRuntime {
    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }
}

fn main() -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let on = |session: Session| {
        let store = Arc::new(AsyncIcechunkStore::new(session));
        let block_on = OnRuntime(runtime.handle().clone());
        (Arc::clone(&store), Arc::new(AsyncToSyncStorageAdapter::new(store, block_on)))
    };
    let repository = runtime.block_on(async {
        let storage = new_in_memory_storage().await?;
        anyhow::Ok(Repository::create(storage).execute().await?)
    })?;

    let (store, storage) = on(runtime.block_on(repository.writable_session("main"))?);
    write_example(&*storage)?;
    let raw =
        runtime.block_on(async { store.session().write().await.commit("raw").execute().await })?;
    runtime.block_on(repository.create_branch("packed", &raw))?;

    let main = VersionInfo::BranchTipRef("main".to_owned());
    let (_, source) = on(runtime.block_on(repository.readonly_session(&main))?);
    let (store, target) = on(runtime.block_on(repository.writable_session("packed"))?);
    let source = Mount::read_only(source, true);
    let target = Mount::new(target, Visibility::OnCommit);

    let options = PackOptions { max_abs_error: Some(BOUND), ..PackOptions::default() };
    let job =
        PackJob { overwrite: true, ..PackJob::new(source.at("t2m"), target.at("t2m"), options) };
    let report = job.run(&Runtime::default())?;
    let tolerance = Some(AllClose { atol: BOUND, rtol: 0.0 });
    let check = CompareJob { tolerance, ..CompareJob::new(source.at("t2m"), target.at("t2m")) };
    let compared = check.run(&Runtime::default())?;
    if let Some(failure) = compared.failure() {
        bail!("{failure}; nothing is committed");
    }
    println!("{} within {BOUND}", report.data_type);
    runtime.block_on(async { store.session().write().await.commit("packed").execute().await })?;
    Ok(())
}

/// Stores an array of float32.
fn write_example(storage: &dyn ReadableWritableListableStorageTraits) -> Result<()> {
    let metadata = r#"{"zarr_format": 3, "node_type": "array", "shape": [1000], "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [250]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "fill_value": "NaN"}"#;
    storage.set(&StoreKey::new("t2m/zarr.json")?, metadata.into())?;
    for chunk in 0..4 {
        let values = (0..250).map(|i| 271.5 + (chunk * 250 + i) as f32 * 0.037);
        let bytes: Vec<u8> = values.flat_map(f32::to_le_bytes).collect();
        storage.set(&StoreKey::new(format!("t2m/c/{chunk}"))?, bytes.into())?;
    }
    Ok(())
}
