//! Stores at URLs.
//!
//! zarrs has adapters for URLs. But they request the size of every chunk before they read it, and then read a range;
//! plain web servers do not support that.

use std::collections::BTreeSet;
use std::future::ready;
use std::io::Write;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::{Either, select};
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore, ObjectStoreExt};
use tokio::runtime::{Builder, Runtime};
use zarrs::storage::byte_range::{ByteRange, ByteRangeIterator, InvalidByteRangeError};
use zarrs::storage::{
    Bytes, ListableStorageTraits, MaybeBytes, MaybeBytesIterator, OffsetBytesIterator,
    ReadableStorageTraits, StorageError, StoreKey, StoreKeys, StoreKeysPrefixes, StorePrefix,
    WritableStorageTraits,
};

use super::limited::refuse_size;
use super::schemes::Scheme;
use super::servers::{PATIENCE, reason, server};
use crate::error::Result;

/// The store at a URL.
#[derive(Clone)]
pub(crate) struct Remote {
    store: Arc<dyn ObjectStore>,
    runtime: &'static Runtime,
    scheme: Scheme,
    /// Without a slash at its end, for errors.
    url: String,
    /// The prefix of the keys inside the store.
    root: Path,
    /// Ends the wait for the server while it stores an object.
    interrupt: Arc<AtomicBool>,
    /// The most bytes of an object that is read.
    most: u64,
    /// The time after which a server that sends less than [`LEAST`] has failed.
    patience: Duration,
}

/// A server that sends fewer bytes in the time for which it is waited has stalled.
const LEAST: usize = 20 << 10;

impl Remote {
    /// The place of a URL; requests nothing yet.
    pub(crate) fn new(url: &str) -> Result<Self> {
        Self::patient(url, PATIENCE)
    }

    /// As [`Self::new`], with a server that is given up after this time of silence.
    fn patient(url: &str, patience: Duration) -> Result<Self> {
        let (scheme, rest) = Scheme::of(url)?;
        let runtime = runtime()?;
        let (store, root) = server(scheme, url, rest, patience)?;
        let url = url.trim_end_matches('/').to_owned();
        let (interrupt, most) = (Arc::default(), u64::MAX);
        Ok(Self { store, runtime, scheme, url, root, interrupt, most, patience })
    }

    /// The same place, where nobody waits for the server once `interrupt` is set.
    pub(super) fn interrupted_by(self, interrupt: &Arc<AtomicBool>) -> Self {
        Self { interrupt: Arc::clone(interrupt), ..self }
    }

    /// The same place, where objects of more bytes are not read.
    pub(super) fn limited(&self, most: u64) -> Self {
        Self { most, ..self.clone() }
    }

    /// Whether the server lists its objects.
    pub(crate) fn is_listable(&self) -> bool {
        self.scheme.is_object_store()
    }

    fn path(&self, below: &str) -> Result<Path, StorageError> {
        let path = format!("{}/{below}", self.root);
        Path::parse(path).map_err(|error| StorageError::Other(format!("{}: {error}", self.url)))
    }

    /// The result of a request; `None` if there is no such object.
    fn found<T>(
        &self,
        what: &str,
        result: object_store::Result<T>,
    ) -> Result<Option<T>, StorageError> {
        match result {
            Ok(found) => Ok(Some(found)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(what, &error)),
        }
    }

    fn failed(&self, what: &str, error: &object_store::Error) -> StorageError {
        let url = format!("{}/{what}", self.url);
        StorageError::Other(format!("{url}: {}", reason(self.scheme, error)))
    }

    fn range(&self, key: &StoreKey, range: ByteRange) -> Result<MaybeBytes, StorageError> {
        let range = match range {
            ByteRange::FromStart(0, None) => None,
            ByteRange::FromStart(start, None) => Some(GetRange::Offset(start)),
            ByteRange::FromStart(start, Some(length)) => {
                Some(GetRange::Bounded(start..start.saturating_add(length)))
            }
            ByteRange::Suffix(length) => Some(GetRange::Suffix(length)),
        };
        let path = self.path(key.as_str())?;
        let options = GetOptions { range, ..GetOptions::default() };
        let read = async {
            let answer = self.store.get_opts(&path, options).await;
            let Some(answer) = self.found(key.as_str(), answer)? else { return Ok(None) };
            let named = format!("{}/{key}", self.url);
            refuse_size(&named, answer.meta.size, self.most)?;
            self.body(key, answer).await.map(Some)
        };
        self.runtime.block_on(read)
    }

