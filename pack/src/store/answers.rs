//! Answers of servers that are no objects: `object_store` holds errors and lists as a whole, as long as a server says that they are.

use std::io;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::TryStreamExt;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService, ReqwestConnector,
};

/// The most bytes of an error that are read; few of them are shown.
const MOST_OF_ERROR: usize = 64 << 10;

/// The most bytes of an answer that names objects: a thousand of them, as a rule.
const MOST_OF_LIST: usize = 64 << 20;

/// Bounds the answers of a server, but for objects, which are read piece by piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoundedAnswers {
    /// Whether the server lists its objects.
    pub(super) has_lists: bool,
    /// The time that an error may take.
    pub(super) patience: Duration,
}

impl HttpConnector for BoundedAnswers {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(BoundedClient { client, bounds: *self }))
    }
}

#[derive(Debug)]
struct BoundedClient {
    client: HttpClient,
    bounds: BoundedAnswers,
}

#[async_trait]
impl HttpService for BoundedClient {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let BoundedAnswers { has_lists, patience } = self.bounds;
        let is_list = request.uri().query().is_some_and(is_list);
        let is_of_object = request.method() == "GET" && !(has_lists && is_list);
        let (head, body) = self.client.execute(request).await?.into_parts();
        if !head.status.is_success() {
            let mut text = Vec::new();
            // The text that has arrived by then is the server's answer.
            let read = gather(body, MOST_OF_ERROR, &mut text);
            let _is_whole = tokio::time::timeout(patience, read).await;
            let text = String::from_utf8_lossy(&text).into_owned();
            return Ok(HttpResponse::from_parts(head, text.into()));
        }
        if is_of_object {
            return Ok(HttpResponse::from_parts(head, body));
        }
        let mut list = Vec::new();
        if !gather(body, MOST_OF_LIST, &mut list).await? {
            let text = format!("the server's answer has more than {MOST_OF_LIST} bytes");
            return Err(HttpError::new(HttpErrorKind::Decode, io::Error::other(text)));
        }
        Ok(HttpResponse::from_parts(head, list.into()))
    }
}

/// Whether a query asks for a list: of S3 and Google Cloud, or of Azure. A signature may hold any letters.
fn is_list(query: &str) -> bool {
    query.split('&').any(|part| part.starts_with("list-type=") || part == "comp=list")
}

/// Reads a body up to a limit. Whether that is all of it.
async fn gather(body: HttpResponseBody, most: usize, all: &mut Vec<u8>) -> Result<bool, HttpError> {
    let mut parts = body.bytes_stream();
    while let Some(part) = parts.try_next().await? {
        let rest = most.saturating_sub(all.len());
        all.extend(part.iter().take(rest));
        if part.len() > rest {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_told_from_an_object_by_its_query() {
        for (query, expected) in [
            ("list-type=2&prefix=data%2F", true),
            ("restype=container&comp=list", true),
            ("sv=2024&sig=alistb%3D", false),
            ("versionId=list", false),
        ] {
            assert_eq!(is_list(query), expected, "{query}");
        }
    }
}
