//! Arrays and groups behind URLs, read from the servers that `.ci/object_store.sh` starts; what they
//! have also lies on disk, to be compared with.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::common::{Trial, contents, metadata, path, recast};
use crate::setting;
use serde_json::json;

fn on_disk(name: &str) -> String {
    format!("{}/{name}", setting("RECAST_TEST_FILES"))
}

/// A path on all servers; the last one is the web server's.
fn urls(name: &str) -> [String; 4] {
    ["RECAST_TEST_S3", "RECAST_TEST_GS", "RECAST_TEST_AZ", "RECAST_TEST_HTTP"]
        .map(|server| format!("{}/{name}", setting(server)))
}

/// A place in a folder, also as an argument.
fn place(trial: &Trial, name: &str) -> (PathBuf, String) {
    let place = trial.place(name);
    let text = path(&place);
    (place, text)
}

#[test]
fn arrays_are_read_as_from_disk() {
    for name in ["old.zarr", "group.zarr/inner/field", "group.zarr/x/"] {
        let expected = recast(&["cat", &on_disk(name)]).succeeds();
        assert!(!expected.is_empty());
        for url in urls(name) {
            assert_eq!(recast(&["cat", &url]).succeeds(), expected, "{url}");
            let info = |place: &str| recast(&["info", "--json", place]).reports();
            assert_eq!(info(&url)["codecs"], info(&on_disk(name))["codecs"], "{url}");
        }
    }
}

#[test]
fn arrays_are_packed_unpacked_compared_and_verified() {
    let input = on_disk("group.zarr/inner/field");
    for url in urls("group.zarr/inner/field") {
        let trial = Trial::empty();
        let (from_disk, from_url) = (place(&trial, "disk"), place(&trial, "url"));
        let pack = |input: &str, output: &str| {
            recast(&["pack", "-e", "0.01", "--json", input, output]).reports()
        };
        let local = pack(&input, &from_disk.1);
        let remote = pack(&url, &from_url.1);
        assert_eq!(remote["codecs"], local["codecs"]);
        assert_eq!(contents(&from_url.0), contents(&from_disk.0));
        // A web server does not tell the size of what it has.
        let stored = if url.starts_with("http") {
            json!(null)
        } else {
            local["bytes"]["source_stored"].clone()
        };
        assert_eq!(remote["bytes"]["source_stored"], stored);

        recast(&["verify", "--atol", "0.01", &url, &from_url.1]).succeeds();
        recast(&["verify", "--atol", "0.0001", &url, &from_url.1]).fails(1);
        let compared = recast(&["compare", "--json", &url, &input]).reports();
        assert_eq!(compared["error"]["max"], 0.0, "{compared}");
        let unpacked = place(&trial, "unpacked");
        recast(&["unpack", &url, &unpacked.1]).succeeds();
        assert_eq!(recast(&["cat", &unpacked.1]).succeeds(), recast(&["cat", &url]).succeeds());
    }
}

#[test]
fn arrays_are_migrated() {
    for url in urls("old.zarr") {
        let trial = Trial::empty();
        let output = place(&trial, "new");
        let report = recast(&["migrate", "--json", &url, &output.1]).reports();
        assert_eq!(report["metadata_only"], true, "{report}");
        let expected = recast(&["cat", &on_disk("old.zarr")]).succeeds();
        assert_eq!(recast(&["cat", &output.1]).succeeds(), expected);
        let error = recast(&["migrate", "--in-place", &url]).fails(1);
        assert!(error.contains("name an OUTPUT"), "{error}");
    }
}

