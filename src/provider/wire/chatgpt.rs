//! Sign in with ChatGPT for open-source tools: the user's plan pays for requests. Facts: developers.openai.com/siwc, pages sign-in,
//! profiles-and-sessions, models-and-inference, errors-and-recovery and preview-limitations of token-sharing-open-source, and OpenAI's
//! own kit (github.com/openai/sign-in-with-chatgpt-devkit, packages/local), read on 27 November 2026. The program registers itself
//! with the first sign-in; later ones reuse the client. Errors complete a sentence.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::http;
use base::config::provider::saved_keys;
use base::config::provider::vendors::Vendor;
use base::file::{self, FileError};
use base::folder::update::update;
use base::process::task;
use base::secret::{self, Secret};
use base::{clock, text};

const RESOURCE: &str = "https://api.openai.com/v1";
const SCOPES: &str = "openid profile email offline_access resource.invoke chatgpt.tokens.use.direct";
/// Without this scope, a sign-in only identifies the user.
const PLAN: &str = "chatgpt.tokens.use.direct";
const NEW_CLIENT: &str = "dynamic_agent_client";
pub const PATH: &str = "/auth/callback";

/// Renew a token this many seconds before it expires. Much earlier, the server refuses, and the refresh token is spent.
const RENEWAL_S: u64 = 90;
const SKEW_S: u64 = 5;
/// Error codes of a sign-in that can't be renewed.
const OVER: [&str; 3] = ["invalid_grant", "refresh_token", "token_expired"];

/// The stored account. Without tokens it is a registration, which the next sign-in reuses.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Account {
    /// Id of this installation; never changes.
    host: String,
    client: String,
    subject: String,
    email: String,
    /// Seconds since the Unix epoch.
    until: u64,
    tokens: Option<Tokens>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Tokens {
    access_token: String,
    /// Each can be used only once.
    refresh_token: String,
    expires_in: u64,
    #[serde(default)]
    id_token: String,
    #[serde(default)]
    scope: String,
}

impl Account {
    fn read(path: &Path) -> Result<Self, String> {
        let read = match file::read_own(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| error.to_string()),
            Err(FileError::NotFound) => Ok(Self::default()),
            Err(error) => Err(error.to_string()),
        };
        read.map_err(|error| format!("{} can't be used: {error}; delete it", path.display()))
    }

    fn write(&self, path: &Path) -> Result<(), String> {
        let bytes = serde_json::to_vec_pretty(self).map_err(io::Error::other);
        let written = bytes.and_then(|bytes| update(path, |_| Ok(Some(bytes.clone()))));
        written.map_err(|error| format!("{} can't be written: {error}", path.display()))
    }

    fn take(&mut self, answer: Value) -> Result<(), String> {
        let tokens: Tokens = serde_json::from_value(answer).map_err(|_| "its answer has no tokens")?;
        for token in [&tokens.access_token, &tokens.refresh_token, &tokens.id_token] {
            secret::add_token(token);
        }
        (self.until, self.tokens) = (now_s() + tokens.expires_in, Some(tokens));
        Ok(())
    }

    fn usable(&self, refused: Option<&Secret>) -> Option<Secret> {
        let token = Secret::new(&self.tokens.as_ref()?.access_token);
        (Some(&token) != refused && now_s() + RENEWAL_S < self.until).then_some(token)
    }
}

fn now_s() -> u64 {
    clock::now_ms() / 1_000
}

#[derive(Deserialize)]
struct Issuer {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    revocation_endpoint: String,
}

impl Issuer {
    async fn find(vendor: &Vendor) -> Result<Self, String> {
        let address = std::env::var("CHATGPT_ISSUER").unwrap_or_else(|_| vendor.account.clone());
        let (_, found) = http::ask(&format!("{address}/.well-known/openid-configuration"), None).await?;
        let found: Self = serde_json::from_value(found).map_err(|error| format!("{address}: {error}"))?;
        let services = [
            &found.authorization_endpoint,
            &found.token_endpoint,
            &found.jwks_uri,
            &found.revocation_endpoint,
        ];
        let own = |url: &&String| url.strip_prefix(&address).is_some_and(|rest| rest.starts_with('/'));
        let safe = http::parse(&address).is_ok_and(|url| url.scheme() == "https" || http::is_loopback(&url));
        if safe && found.issuer == address && services.iter().all(own) {
            return Ok(found);
        }
        Err(format!("{address} names addresses that are not its own"))
    }

    async fn tokens(&self, form: &[(&str, &str)]) -> Result<Value, String> {
        match http::ask(&self.token_endpoint, Some(form)).await? {
            (200, answer) => Ok(answer),
            (status, answer) => Err(format!("HTTP {status} {}", text::one_line(&answer.to_string(), 300))),
        }
    }

