//! Tests of `load.rs`.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::secret;

fn with(flags: &str, vars: &[(&str, &str)]) -> Result<Loaded, ConfigError> {
    let paths = Paths { config: "/nowhere".into(), state: "/nowhere".into() };
    let vars: BTreeMap<String, String> =
        vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    load(Sources {
        flags: Raw::parse(flags).unwrap(),
        vars: &|name| vars.get(name).cloned(),
        paths: &paths,
        workspace: Path::new("/nowhere/project"),
        trust: false,
        skip_user_files: false,
        default_permission: Permission::Ask,
    })
}

#[test]
fn nothing_configured() {
    let loaded = with("", &[]).unwrap();
    assert!(loaded.provider.is_none());
    assert_eq!(loaded.context.window_origin, Origin::Default);
    assert_eq!(loaded.work.permission, Permission::Ask);
}

#[test]
fn source_precedence() {
    let vars = [
        ("OPENAI_API_KEY", "sk-1"),
        ("OPENAI_MODEL", "gpt-4o"),
        ("MYCODE_MODEL", "glm-4.6"),
        ("OPENAI_BASE_URL", "http://h/v1/"),
    ];
    let provider = with("", &vars).unwrap().provider.unwrap();
    assert_eq!((&*provider.model, provider.base_url.as_str()), ("glm-4.6", "http://h/v1"));
    let provider = with("model = \"m\"", &vars).unwrap().provider.unwrap();
    assert_eq!(&*provider.model, "m");
}

/// Prompts and files never go to the public host when the user has a server of their own.
#[test]
fn a_dialect_does_not_replace_the_configured_server() {
    let dir = tempfile::tempdir().unwrap();
    let paths = Paths { config: dir.path().into(), state: dir.path().into() };
    std::fs::write(paths.user_config(), "base_url = \"http://mine:8000/v1\"\nmodel = \"local\"\n").unwrap();
    let loaded = |flags: &str, dialect: Option<&str>| {
        load(Sources {
            flags: Raw::parse(flags).unwrap(),
            vars: &|name| match name {
                "OPENAI_API_KEY" => Some("sk-1".to_owned()),
                "MYCODE_PROVIDER" => dialect.map(str::to_owned),
                _ => None,
            },
            paths: &paths,
            workspace: Path::new("/nowhere/project"),
            trust: false,
            skip_user_files: false,
            default_permission: Permission::Ask,
        })
        .unwrap()
    };
    for loaded in [loaded("provider = \"chat\"", None), loaded("", Some("responses"))] {
        let provider = loaded.provider.unwrap();
        assert_eq!((provider.base_url.as_str(), &*provider.model), ("http://mine:8000/v1", "local"));
    }
    std::fs::write(paths.user_config(), "provider = \"anthropic\"\nbase_url = \"http://mine:8000\"\n")
        .unwrap();
    let other = loaded("provider = \"openai\"\nmodel = \"m\"", None);
    assert!(other.notices.iter().any(|notice| notice.contains("http://mine:8000")), "{:?}", other.notices);
}

#[test]
fn a_key_alone_takes_the_vendors_pick_for_coding() {
    for (key, model) in [("OPENAI_API_KEY", "gpt-6.2-sol"), ("ANTHROPIC_API_KEY", "claude-opus-5-5")] {
        let loaded = with("", &[(key, "k")]).unwrap();
        assert_eq!(&*loaded.provider.unwrap().model, model);
        assert!(loaded.model_by_default);
    }
    assert!(!with("model = \"x\"", &[("OPENAI_API_KEY", "k")]).unwrap().model_by_default);
}

