//! Tests of `load.rs`.
#![allow(clippy::unwrap_used)]

use super::*;

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
fn a_key_alone_takes_the_vendors_middle_model() {
    for (key, model) in [("OPENAI_API_KEY", "gpt-6.1-terra"), ("ANTHROPIC_API_KEY", "claude-sonnet-5-5")] {
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
