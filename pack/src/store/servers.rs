//! The servers behind URLs: how each is reached, with which of the environment's settings, and the meaning of its errors.

use std::error::Error;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientConfigKey, ClientOptions, ObjectStore, RetryConfig,
    StaticCredentialProvider,
};

use super::answers::BoundedAnswers;
use super::schemes::Scheme;
use crate::error::Result;

type Server = Arc<dyn ObjectStore>;

/// The server of a URL, and the prefix of its keys there; requests nothing yet.
pub(super) fn server(
    scheme: Scheme,
    url: &str,
    rest: &str,
    patience: Duration,
) -> Result<(Server, Path)> {
    let server = match scheme {
        Scheme::Http | Scheme::Https => return Ok((http(url, patience)?, Path::default())),
        Scheme::S3 => s3,
        Scheme::Gs => gs,
        Scheme::Az => az,
    };
    let (holder, path) = rest.split_once('/').unwrap_or((rest, ""));
    if holder.is_empty() {
        bail!("no {}; write {}", scheme.holder(), scheme.form());
    }
    Ok((server(holder, patience)?, Path::parse(path.trim_end_matches('/'))?))
}

// Without one of the settings that the functions below look for, a client would ask the machine's cloud for credentials, and most
// machines have none.

/// The server of a cloud's builder, whose keys for settings have this type.
macro_rules! built {
    ($patience:ident, $builder:expr, $keys:ident) => {{
        let answers = BoundedAnswers { has_lists: true, patience: $patience };
        let mut builder = $builder.with_retry(retries($patience)).with_http_connector(answers);
        for (key, value) in timeouts($patience) {
            let key = $keys::Client(key);
            if builder.get_config_value(&key).is_none() {
                builder = builder.with_config(key, value);
            }
        }
        shared(builder.build())
    }};
}

fn s3(bucket: &str, patience: Duration) -> Result<Server> {
    const CREDENTIALS: [AmazonS3ConfigKey; 6] = [
        AmazonS3ConfigKey::AccessKeyId,
        AmazonS3ConfigKey::WebIdentityTokenFile,
        AmazonS3ConfigKey::ContainerCredentialsRelativeUri,
        AmazonS3ConfigKey::ContainerCredentialsFullUri,
        AmazonS3ConfigKey::MetadataEndpoint,
        AmazonS3ConfigKey::SkipSignature,
    ];
    let builder = AmazonS3Builder::from_env();
    let setting = |key| builder.get_config_value(&key);
    if !CREDENTIALS.into_iter().any(|key| is_on(setting(key))) {
        bail!("no credentials; set {}", credentials(Scheme::S3));
    }
    let allow_http = setting(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp));
    refuse_plain("AWS", "ENDPOINT_URL", setting(AmazonS3ConfigKey::Endpoint), allow_http)?;
    built!(patience, builder.with_bucket_name(bucket), AmazonS3ConfigKey)
}

fn gs(bucket: &str, patience: Duration) -> Result<Server> {
    const CREDENTIALS: [GoogleConfigKey; 5] = [
        GoogleConfigKey::ServiceAccount,
        GoogleConfigKey::ServiceAccountKey,
        GoogleConfigKey::ApplicationCredentials,
        GoogleConfigKey::BearerToken,
        GoogleConfigKey::SkipSignature,
    ];
    const FILES: [(&str, GoogleConfigKey); 2] = [
        ("GOOGLE_SERVICE_ACCOUNT", GoogleConfigKey::ServiceAccount),
        ("GOOGLE_APPLICATION_CREDENTIALS", GoogleConfigKey::ApplicationCredentials),
    ];
    // Where the machine's own role is asked for, if at all.
    const ROLES: [&str; 3] = ["GCE_METADATA_HOST", "GCE_METADATA_ROOT", "GCE_METADATA_IP"];
    let mut builder = GoogleCloudStorageBuilder::from_env();
    if let Some(emulator) = variable("STORAGE_EMULATOR_HOST") {
        let host = if emulator.contains("://") { emulator } else { format!("http://{emulator}") };
        builder = builder.with_base_url(host.trim_end_matches('/')).with_skip_signature(true);
    } else {
        let setting = |key| builder.get_config_value(&key);
        if !CREDENTIALS.into_iter().any(|key| is_on(setting(key)))
            && !ROLES.into_iter().any(|name| is_on(variable(name)))
            && !is_logged_in_to_google()
        {
            bail!("no credentials; set {}", credentials(Scheme::Gs));
        }
        for (name, key) in FILES {
            if let Some(file) = setting(key) {
                File::open(&file).with_context(|| format!("{name} is {file}"))?;
            }
        }
        // The client itself allows it.
        let allow_http = variable("GOOGLE_ALLOW_HTTP");
        refuse_plain("GOOGLE", "BASE_URL", setting(GoogleConfigKey::BaseUrl), allow_http)?;
    }
    if is_on(builder.get_config_value(&GoogleConfigKey::SkipSignature)) {
        // The client would ask for some as it writes.
        let none = StaticCredentialProvider::new(GcpCredential { bearer: String::new() });
        builder = builder.with_credentials(Arc::new(none));
    }
    built!(patience, builder.with_bucket_name(bucket), GoogleConfigKey)
}