#[test]
fn requests_stay_under_a_price_tier() {
    let context = |more: &str| {
        let flags = format!("provider = \"anthropic\"\nmodel = \"claude-haiku-5-5\"\n{more}");
        with(&flags, &[("ANTHROPIC_API_KEY", "k")]).unwrap().context
    };
    assert_eq!((context("").window_tokens, context("").tier_tokens), (1_000_000, Some(100_000)));
    assert!((context("").cached_price - 0.1).abs() < 1e-9 && context("").write_price > 1.2);
    assert_eq!(context("context_window = 500000").tier_tokens, None);
}

#[test]
fn missing_key_hint() {
    let error = with("provider = \"anthropic\"", &[]).unwrap().provider_error.unwrap();
    assert!(error.hint.contains("ANTHROPIC_API_KEY"), "{}", error.hint);
}

#[test]
fn window_origin() {
    let vars = [("ANTHROPIC_API_KEY", "k")];
    assert_eq!(with("", &vars).unwrap().context.window_tokens, 1_000_000);
    let small = with("context_window = 8192", &vars).unwrap().context;
    assert_eq!((small.window_tokens, small.window_origin), (8192, Origin::User));
    assert!(small.low_water < small.compression_threshold);
    assert!(with("context_window = 100", &vars).is_err());
    let unlimited = with(&format!("context_window = {}", i64::MAX), &vars).unwrap().context;
    assert_eq!(unlimited.window_tokens, 100_000_000);
    assert!(with("low_water = 7.0", &vars).is_err());
}

/// The address, model and key that these variables and this model lead to.
fn place(model: &str, vars: &[(&str, &str)]) -> String {
    let flags = if model.is_empty() { String::new() } else { format!("model = \"{model}\"") };
    let loaded = with(&flags, vars).unwrap();
    match (loaded.provider, loaded.provider_error) {
        (Some(settings), _) => {
            let key = settings.api_key.as_ref().map_or("none", Secret::expose);
            let bearer = if settings.bearer { " as bearer" } else { "" };
            format!("{} {} {key}{bearer}", settings.base_url, settings.model)
        }
        (None, Some(error)) => format!("{error}; {}", error.hint),
        (None, None) => "nothing".to_owned(),
    }
}

