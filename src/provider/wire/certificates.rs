//! Whom TLS trusts: the system's certificates, or what `SSL_CERT_FILE` and `SSL_CERT_DIR` name instead; also those in
//! `NODE_EXTRA_CA_CERTS`, which many companies set; where the system has none, Mozilla's as of the build.

use std::path::Path;

use reqwest::{Certificate, Client, ClientBuilder};

use base::file;

const OWN: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];
const EXTRA: &str = "NODE_EXTRA_CA_CERTS";
const MAX_BYTES: u64 = 4 * 1024 * 1024;

pub enum Unusable {
    /// What the user's setting names; a sentence.
    Missing(String),
    Build(reqwest::Error),
}

/// A client as `configured`. Loading certificates takes milliseconds.
pub fn client(configured: impl Fn() -> ClientBuilder) -> Result<Client, Unusable> {
    let setting = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    for name in OWN {
        if let Some(path) = setting(name).filter(|path| !Path::new(path).exists()) {
            let message = format!(
                "{name} names {}, which does not exist; correct or unset the variable",
                Path::new(&path).display()
            );
            return Err(Unusable::Missing(message));
        }
    }
    // As Node does, without those that can't be read.
    let extra = setting(EXTRA).and_then(|path| file::read(Path::new(&path), MAX_BYTES).ok());
    let extra = extra.and_then(|(pem, _)| Certificate::from_pem_bundle(&pem).ok()).unwrap_or_default();
    let build =
        |more: Vec<Certificate>| configured().tls_certs_merge(extra.iter().cloned().chain(more)).build();
    build(Vec::new())
        .or_else(
            |error| {
                if OWN.iter().any(|name| setting(name).is_some()) { Err(error) } else { build(bundled()) }
            },
        )
        .map_err(Unusable::Build)
}

fn bundled() -> Vec<Certificate> {
    let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter();
    roots.filter_map(|root| Certificate::from_der(root).ok()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::wire::http;

    #[test]
    fn the_bundled_roots_suffice() {
        let roots = bundled();
        assert!(roots.len() > 100);
        http::client_builder().tls_certs_only(roots).build().unwrap();
    }
}