    /// Copies an object, which may be larger than memory, to what `make` opens. Returns its bytes; `None` if it is not there.
    pub(super) fn copy<W: Write>(
        &self,
        key: &StoreKey,
        make: impl FnOnce() -> Result<W>,
    ) -> Result<Option<u64>> {
        let path = self.path(key.as_str())?;
        let read = async {
            let answer = self.store.get_opts(&path, GetOptions::default()).await;
            let Some(answer) = self.found(key.as_str(), answer)? else { return Ok(None) };
            let (mut copy, mut length) = (make()?, 0);
            let write = |part: Bytes| {
                length += part.len() as u64;
                Ok(copy.write_all(&part)?)
            };
            self.each_part(key, answer, write).await?;
            Ok(Some(length))
        };
        self.runtime.block_on(read)
    }

    /// The bytes of a server's answer.
    async fn body(&self, key: &StoreKey, answer: GetResult) -> Result<Bytes, StorageError> {
        const MOST_AT_ONCE: u64 = 16 << 20;
        let claimed = answer.range.end.saturating_sub(answer.range.start);
        // The server's word is not trusted with memory before the bytes have come.
        let mut body = Vec::with_capacity(claimed.min(MOST_AT_ONCE) as usize);
        let add = |part: Bytes| {
            body.extend_from_slice(&part);
            if body.len() as u64 > self.most {
                refuse_size(&format!("{}/{key}", self.url), body.len() as u64, self.most)?;
            }
            Ok(())
        };
        self.each_part(key, answer, add).await?;
        Ok(body.into())
    }

    /// Does something with each part that a server sends, at no less than the least rate.
    async fn each_part(
        &self,
        key: &StoreKey,
        answer: GetResult,
        mut work: impl FnMut(Bytes) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let mut parts = answer.into_stream();
        let mut is_whole = false;
        while !is_whole {
            let some = async {
                let mut sent = 0;
                while sent < LEAST {
                    let part = parts.try_next().await;
                    let part = part.map_err(|error| self.failed(key.as_str(), &error))?;
                    let Some(part) = part else { return Ok(true) };
                    sent += part.len();
                    work(part)?;
                }
                Ok::<bool, StorageError>(false)
            };
            let Ok(result) = tokio::time::timeout(self.patience, some).await else {
                let (url, seconds) = (&self.url, self.patience.as_secs_f64());
                return Err(StorageError::Other(format!(
                    "{url}/{key}: the server sent fewer than {LEAST} bytes in {seconds} seconds; try again later"
                )));
            };
            is_whole = result?;
        }
        Ok(())
    }

    /// The key of a path in the store; none if it is not valid in Zarr.
    fn key(&self, path: &Path) -> Option<StoreKey> {
        let below = path.as_ref().strip_prefix(self.root.as_ref())?;
        StoreKey::new(below.trim_start_matches('/')).ok()
    }

    /// All objects below a prefix, as the server lists them.
    pub(super) fn objects(&self, prefix: &StorePrefix) -> Result<Vec<ObjectMeta>, StorageError> {
        self.refuse_unlisted()?;
        let path = self.path(prefix.as_str())?;
        let all = self.store.list(Some(&path)).try_collect::<Vec<_>>();
        Ok(self.found(prefix.as_str(), self.runtime.block_on(all))?.unwrap_or_default())
    }

    /// All objects below a prefix, with their sizes.
    fn below(&self, prefix: &StorePrefix) -> Result<Vec<(StoreKey, u64)>, StorageError> {
        let all = self.objects(prefix)?;
        let mut keys: Vec<_> =
            all.iter().filter_map(|one| Some((self.key(&one.location)?, one.size))).collect();
        keys.sort();
        // Whatever a server lists twice is there once.
        keys.dedup_by(|(one, _), (other, _)| one == other);
        Ok(keys)
    }

    fn refuse_unlisted(&self) -> Result<(), StorageError> {
        if self.is_listable() {
            return Ok(());
        }
        let text = format!("{}: a web server does not list its files", self.url);
        Err(StorageError::Unsupported(text))
    }
}

impl ReadableStorageTraits for Remote {
    fn get_partial_many<'a>(
        &'a self,
        key: &StoreKey,
        byte_ranges: ByteRangeIterator<'a>,
    ) -> Result<MaybeBytesIterator<'a>, StorageError> {
        if !self.supports_get_partial() {
            let Some(all) = self.range(key, ByteRange::FromStart(0, None))? else {
                return Ok(None);
            };
            let size = all.len() as u64;
            let part = move |range: ByteRange| {
                if range.end(size) > size || range.start(size) > range.end(size) {
                    return Err(InvalidByteRangeError::new(range, size).into());
                }
                Ok(all.slice(range.to_range_usize(size)))
            };
            return Ok(Some(Box::new(byte_ranges.map(part))));
        }
        let mut parts: Vec<Result<Bytes, StorageError>> = Vec::new();
        for range in byte_ranges {
            let Some(part) = self.range(key, range)? else { return Ok(None) };
            parts.push(Ok(part));
        }
        Ok(Some(Box::new(parts.into_iter())))
    }

    fn size_key(&self, key: &StoreKey) -> Result<Option<u64>, StorageError> {
        let path = self.path(key.as_str())?;
        let head = self.found(key.as_str(), self.runtime.block_on(self.store.head(&path)))?;
        Ok(head.map(|head| head.size))
    }

    fn supports_get_partial(&self) -> bool {
        self.is_listable()
    }
}