    /// The claims in the account's ID token, if this issuer signed it for this client.
    async fn verified(&self, account: &Account, nonce: Option<&str>) -> Result<Value, String> {
        let (_, keys) = http::ask(&self.jwks_uri, None).await?;
        let token = account.tokens.as_ref().map_or("", |tokens| &tokens.id_token);
        let claims = signed_claims(token, &keys).ok_or("its ID token isn't signed by it")?;
        let number = |key: &str| claims[key].as_u64().unwrap_or_default();
        let client = Value::from(&*account.client);
        let fits = claims["iss"] == *self.issuer
            && (claims["aud"] == client || claims["aud"] == Value::from(vec![client]))
            && number("exp") + SKEW_S > now_s()
            && (1..=now_s() + SKEW_S).contains(&number("iat"))
            && claims["sub"].as_str().is_some_and(|subject| !subject.is_empty())
            && nonce.is_none_or(|nonce| claims["nonce"] == *nonce);
        match fits {
            false => Err("its ID token is not for this sign-in".to_owned()),
            true if !account.subject.is_empty() && claims["sub"] != *account.subject => Err(format!(
                "{} signed in before; to change accounts, delete {} first",
                account.email,
                saved_keys::ACCOUNT_FILE
            )),
            true => Ok(claims),
        }
    }
}

/// RS256 only.
fn signed_claims(token: &str, keys: &Value) -> Option<Value> {
    let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).ok();
    let json = |text: &str| serde_json::from_slice::<Value>(&decode(text)?).ok();
    let (signed, signature) = token.rsplit_once('.')?;
    let (head, claims) = signed.split_once('.')?;
    let head = json(head).filter(|head| head["alg"] == "RS256")?;
    let key = keys["keys"].as_array()?.iter().find(|key| key["kid"] == head["kid"] && key["kty"] == "RSA")?;
    let part = |name: &str| decode(key[name].as_str()?);
    let key = RsaPublicKeyComponents { n: part("n")?, e: part("e")? };
    key.verify(&RSA_PKCS1_2048_8192_SHA256, signed.as_bytes(), &decode(signature)?).ok()?;
    json(claims)
}

pub fn random() -> Result<String, String> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| "reading random numbers from the system failed")?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

pub struct AccountSignIn {
    path: PathBuf,
    issuer: Issuer,
    account: Account,
    redirect: String,
    pub state: String,
    nonce: String,
    verifier: String,
}

impl AccountSignIn {
    pub async fn begin(folder: &Path, vendor: &Vendor, port: u16) -> Result<Self, String> {
        let path = folder.join(saved_keys::ACCOUNT_FILE);
        let mut account = Account::read(&path)?;
        if account.host.is_empty() {
            account.host = format!("urn:uuid:{}", text::uuid());
            account.write(&path)?;
        }
        let (issuer, redirect) = (Issuer::find(vendor).await?, format!("http://127.0.0.1:{port}{PATH}"));
        let (state, nonce, verifier) = (random()?, random()?, random()?);
        Ok(Self { path, issuer, account, redirect, state, nonce, verifier })
    }

    /// The page where the user agrees; the browser is then redirected back with this `state`.
    pub fn page(&self) -> Result<String, String> {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&self.verifier));
        let known = !self.account.client.is_empty();
        let id_token = self.account.tokens.as_ref().map_or("", |tokens| &tokens.id_token);
        let query = [
            ("client_id", if known { &self.account.client } else { NEW_CLIENT }),
            ("agent_name_hint", if known { "" } else { "MyCodeAgent" }),
            ("ext_agent_host_id", &self.account.host),
            ("response_type", "code"),
            ("redirect_uri", &self.redirect),
            ("scope", SCOPES),
            ("resource", RESOURCE),
            ("state", &self.state),
            ("nonce", &self.nonce),
            ("code_challenge_method", "S256"),
            ("code_challenge", &challenge),
            ("id_token_hint", id_token),
            ("login_hint", &self.account.email),
        ];
        let given = query.iter().filter(|(_, value)| !value.is_empty());
        let page = Url::parse_with_params(&self.issuer.authorization_endpoint, given);
        page.map(String::from).map_err(|error| error.to_string())
    }

    /// `answer` is the address that the browser was redirected to. Returns who signed in.
    pub async fn finish(mut self, answer: &str) -> Result<String, String> {
        let answer = Url::parse(answer).map_err(|error| error.to_string())?;
        let given = |wanted: &str| {
            let mut values = answer.query_pairs().filter(|(name, _)| name == wanted);
            values.next().filter(|_| values.next().is_none()).map(|(_, value)| value.into_owned())
        };
        let code = given("code").ok_or("its page sent no code")?;
        let account = &mut self.account;
        let issued = given("client_id").unwrap_or_else(|| account.client.clone());
        if ["", NEW_CLIENT].contains(&&*issued) || ![&issued, ""].contains(&&*account.client) {
            return Err("its page sent no client of its own".to_owned());
        }
        account.client = issued;
        // The code works only once, so store the registration in case a later step fails.
        account.write(&self.path)?;
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", &*account.client),
            ("code", &code),
            ("code_verifier", &self.verifier),
            ("redirect_uri", &self.redirect),
            ("resource", RESOURCE),
        ];
        let tokens = self.issuer.tokens(&form).await?;
        account.take(tokens)?;
        let claims = self.issuer.verified(account, Some(&self.nonce)).await?;
        let scopes = account.tokens.as_ref().map_or("", |tokens| &tokens.scope);
        if !scopes.split_whitespace().any(|scope| scope == PLAN) {
            return Err("access to your plan was not granted; sign in again and allow it, or use an API key"
                .to_owned());
        }
        let claim = |key: &str| claims[key].as_str().unwrap_or_default().to_owned();
        (account.subject, account.email) = (claim("sub"), claim("email"));
        account.write(&self.path)?;
        Ok(account.email.clone())
    }
}