#[test]
fn a_group_is_packed_where_its_arrays_can_be_found_out() {
    let trial = Trial::empty();
    let pack = |input: &str, output: &str| recast(&["pack", "-e", "0.01", input, output]);
    let local = place(&trial, "local");
    pack(&on_disk("group.zarr"), &local.1).succeeds();
    for (number, url) in urls("group.zarr").iter().enumerate() {
        let output = place(&trial, &number.to_string());
        let report = String::from_utf8(pack(url, &output.1).succeeds()).unwrap();
        // A web server does not tell the size of what it has.
        let is_unknown = url.starts_with("http");
        assert_eq!(report.matches("unknown -> ").count() > 1, is_unknown, "{report}");
        assert!(!report.contains(" 0 B -> "), "{report}");
        assert_eq!(contents(&output.0), contents(&local.0), "{url}");
        let codecs = metadata(&output.0.join("inner/field"))["codecs"].to_string();
        assert!(codecs.contains("cast_value"), "{codecs}");
    }
    let [s3, gs, az, http] = urls("bare.zarr");
    for (name, url) in [("s3", s3), ("gs", gs), ("az", az)] {
        pack(&url, &place(&trial, name).1).succeeds();
    }
    let error = pack(&http, &place(&trial, "http").1).fails(1);
    assert!(error.contains(&http), "{error}");
    assert!(error.contains("has no consolidated metadata; name one of its arrays"), "{error}");
}

#[test]
fn arrays_of_every_type_are_copied_from_a_server_as_from_disk() {
    let trial = Trial::empty();
    let local = place(&trial, "local");
    recast(&["pack", "-e", "0.01", &on_disk("kinds.zarr"), &local.1]).succeeds();
    for (number, url) in urls("kinds.zarr").iter().enumerate() {
        let output = place(&trial, &number.to_string());
        recast(&["pack", "-e", "0.01", url, &output.1]).succeeds();
        assert_eq!(contents(&output.0), contents(&local.0), "{url}");
    }
}

#[test]
fn groups_behind_urls_are_read_as_from_disk() {
    let trial = Trial::empty();
    for (number, url) in urls("group.zarr").iter().enumerate() {
        let expected = recast(&["cat", &on_disk("group.zarr"), "inner/field"]).succeeds();
        assert_eq!(recast(&["cat", url, "inner/field"]).succeeds(), expected, "{url}");
        let plain = place(&trial, &number.to_string());
        recast(&["unpack", url, &plain.1]).succeeds();
        recast(&["verify", url, &plain.1]).succeeds();
        let info = recast(&["info", "--json", url]).reports();
        assert_eq!(info["arrays"][0]["array"], "inner/field", "{info}");
    }
}

#[test]
fn what_cannot_be_read_is_one_line_with_the_url_and_soon() {
    let start = Instant::now();
    let fails = |url: &str, reason: &str| {
        let error = recast(&["cat", url]).fails(1);
        assert!(error.contains(url) && error.contains(reason), "{url}: {error}");
    };
    for url in urls("nothing.zarr") {
        fails(&url, "no array here");
    }
    for url in ["s3://no-such-bucket/array", "gs://no-such-bucket/array", "az://no-such/array"] {
        fails(url, "no array here");
    }
    fails("s3:///array", "no bucket; write s3://BUCKET/PATH");
    fails("gs:///array", "no bucket; write gs://BUCKET/PATH");
    fails("az:///array", "no container; write az://CONTAINER/PATH");
    fails(
        "ftp://host/array",
        "ftp:// is not supported; http://, https://, s3://, gs:// and az:// are",
    );
    // Nobody listens on port 1.
    fails("http://127.0.0.1:1/array", "refused");
    assert!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
}

#[test]
fn a_server_with_tls_is_trusted_if_its_certificate_is() {
    let url = format!("{}/old.zarr", setting("RECAST_TEST_HTTPS"));
    let expected = recast(&["cat", &on_disk("old.zarr")]).succeeds();
    let cat = || recast(&["cat", &url]);
    let authority = setting("RECAST_TEST_CA");
    assert_eq!(cat().with("SSL_CERT_FILE", &authority).succeeds(), expected);
    let start = Instant::now();
    let error = cat().without("SSL_CERT_FILE").fails(1);
    for part in [url.as_str(), "invalid peer certificate", "SSL_CERT_FILE"] {
        assert!(error.contains(part), "{error}");
    }
    // The certificate is for localhost, so another name of this machine is not the server's.
    let other = url.replace("localhost", "127.0.0.1");
    let error = recast(&["cat", &other]).with("SSL_CERT_FILE", &authority).fails(1);
    assert!(error.contains(&other) && error.contains("certificate not valid"), "{error}");
    assert!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
}