/// Whether `gcloud auth application-default login` has left credentials, which the client reads.
fn is_logged_in_to_google() -> bool {
    let (home, file) = if cfg!(windows) {
        ("APPDATA", "gcloud/application_default_credentials.json")
    } else {
        ("HOME", ".config/gcloud/application_default_credentials.json")
    };
    variable(home).is_some_and(|home| PathBuf::from(home).join(file).exists())
}

fn az(container: &str, patience: Duration) -> Result<Server> {
    const CREDENTIALS: [AzureConfigKey; 9] = [
        AzureConfigKey::AccessKey,
        AzureConfigKey::SasKey,
        AzureConfigKey::Token,
        AzureConfigKey::ClientSecret,
        AzureConfigKey::FederatedTokenFile,
        AzureConfigKey::MsiEndpoint,
        AzureConfigKey::UseAzureCli,
        AzureConfigKey::UseEmulator,
        AzureConfigKey::SkipSignature,
    ];
    // Names that Azure's own programs have for settings, or parts of a connection string, which the client does not know.
    const OTHERS: [(&str, &str, AzureConfigKey); 5] = [
        ("AZURE_STORAGE_ACCOUNT", "AccountName", AzureConfigKey::AccountName),
        ("AZURE_STORAGE_KEY", "AccountKey", AzureConfigKey::AccessKey),
        ("", "SharedAccessSignature", AzureConfigKey::SasKey),
        ("", "BlobEndpoint", AzureConfigKey::Endpoint),
        ("", "UseDevelopmentStorage", AzureConfigKey::UseEmulator),
    ];
    let mut builder = MicrosoftAzureBuilder::from_env();
    let connection = variable("AZURE_STORAGE_CONNECTION_STRING").unwrap_or_default();
    for (name, part, key) in OTHERS {
        let of_part = |one: &str| Some(one.split_once('=').filter(|it| it.0 == part)?.1.to_owned());
        let value = variable(name).or_else(|| connection.split(';').find_map(of_part));
        let is_set = is_on(builder.get_config_value(&key));
        if let Some(value) = value.filter(|_| !is_set) {
            builder = builder.with_config(key, value);
        }
    }
    let setting = |key| builder.get_config_value(&key);
    let is_emulator = is_on(setting(AzureConfigKey::UseEmulator));
    if !is_emulator && setting(AzureConfigKey::AccountName).is_none() {
        bail!("no account; set AZURE_STORAGE_ACCOUNT_NAME or AZURE_STORAGE_CONNECTION_STRING");
    }
    if !CREDENTIALS.into_iter().any(|key| is_on(setting(key))) {
        bail!("no credentials; set {}", credentials(Scheme::Az));
    }
    let allow_http = setting(AzureConfigKey::Client(ClientConfigKey::AllowHttp));
    refuse_plain("AZURE", "STORAGE_ENDPOINT", setting(AzureConfigKey::Endpoint), allow_http)?;
    built!(patience, builder.with_container_name(container), AzureConfigKey)
}

fn http(url: &str, patience: Duration) -> Result<Server> {
    // As `timeouts`, without one for the whole.
    let options = ClientOptions::new()
        .with_allow_http(true)
        .with_timeout_disabled()
        .with_read_timeout(patience);
    let answers = BoundedAnswers { has_lists: false, patience };
    let builder = HttpBuilder::new().with_url(without_slash(url)).with_http_connector(answers);
    shared(builder.with_client_options(options).with_retry(retries(patience)).build())
}

