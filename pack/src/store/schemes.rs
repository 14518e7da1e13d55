//! The kinds of URLs at which arrays and groups may be.

use anyhow::{Context, anyhow};

use crate::error::Result;

/// The part of a URL before `://`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
    S3,
    Gs,
    Az,
}

/// All schemes, as errors list them.
pub(crate) const KNOWN: &str = "http://, https://, s3://, gs:// and az://";

/// Where output may go, as errors list it.
pub(crate) const WRITABLE: &str = "s3://BUCKET/PATH, gs://BUCKET/PATH or az://CONTAINER/PATH";

impl Scheme {
    /// The scheme of a URL, and the rest after `://`.
    pub(crate) fn of(url: &str) -> Result<(Self, &str)> {
        let (scheme, rest) = url.split_once("://").context("not a URL")?;
        let known = match scheme {
            "http" => Self::Http,
            "https" => Self::Https,
            "s3" => Self::S3,
            "gs" => Self::Gs,
            "az" => Self::Az,
            _ => return Err(anyhow!("{scheme}:// is not supported; {KNOWN} are")),
        };
        Ok((known, rest))
    }

    /// Whether a server lists its objects, reads ranges of them, and stores them.
    pub(crate) fn is_object_store(self) -> bool {
        match self {
            Self::Http | Self::Https => false,
            Self::S3 | Self::Gs | Self::Az => true,
        }
    }

    /// How a place is written.
    pub(crate) fn form(self) -> &'static str {
        match self {
            Self::Http => "http://HOST/PATH",
            Self::Https => "https://HOST/PATH",
            Self::S3 => "s3://BUCKET/PATH",
            Self::Gs => "gs://BUCKET/PATH",
            Self::Az => "az://CONTAINER/PATH",
        }
    }

    /// What holds the objects.
    pub(crate) fn holder(self) -> &'static str {
        match self {
            Self::Http | Self::Https => "host",
            Self::S3 | Self::Gs => "bucket",
            Self::Az => "container",
        }
    }
}