#[test]
fn keys_where_people_keep_them() {
    let (openai, claude) = (("OPENAI_API_KEY", "ko"), ("ANTHROPIC_API_KEY", "ka"));
    let (router, deepseek) = (("OPENROUTER_API_KEY", "kr"), ("DEEPSEEK_API_KEY", "kd"));
    let gateway = ("OPENAI_BASE_URL", "https://gateway/v1");
    for (model, vars, expected) in [
        ("", &[deepseek][..], "https://api.deepseek.com deepseek-flash kd"),
        ("", &[router], "https://openrouter.ai/api/v1 openrouter/auto kr"),
        (
            "",
            &[("GEMINI_API_KEY", "kg")],
            "https://generativelanguage.googleapis.com/v1beta/openai gemini-4-argon kg",
        ),
        ("", &[("ANTHROPIC_AUTH_TOKEN", "kt")], "https://api.anthropic.com claude-opus-5-5 kt as bearer"),
        ("", &[("ANTHROPIC_AUTH_TOKEN", "kt"), claude], "https://api.anthropic.com claude-opus-5-5 ka"),
        ("", &[deepseek, openai], "https://api.openai.com/v1 gpt-6.2-sol ko"),
        (
            "",
            &[("AWS_BEARER_TOKEN_BEDROCK", "kb"), ("AWS_REGION", "eu-west-1")],
            "https://bedrock-mantle.eu-west-1.api.aws/anthropic anthropic.claude-opus-5-5 kb",
        ),
        (
            "bedrock/anthropic.claude-sonnet-5-5",
            &[("AWS_BEARER_TOKEN_BEDROCK", "kb"), openai],
            "https://bedrock-mantle.us-east-1.api.aws/anthropic anthropic.claude-sonnet-5-5 kb",
        ),
        // The maker of the model, or the vendor named before it.
        ("deepseek-v4-pro", &[openai, deepseek], "https://api.deepseek.com deepseek-v4-pro kd"),
        ("claude-opus-5-5", &[openai, claude], "https://api.anthropic.com claude-opus-5-5 ka"),
        (
            "deepseek/deepseek-v4-pro",
            &[openai, deepseek, router],
            "https://api.deepseek.com deepseek-v4-pro kd",
        ),
        ("openrouter/deepseek/x", &[openai, deepseek, router], "https://openrouter.ai/api/v1 deepseek/x kr"),
        (
            "anthropic/claude-opus-5.5",
            &[openai, router],
            "https://openrouter.ai/api/v1 anthropic/claude-opus-5.5 kr",
        ),
        ("openrouter/auto", &[openai, router], "https://openrouter.ai/api/v1 openrouter/auto kr"),
        (
            "xai/grok-4.7",
            &[openai],
            "no key or address for xai (model xai/grok-4.7); export XAI_API_KEY=…, or name another model with --model",
        ),
        // One vendor's key never goes to another.
        ("deepseek/x", &[deepseek, ("MYCODE_API_KEY", "km")], "https://api.deepseek.com x kd"),
        // A server of the user's own knows its names.
        ("deepseek/x", &[openai, deepseek, gateway], "https://gateway/v1 deepseek/x ko"),
        ("deepseek-chat", &[openai, deepseek, gateway], "https://gateway/v1 deepseek-chat ko"),
        (
            "deepseek/x",
            &[deepseek, openai, ("OPENAI_BASE_URL", "https://api.openai.com/v1/")],
            "https://api.deepseek.com x kd",
        ),
        (
            "m",
            &[openai, router, ("MYCODE_BASE_URL", "https://openrouter.ai/api/v1")],
            "https://openrouter.ai/api/v1 m kr",
        ),
        (
            "azure/dep",
            &[("AZURE_OPENAI_API_KEY", "kz"), ("AZURE_OPENAI_ENDPOINT", "https://r.openai.azure.com/")],
            "https://r.openai.azure.com dep kz",
        ),
        (
            "azure/dep",
            &[("AZURE_OPENAI_API_KEY", "kz")],
            "no key or address for azure (model azure/dep); export AZURE_OPENAI_ENDPOINT=…, or name another model with --model",
        ),
        ("", &[("AZURE_OPENAI_API_KEY", "kz")], "nothing"),
        // LM Studio's names look like this.
        ("qwen/qwen3-coder-30b", &[], "nothing"),
    ] {
        assert_eq!(place(model, vars), expected, "{model} {vars:?}");
    }
}

#[test]
fn other_vendors_are_chosen_by_name_only() {
    let vars = [("OPENAI_API_KEY", "ko"), ("DEEPSEEK_API_KEY", "kd"), ("GROQ_API_KEY", "kq")];
    let flags = "headers = { x-org = \"secret\" }";
    let loaded = with(flags, &vars).unwrap();
    let names: Vec<_> = loaded.vendors.iter().map(|(vendor, _)| vendor.name()).collect();
    assert_eq!(names, ["deepseek", "groq"]);
    let other = loaded.provider_for("groq/openai/gpt-oss-20b").unwrap();
    assert_eq!(
        (&*other.model, other.base_url.as_str()),
        ("openai/gpt-oss-20b", "https://api.groq.com/openai/v1")
    );
    assert!(other.headers.is_empty(), "they may hold the key of another server");
    assert_eq!(loaded.provider_for("gpt-6-sol").unwrap().base_url, "https://api.openai.com/v1");
    let mut keys: Vec<_> = loaded.keys().map(Secret::expose).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["kd", "ko", "kq"]);
    assert!(with("base_url = \"http://mine/v1\"\nmodel = \"m\"", &vars).unwrap().vendors.is_empty());
    for name in ["GROQ_API_KEY", "ANTHROPIC_AUTH_TOKEN"] {
        assert!(secret::is_credential_name(name));
    }
}