/// The access token, renewed if it has expired. `refused` is a token that the server rejected.
pub async fn token(path: &Path, vendor: &Vendor, refused: Option<&Secret>) -> Result<Secret, String> {
    let again = |why: &str| format!("{why}; run `mycode login chatgpt`");
    if let Some(token) = Account::read(path)?.usable(refused) {
        return Ok(token);
    }
    // Other processes may renew it as well; the second one finds the new token.
    let _lock = lock(path).await?;
    let mut account = Account::read(path)?;
    if let Some(token) = account.usable(refused) {
        return Ok(token);
    }
    let tokens = account.tokens.clone().ok_or_else(|| again("no one is signed in"))?;
    if now_s() + RENEWAL_S < account.until {
        return Err(again("OpenAI refuses the sign-in"));
    }
    let issuer = Issuer::find(vendor).await?;
    let form = [
        ("grant_type", "refresh_token"),
        ("client_id", &*account.client),
        ("refresh_token", &tokens.refresh_token),
        ("resource", RESOURCE),
    ];
    let renewed = match issuer.tokens(&form).await {
        // Store it before anything else can fail; it may include an ID token.
        Ok(answer) => {
            account.take(answer)?;
            account.write(path)?;
            let named = account.tokens.as_ref().is_some_and(|tokens| !tokens.id_token.is_empty());
            if named { issuer.verified(&account, None).await.map(drop) } else { Ok(()) }
        }
        Err(why) if OVER.iter().any(|code| why.contains(code)) => Err(why),
        Err(why) => return Err(format!("renewing the sign-in failed: {why}")),
    };
    if let Err(why) = renewed {
        account.tokens = None;
        account.write(path)?;
        return Err(again(&format!("the sign-in has expired: {why}")));
    }
    account.usable(refused).ok_or_else(|| again("the sign-in has expired"))
}

/// Removes the tokens here and at OpenAI, but keeps the registration. Returns a sentence.
pub async fn sign_out(folder: &Path, vendor: &Vendor) -> Result<String, String> {
    let path = folder.join(saved_keys::ACCOUNT_FILE);
    let _lock = lock(&path).await?;
    let mut account = Account::read(&path)?;
    let tokens = account.tokens.take().ok_or("No one is signed in.")?;
    account.write(&path)?;
    let (token, client) = (("token", &*tokens.refresh_token), ("client_id", &*account.client));
    let form = [token, ("token_type_hint", "refresh_token"), client];
    let revoked = match Issuer::find(vendor).await {
        Ok(issuer) => http::ask(&issuer.revocation_endpoint, Some(&form)).await,
        Err(why) => Err(why),
    };
    Ok(match revoked {
        Ok((200, _)) => "Signed out of ChatGPT.".to_owned(),
        _ => "Signed out here, but OpenAI did not confirm it: disconnect MyCodeAgent in ChatGPT's settings."
            .to_owned(),
    })
}

async fn lock(path: &Path) -> Result<File, String> {
    let path = path.with_extension("lock");
    let locked =
        task::blocking(move || File::create(&path).and_then(|file| file.lock().map(|()| file))).await;
    locked
        .map_err(io::Error::other)
        .flatten()
        .map_err(|error| format!("the sign-in can't be locked: {error}"))
}
