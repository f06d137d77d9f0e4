//! The errors of the model's server, sessions, notes and configuration.

use std::fmt::Write;
use std::path::Path;

use base::config::files::load::{self, Sources};
use base::config::files::raw::Raw;
use base::config::paths::Paths;
use base::config::settings::Permission;
use base::model::provider::ProviderError;
use context::session::log::LogError;
use evidence::note::error::NoteError;
use mycode::cli::report::Failure;

use super::page::page;

#[test]
fn errors() {
    let message = || "the server's own words".to_owned();
    let url = || "http://localhost:11434/v1".to_owned();
    let provider: Vec<ProviderError> = vec![
        ProviderError::Auth { status: 401, message: message() },
        ProviderError::NotFound { url: url(), message: message() },
        ProviderError::BadRequest { status: 400, message: message() },
        ProviderError::BadRequest { status: 402, message: message() },
        ProviderError::ContextFull(message()),
        ProviderError::WrongEndpoint { url: url(), message: message() },
        ProviderError::ReasoningRejected(message()),
        ProviderError::ToolsRefused(message()),
        ProviderError::ToolsRefused("tools param requires --jinja flag".to_owned()),
        ProviderError::RateLimited { status: 429, message: message(), retry_after: None },
        ProviderError::Server { status: 500, message: message(), retry_after: None },
        ProviderError::Connect { url: url(), message: message() },
        ProviderError::Tls { url: url(), message: message() },
        ProviderError::Broken(message()),
        ProviderError::Stalled { seconds: 300 },
        ProviderError::TooLong { seconds: 3_600 },
        ProviderError::TooLarge("it repeats the same words over and over".to_owned()),
        ProviderError::Protocol(message()),
        ProviderError::Script("line 2: unknown field".to_owned()),
        ProviderError::Setup("no model is configured".to_owned()),
    ];
    let mut text = "The model's server\n==================\n".to_owned();
    for error in provider {
        let kept = error.hint(true);
        let failure = Failure::from(error);
        let _ = write!(text, "{failure}");
        if kept != failure.hint {
            let _ = writeln!(text, "hint, where the message is kept: {kept}");
        }
        text.push('\n');
    }
    text.push_str("Sessions and notes\n==================\n");
    let denied = || std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    for failure in [
        Failure::from(LogError::Busy { id: "0198".to_owned() }),
        LogError::Io { path: "/state/0198.jsonl".into(), action: "written", source: denied() }.into(),
        NoteError::Outside("/project/.mycode/notes".into()).into(),
        NoteError::NotFolder("/project/.mycode/notes".into()).into(),
        NoteError::NoSuch { wanted: "login".to_owned(), near: String::new() }.into(),
        NoteError::Ambiguous { wanted: "log".to_owned(), candidates: "login, logout".to_owned() }.into(),
        NoteError::FrontMatter { name: "login.md".to_owned(), why: "a key appears twice".to_owned() }.into(),
        NoteError::Busy.into(),
        denied().into(),
    ] {
        let _ = writeln!(text, "{failure}");
    }
    text.push_str("Configuration\n=============\n");
    for (flags, vars) in [
        ("provider = \"scripted\"", &[][..]),
        ("base_url = \"localhost\"", &[]),
        ("api_key_env = \"MY_KEY\"\nprovider = \"openai\"", &[]),
        ("provider = \"anthropic\"", &[]),
        ("base_url = \"http://localhost:8080/v1\"", &[]),
        ("context_window = 100", &[]),
        ("low_water = 7.0", &[]),
        ("", &[("MYCODE_MAX_STEPS", "many")]),
        ("", &[("MYCODE_PERMISSION", "yolo")]),
    ] {
        let loaded = load::load(Sources {
            flags: Raw::parse(flags).unwrap(),
            vars: &|name| vars.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
            paths: &Paths { config: "/nowhere".into(), state: "/nowhere".into() },
            workspace: Path::new("/nowhere/project"),
            trust: false,
            skip_user_files: false,
            default_permission: Permission::Ask,
        });
        let error = loaded.map(|loaded| loaded.provider_error).unwrap_or_else(Some).expect(flags);
        let _ = writeln!(text, "{}", Failure::from(error));
    }
    page("errors.txt", &text);
}
