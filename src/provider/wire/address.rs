//! Addresses of OpenAI's two endpoints, at OpenAI and its imitators. Azure (`openai` 3.54.0 for Python,
//! `lib/azure.py`, and learn.microsoft.com, November 2026): `https://RESOURCE.openai.azure.com/openai/v1`;
//! the older form has a query `?api-version=…` and, for Chat Completions only, the deployment in its path.

use reqwest::Url;

pub const CHAT: &str = "/chat/completions";
pub const RESPONSES: &str = "/responses";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    Openai,
    /// OpenAI's, paid by a ChatGPT plan.
    Plan,
    Azure,
    Openrouter,
    Other,
}

impl Host {
    pub fn of(url: &Url) -> Self {
        const AZURE: [&str; 3] =
            [".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"];
        match url.host_str().unwrap_or_default() {
            "api.openai.com" => Self::Openai,
            // One per region (`_data_residency.py`).
            host if host.ends_with(".api.openai.com") => Self::Openai,
            "openrouter.ai" => Self::Openrouter,
            host if AZURE.iter().any(|azure| host.ends_with(azure)) => Self::Azure,
            _ => Self::Other,
        }
    }

    /// Whether it runs OpenAI's own software, which refuses unknown fields.
    pub fn is_strict(self) -> bool {
        matches!(self, Self::Openai | Self::Plan | Self::Azure)
    }
}

/// `url` keeps its query; without a path it gets the usual `/v1`.
pub fn endpoint(mut url: Url, endpoint: &str) -> Url {
    let azure = Host::of(&url) == Host::Azure;
    let path = url.path().trim_end_matches('/');
    let path = [CHAT, RESPONSES].iter().find_map(|known| path.strip_suffix(known)).unwrap_or(path);
    let path = match path.split_once("/deployments/") {
        Some((before, _)) if azure && endpoint == RESPONSES => before,
        _ => path,
    };
    let path = match path {
        "" if azure => "/openai/v1",
        "" => "/v1",
        path => path,
    };
    let path = format!("{path}{endpoint}");
    url.set_path(&path);
    url
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (base, chat, responses) in [
            (
                "https://api.openai.com/v1",
                "https://api.openai.com/v1/chat/completions",
                "https://api.openai.com/v1/responses",
            ),
            (
                "http://localhost:11434/",
                "http://localhost:11434/v1/chat/completions",
                "http://localhost:11434/v1/responses",
            ),
            (
                "https://x/api/paas/v4",
                "https://x/api/paas/v4/chat/completions",
                "https://x/api/paas/v4/responses",
            ),
            ("https://x/v1/chat/completions", "https://x/v1/chat/completions", "https://x/v1/responses"),
            (
                "https://x/v1/responses/?a=1",
                "https://x/v1/chat/completions?a=1",
                "https://x/v1/responses?a=1",
            ),
            (
                "https://r.openai.azure.com",
                "https://r.openai.azure.com/openai/v1/chat/completions",
                "https://r.openai.azure.com/openai/v1/responses",
            ),
            (
                "https://r.openai.azure.com/openai/deployments/d?api-version=2025-04-01-preview",
                "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2025-04-01-preview",
                "https://r.openai.azure.com/openai/responses?api-version=2025-04-01-preview",
            ),
        ] {
            let base = Url::parse(base).unwrap();
            assert_eq!(endpoint(base.clone(), CHAT).as_str(), chat);
            assert_eq!(endpoint(base, RESPONSES).as_str(), responses);
        }
    }

    #[test]
    fn hosts() {
        for (address, expected) in [
            ("https://api.openai.com/v1", Host::Openai),
            ("https://eu.api.openai.com/v1", Host::Openai),
            ("https://r.openai.azure.com/openai/v1", Host::Azure),
            ("https://openrouter.ai/api/v1", Host::Openrouter),
            ("https://api.openai.com.example.org/v1", Host::Other),
            ("http://localhost:8080/v1", Host::Other),
        ] {
            assert_eq!(Host::of(&Url::parse(address).unwrap()), expected, "{address}");
        }
    }
}