#[test]
fn credentials_are_those_of_the_environment() {
    let [url, ..] = urls("old.zarr");
    let without = |name: &str| recast(&["cat", &url]).without(name);
    let error = without("AWS_ACCESS_KEY_ID").fails(1);
    assert!(error.contains(&url) && error.contains("no credentials"), "{error}");
    let error = without("AWS_ALLOW_HTTP").fails(1);
    assert!(error.contains(&url) && error.contains("AWS_ALLOW_HTTP"), "{error}");
}

#[test]
fn credentials_of_google_are_those_of_the_environment() {
    let [_, url, ..] = urls("old.zarr");
    let expected = recast(&["cat", &on_disk("old.zarr")]).succeeds();
    // Nobody has logged in to Google in this home.
    let home = Trial::empty();
    let home = path(&home.input());
    let cat = || recast(&["cat", &url]).without("STORAGE_EMULATOR_HOST").with("HOME", &home);
    let host = setting("STORAGE_EMULATOR_HOST");
    let place = format!("http://{host}");

    let error = cat().fails(1);
    for part in [&url, "no credentials", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SKIP_SIGNATURE"]
    {
        assert!(error.contains(part), "{error}");
    }
    let error = cat().with("GOOGLE_APPLICATION_CREDENTIALS", "/no/such/file").fails(1);
    assert!(error.contains(&url) && error.contains("/no/such/file"), "{error}");
    let error = cat().with("GOOGLE_SKIP_SIGNATURE", "false").fails(1);
    assert!(error.contains("no credentials"), "{error}");

    let anonymous = || cat().with("GOOGLE_SKIP_SIGNATURE", "true").with("GOOGLE_BASE_URL", &place);
    let error = anonymous().fails(1);
    assert!(error.contains("GOOGLE_BASE_URL is") && error.contains("GOOGLE_ALLOW_HTTP"), "{error}");
    assert_eq!(anonymous().with("GOOGLE_ALLOW_HTTP", "true").succeeds(), expected);
    // An emulator may be named with its scheme.
    assert_eq!(cat().with("STORAGE_EMULATOR_HOST", &place).succeeds(), expected);
}

#[test]
fn credentials_of_azure_are_those_of_the_environment() {
    let [.., url, _] = urls("old.zarr");
    let expected = recast(&["cat", &on_disk("old.zarr")]).succeeds();
    let connection = setting("AZURE_STORAGE_CONNECTION_STRING");
    let part = |name: &str| {
        let part = connection.split(';').find_map(|part| part.strip_prefix(&format!("{name}=")));
        part.unwrap().to_owned()
    };
    let (account, key, place) = (part("AccountName"), part("AccountKey"), part("BlobEndpoint"));
    let cat = |url: &str| recast(&["cat", url]).without("AZURE_STORAGE_CONNECTION_STRING");

    let error = cat(&url).fails(1);
    assert!(error.contains(&url) && error.contains("no account"), "{error}");
    for name in ["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"] {
        let cat = |url: &str| cat(url).with(name, &account).with("AZURE_STORAGE_ENDPOINT", &place);
        let error = cat(&url).fails(1);
        for part in [&url, "no credentials", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_SKIP_SIGNATURE"] {
            assert!(error.contains(part), "{error}");
        }
        for name in ["AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_KEY"] {
            assert_eq!(cat(&url).with(name, &key).succeeds(), expected, "{name}");
        }
        let error = cat(&url).with("AZURE_STORAGE_KEY", &key).without("AZURE_ALLOW_HTTP").fails(1);
        assert!(
            error.contains("AZURE_STORAGE_ENDPOINT") && error.contains("without TLS"),
            "{error}"
        );
        // Of another account.
        let error = cat(&url).with("AZURE_STORAGE_KEY", "b3RoZXI=").fails(1);
        assert!(error.contains("are the credentials those of the owner"), "{error}");

        let public = url.replace("az://container", "az://public");
        let anonymous = |url: &str| cat(url).with("AZURE_SKIP_SIGNATURE", "true");
        assert_eq!(anonymous(&public).succeeds(), expected);
        anonymous(&url).fails(1);
    }
}