/// A URL whose path does not end in a slash.
fn without_slash(url: &str) -> String {
    let (path, query) = url.split_at(url.find('?').unwrap_or(url.len()));
    format!("{}{query}", path.trim_end_matches('/'))
}

fn shared<S: ObjectStore>(server: object_store::Result<S>) -> Result<Server> {
    match server {
        Ok(server) => Ok(Arc::new(server)),
        Err(error) => Err(anyhow!(deepest(&error).to_string())),
    }
}

/// The time after which a server that is silent has failed.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// A chunk may take long, but must not stall for longer than `patience`.
fn timeouts(patience: Duration) -> [(ClientConfigKey, String); 2] {
    let patience = format!("{} ms", patience.as_millis());
    [(ClientConfigKey::Timeout, "1 hour".to_owned()), (ClientConfigKey::ReadTimeout, patience)]
}

/// A few retries: a short failure is not an error, and a server that is down is reported soon. A server that was silent once
/// is not asked again, for that took nearly all of `patience`.
fn retries(patience: Duration) -> RetryConfig {
    let backoff = BackoffConfig { max_backoff: Duration::from_secs(5), ..BackoffConfig::default() };
    RetryConfig { backoff, max_retries: 4, retry_timeout: patience * 19 / 20 }
}

/// A variable of the environment that is not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whether a setting exists and does not mean no.
fn is_on(value: Option<String>) -> bool {
    value.is_some_and(|value| !value.is_empty() && value != "false")
}

/// Refuses an endpoint without TLS, unless a setting of the same cloud allows it.
fn refuse_plain(
    cloud: &str,
    name: &str,
    endpoint: Option<String>,
    allow_http: Option<String>,
) -> Result<()> {
    let endpoint = endpoint.unwrap_or_default();
    if endpoint.starts_with("http://") && allow_http.is_none_or(|value| value != "true") {
        bail!("{cloud}_{name} is {endpoint}, without TLS; {cloud}_ALLOW_HTTP=true allows that");
    }
    Ok(())
}

/// The settings that give access.
fn credentials(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Http | Scheme::Https => "a query in the URL",
        Scheme::S3 => {
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true for a public \
             bucket"
        }
        Scheme::Gs => {
            "GOOGLE_APPLICATION_CREDENTIALS, or GOOGLE_SKIP_SIGNATURE=true for a public bucket"
        }
        Scheme::Az => {
            "AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN, or AZURE_SKIP_SIGNATURE=true for \
             a public container"
        }
    }
}

/// The cause of a server's error, without the list of retries.
pub(super) fn reason(scheme: Scheme, error: &object_store::Error) -> String {
    use object_store::Error::{PermissionDenied, Unauthenticated};
    let last = deepest(error);
    let hint = match error {
        PermissionDenied { .. } | Unauthenticated { .. } => format!(
            " (are the credentials those of the owner? They are taken from {})",
            credentials(scheme)
        ),
        _ if is_untrusted(last) => {
            " (the certificate of the server is not one that this machine trusts; SSL_CERT_FILE \
             names a file with others to trust)"
                .to_owned()
        }
        _ => String::new(),
    };
    format!("{}{hint}", of_server(&last.to_string()))
}

fn deepest(error: &object_store::Error) -> &(dyn Error + 'static) {
    let mut last: &(dyn Error + 'static) = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last
}

/// A server's message, without the document around it.
fn of_server(text: &str) -> String {
    let part = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        let (part, _) = rest.split_once(&format!("</{tag}>"))?;
        // Azure adds the request's number and time, in lines of their own.
        part.lines().next()
    };
    match part("Code").zip(part("Message")) {
        Some((code, message)) => format!("{code}: {message}"),
        None => text.to_owned(),
    }
}

/// Whether a certificate was refused because of its issuer.
fn is_untrusted(error: &(dyn Error + 'static)) -> bool {
    use rustls::{CertificateError::UnknownIssuer, Error::InvalidCertificate};
    // The error is inside errors of the connection, which do not return it as their source.
    let mut error = error;
    while let Some(inner) = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        error = inner;
    }
    let error = error.downcast_ref::<rustls::Error>();
    error.is_some_and(|error| *error == InvalidCertificate(UnknownIssuer))
}
