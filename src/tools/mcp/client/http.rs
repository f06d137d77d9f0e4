//! HTTP for signing in, with the same client as everything else.

use hyper::http::{Request, Response, header};
use reqwest::{Client, Url};
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest,
};

use provider::wire::http;
use provider::wire::http::Body;

const MAX_BYTES: usize = 1024 * 1024;
const MAX_REDIRECTS: usize = 5;
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

pub fn client(url: &str) -> Result<Client, String> {
    let url = http::parse(url).map_err(|error| error.to_string())?;
    http::build_client(&url).map_err(|error| error.to_string())
}

pub struct SignInHttp {
    /// Removes a document's `issuer` if it has the same origin as the document.
    pub own_issuer: bool,
}

impl OAuthHttpClient for SignInHttp {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let url = request.request.uri().to_string();
            let follow = request.redirect_policy == OAuthHttpRedirectPolicy::Follow;
            let sent = tokio::time::timeout(PATIENCE, send(request.request, follow));
            let answer = sent.await.map_err(|_| OAuthHttpClientError::from("no answer in time"))??;
            Ok(if self.own_issuer { without_own_issuer(answer, &url) } else { answer })
        })
    }
}

async fn send(request: Request<Vec<u8>>, follow: bool) -> Result<Response<Vec<u8>>, OAuthHttpClientError> {
    let mut request = reqwest::Request::try_from(request)?;
    for _ in 0..=MAX_REDIRECTS {
        let again = request.try_clone();
        let response = client(request.url().as_str())?.execute(request).await?;
        let target = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        let target = target.and_then(|target| response.url().join(target).ok());
        match (again, target) {
            // Follow redirects only within the same origin.
            (Some(mut again), Some(target))
                if follow
                    && response.status().is_redirection()
                    && target.origin() == response.url().origin() =>
            {
                *again.url_mut() = target;
                request = again;
            }
            _ => return whole(response).await,
        }
    }
    Err("too many redirects".into())
}

pub fn same_origin(one: &str, other: &str) -> bool {
    let origin = |url: &str| Url::parse(url).ok().map(|url| url.origin());
    origin(one).is_some_and(|one| Some(one) == origin(other))
}

fn without_own_issuer(answer: Response<Vec<u8>>, url: &str) -> Response<Vec<u8>> {
    answer.map(|body| match serde_json::from_slice::<serde_json::Value>(&body) {
        Ok(mut document) if document["issuer"].as_str().is_some_and(|issuer| same_origin(issuer, url)) => {
            document.as_object_mut().map(|document| document.shift_remove("issuer"));
            document.to_string().into_bytes()
        }
        _ => body,
    })
}

async fn whole(response: reqwest::Response) -> Result<Response<Vec<u8>>, OAuthHttpClientError> {
    let mut whole = Response::builder().status(response.status());
    for (name, value) in response.headers() {
        whole = whole.header(name, value);
    }
    let mut bytes = Vec::new();
    let mut body = Body::new(response);
    while let Some(chunk) = body.chunk().await? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_BYTES {
            return Err("the answer is too large".into());
        }
    }
    Ok(whole.body(bytes)?)
}
