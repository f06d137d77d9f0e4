//! Client authentication with a private key (RFC 7523), which the crate supports only with a second crypto library:
//! a token for `client_credentials`, asked for with a signed assertion.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rmcp::transport::auth::AuthorizationMetadata;
use rustls::SignatureScheme;
use rustls::crypto::ring::sign;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};

use provider::wire::http;

/// Seconds an assertion is valid.
const LIFETIME: u64 = 300;

/// With the private key in the file `path`; for a server and its scopes.
pub async fn token(
    path: &str,
    metadata: &AuthorizationMetadata,
    client_id: &str,
    (resource, scope): &(&str, String),
) -> Result<Value, String> {
    let pem = tokio::fs::read(path).await.map_err(|error| format!("{path}: {error}"))?;
    let endpoint = metadata.token_endpoint.as_str();
    let assertion = signed(client_id, metadata.issuer.as_deref().unwrap_or(endpoint), &pem)?;
    let form = [
        ("grant_type", "client_credentials"),
        ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
        ("client_assertion", &assertion),
        ("resource", resource),
        ("scope", scope),
    ];
    let filled: Vec<(&str, &str)> = form.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    match http::ask(endpoint, Some(&filled)).await? {
        (200..300, token) if token.is_object() => Ok(token),
        (status, answer) => Err(format!("{endpoint} refused a token (HTTP {status}): {answer}")),
    }
}

fn signed(client_id: &str, audience: &str, pem: &[u8]) -> Result<String, String> {
    let key = PrivateKeyDer::from_pem_slice(pem).map_err(|error| format!("the private key: {error}"))?;
    let key = sign::any_supported_type(&key).map_err(|error| format!("the private key: {error}"))?;
    let algorithms =
        [(SignatureScheme::ECDSA_NISTP256_SHA256, "ES256"), (SignatureScheme::RSA_PKCS1_SHA256, "RS256")];
    let signer = algorithms.iter().find_map(|(scheme, name)| Some((key.choose_scheme(&[*scheme])?, *name)));
    let (signer, algorithm) = signer.ok_or("the private key is neither for ES256 nor for RS256")?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let header = json!({"alg": algorithm, "typ": "client-authentication+jwt"});
    let claims = json!({
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "iat": now,
        "exp": now + LIFETIME,
        "jti": format!("{:032x}", fastrand::u128(..)),
    });
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", encode(&header), encode(&claims));
    let signature = signer.sign(text.as_bytes()).map_err(|error| error.to_string())?;
    let signature = match algorithm {
        "ES256" => fixed_size(&signature).ok_or("the signature has an unexpected format")?,
        _ => signature,
    };
    Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

/// The two numbers of an ECDSA signature in 32 bytes each, from their ASN.1 form: a sequence of two integers.
fn fixed_size(der: &[u8]) -> Option<Vec<u8>> {
    let mut rest = der.strip_prefix(&[0x30])?.get(1..)?;
    let mut out = Vec::with_capacity(64);
    for _ in 0..2 {
        let (&length, after) = rest.strip_prefix(&[0x02])?.split_first()?;
        let (number, after) = after.split_at_checked(length.into())?;
        let number = number.strip_prefix(&[0]).unwrap_or(number);
        out.resize(out.len() + 32_usize.checked_sub(number.len())?, 0);
        out.extend_from_slice(number);
        rest = after;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_of_fixed_size() {
        let der = [0x30, 0x08, 0x02, 0x02, 0x00, 0x81, 0x02, 0x02, 0x12, 0x34];
        let fixed = fixed_size(&der).unwrap_or_default();
        assert_eq!((fixed.len(), fixed[31], &fixed[62..]), (64, 0x81, &[0x12, 0x34][..]));
        assert_eq!(fixed_size(&[0x30, 0x02, 0x02]), None);
    }
}