impl ListableStorageTraits for Remote {
    fn list(&self) -> Result<StoreKeys, StorageError> {
        self.list_prefix(&StorePrefix::root())
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<StoreKeys, StorageError> {
        Ok(self.below(prefix)?.into_iter().map(|(key, _)| key).collect())
    }

    fn list_dir(&self, prefix: &StorePrefix) -> Result<StoreKeysPrefixes, StorageError> {
        self.refuse_unlisted()?;
        let path = self.path(prefix.as_str())?;
        let list = self.runtime.block_on(self.store.list_with_delimiter(Some(&path)));
        let Some(list) = self.found(prefix.as_str(), list)? else {
            return Ok(StoreKeysPrefixes::new(Vec::new(), Vec::new()));
        };
        let keys: BTreeSet<_> =
            list.objects.iter().filter_map(|one| self.key(&one.location)).collect();
        let folders = list
            .common_prefixes
            .iter()
            .filter_map(|path| StorePrefix::new(format!("{}/", self.key(path)?.as_str())).ok());
        let folders: BTreeSet<_> = folders.collect();
        Ok(StoreKeysPrefixes::new(keys.into_iter().collect(), folders.into_iter().collect()))
    }

    fn size_prefix(&self, prefix: &StorePrefix) -> Result<u64, StorageError> {
        Ok(self.below(prefix)?.iter().map(|(_, size)| size).sum())
    }
}

impl WritableStorageTraits for Remote {
    fn set(&self, key: &StoreKey, value: Bytes) -> Result<(), StorageError> {
        let path = self.path(key.as_str())?;
        let interrupted = async {
            while !self.interrupt.load(Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let put = self.store.put(&path, value.into());
        let ended = self.runtime.block_on(async {
            match select(pin!(put), pin!(interrupted)).await {
                Either::Left((result, _)) => Some(result),
                Either::Right(_) => None,
            }
        });
        let ended = ended.ok_or_else(|| StorageError::Other("interrupted".to_owned()))?;
        if self.found(key.as_str(), ended)?.is_none() {
            let (url, holder) = (&self.url, self.scheme.holder());
            return Err(StorageError::Other(format!("{url}: there is no such {holder}")));
        }
        Ok(())
    }

    fn set_partial_many(&self, key: &StoreKey, _: OffsetBytesIterator) -> Result<(), StorageError> {
        Err(StorageError::Unsupported(format!("{key}: parts of objects are not written")))
    }

    fn erase(&self, key: &StoreKey) -> Result<(), StorageError> {
        self.erase_many(std::slice::from_ref(key))
    }

    fn erase_many(&self, keys: &[StoreKey]) -> Result<(), StorageError> {
        let paths: Vec<_> =
            keys.iter().map(|key| self.path(key.as_str())).collect::<Result<_, _>>()?;
        let paths = stream::iter(paths.into_iter().map(Ok)).boxed();
        // The first error would end the stream, and Google's server has one for each missing object.
        let is_missing = |one: &object_store::Result<Path>| {
            matches!(one, Err(object_store::Error::NotFound { .. }))
        };
        let removed = self.store.delete_stream(paths).filter(|one| ready(!is_missing(one)));
        self.found("", self.runtime.block_on(removed.try_collect::<Vec<_>>()))?;
        Ok(())
    }

    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StorageError> {
        self.erase_many(&self.list_prefix(prefix)?)
    }

    fn supports_set_partial(&self) -> bool {
        false
    }
}

/// Runs the requests while threads of this program wait for them.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    // An error means that there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    Ok(RUNTIME.get_or_init(|| runtime))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    use object_store::aws::AmazonS3Builder;

    use super::*;
    use crate::store::answers::BoundedAnswers;

    /// The address of a server that answers every request with a head and the bytes that `body` writes.
    fn serve(length: usize, body: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> String {
        serve_as("200 OK", length, body)
    }

    fn serve_as(
        status: &'static str,
        length: usize,
        body: impl Fn(&mut TcpStream) + Send + Sync + 'static,
    ) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let body = Arc::new(body);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, body) = (stream.unwrap(), Arc::clone(&body));
                thread::spawn(move || {
                    let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                    lines.map_while(std::result::Result::ok).find(String::is_empty);
                    let head = format!("HTTP/1.1 {status}\r\nConnection: close");
                    let _ = write!(stream, "{head}\r\nContent-Length: {length}\r\n\r\n");
                    body(&mut stream);
                });
            }
        });
        format!("http://{address}")
    }

    /// A folder of a bucket at an address.
    fn bucket(address: String) -> Remote {
        let builder = AmazonS3Builder::new()
            .with_bucket_name("bucket")
            .with_endpoint(address)
            .with_skip_signature(true)
            .with_allow_http(true)
            .with_http_connector(BoundedAnswers { has_lists: true, patience: PATIENCE });
        Remote {
            store: Arc::new(builder.build().unwrap()),
            runtime: runtime().unwrap(),
            scheme: Scheme::S3,
            url: "s3://bucket/data".to_owned(),
            root: Path::from("data"),
            interrupt: Arc::default(),
            most: u64::MAX,
            patience: PATIENCE,
        }
    }

    fn read(url: &str, patience: Duration) -> std::result::Result<usize, String> {
        let key = StoreKey::new("zarr.json").unwrap();
        let remote = Remote::patient(url, patience).unwrap();
        let all = remote.get(&key).map_err(|error| error.to_string())?;
        Ok(all.map_or(0, |all| all.len()))
    }

    /// Bytes that are claimed would be allocated, and those that come be held.
    #[test]
    fn an_error_or_a_list_without_end_is_not_held() {
        let endless = |stream: &mut TcpStream| while stream.write_all(&[b'x'; 4096]).is_ok() {};
        for status in ["404 Not Found", "403 Forbidden", "400 Bad Request"] {
            let url = serve_as(status, 1 << 50, endless);
            match read(&url, PATIENCE) {
                Ok(size) => assert_eq!((size, status), (0, "404 Not Found")),
                Err(error) => assert!(error.contains("xxx") && error.len() < 100_000, "{error}"),
            }
        }
        let silent = serve_as("403 Forbidden", 1 << 50, |stream| {
            let _ = stream.write_all(b"no");
            thread::sleep(Duration::from_mins(10));
        });
        let error = read(&silent, Duration::from_secs(1)).unwrap_err();
        assert!(error.contains("403 Forbidden"), "{error}");
        let error = bucket(serve(1 << 50, endless)).list().unwrap_err().to_string();
        assert!(error.contains("more than 67108864 bytes"), "{error}");
    }

    /// A folder that comes twice would be packed twice.
    #[test]
    fn what_a_server_lists_twice_is_there_once() {
        let object = |name: &str| {
            let time = "<LastModified>2020-01-01T00:00:00.000Z</LastModified>";
            format!("<Contents><Key>data/{name}</Key>{time}<ETag>x</ETag><Size>5</Size></Contents>")
        };
        let folder =
            |name: &str| format!("<CommonPrefixes><Prefix>data/{name}/</Prefix></CommonPrefixes>");
        let all = ["readme", "readme", "zarr.json"].map(object).concat();
        let all = all + &["a", "b", "a"].map(folder).concat();
        let list =
            format!("<ListBucketResult><IsTruncated>false</IsTruncated>{all}</ListBucketResult>");
        let address = serve(list.len(), move |stream| stream.write_all(list.as_bytes()).unwrap());
        let remote = bucket(address);
        let files = ["readme", "zarr.json"].map(|name| StoreKey::new(name).unwrap());
        let below = remote.list_dir(&StorePrefix::root()).unwrap();
        assert_eq!(below.keys(), &files);
        let folders = ["a/", "b/"].map(|name| StorePrefix::new(name).unwrap());
        assert_eq!(below.prefixes(), &folders);
        assert_eq!(remote.list_prefix(&StorePrefix::root()).unwrap(), files);
        assert_eq!(remote.size_prefix(&StorePrefix::root()).unwrap(), 10);
    }

    /// A byte now and then would go on for hours: nothing but the least rate ends it.
    #[test]
    fn a_server_that_sends_less_than_the_least_rate_is_given_up() {
        let drop_by_drop = serve(1 << 30, |stream| {
            while stream.write_all(b" ").and_then(|()| stream.flush()).is_ok() {
                thread::sleep(Duration::from_millis(5));
            }
        });
        let error = read(&drop_by_drop, Duration::from_secs(1)).unwrap_err();
        let parts = ["zarr.json", "sent fewer than 20480 bytes in 1 seconds", "try again later"];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        // An answer that arrives at once is whole, however long the patience.
        let whole = serve(3 * LEAST, |stream| stream.write_all(&vec![b' '; 3 * LEAST]).unwrap());
        assert_eq!(read(&whole, Duration::from_mins(10)), Ok(3 * LEAST));
    }
}
