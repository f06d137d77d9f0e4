//! `mcp add` as `claude mcp add` and `codex mcp add` write it: options may stand behind the name, and behind an address (Claude
//! Code's MCP page and `codex-rs/cli/src/mcp_cmd.rs`, November 2026).

use std::ffi::OsString;

use super::rewrite::{Here, OptionRow, Takes, rewrite_until, row};
use crate::cli::report::Failure;

#[rustfmt::skip]
pub const ROWS: &[OptionRow] = &[
    row(&["--transport", "-t"], Takes::One, Here::Of(transport), "http or stdio, which the address or command says"),
    row(&["--scope", "-s"], Takes::One, Here::Nothing, "servers are added to your own list; a project lists its own in .mcp.json"),
    row(&["--header", "-H"], Takes::One, Here::As("--header"), "--header"),
    row(&["--env", "-e"], Takes::One, Here::As("--env"), "--env"),
    row(&["--url"], Takes::One, Here::As("--url"), "the address"),
    row(&["--bearer-token-env-var"], Takes::One, Here::Of(bearer), "--header 'Authorization: Bearer ${NAME}'"),
    row(&["--client-id"], Takes::One, Here::Of(client), "--oauth '{\"clientId\": …}'"),
    row(&["--client-secret", "--callback-port"], Takes::Maybe, Here::Refused, "part of --oauth: clientSecret, callbackPort"),
];

pub fn translated(
    args: impl Iterator<Item = OsString>,
    takes_value: impl Fn(&str) -> bool,
) -> Result<(Vec<OsString>, Vec<String>), Failure> {
    let is_url = |word: &OsString| word.to_string_lossy().contains("://");
    let done = rewrite_until(&[ROWS], args, takes_value, |words| words.len() > 1 && !is_url(&words[1]))?;
    let mut line: Vec<OsString> = vec!["mcp".into(), "add".into()];
    line.extend(done.options);
    let mut words = done.words.into_iter();
    line.extend(words.next());
    line.push("--".into());
    line.extend(words);
    Ok((line, done.notes))
}

fn transport(name: &str) -> Result<Vec<String>, String> {
    match name {
        "http" | "streamable-http" | "stdio" => Ok(Vec::new()),
        "sse" => {
            Err("the older SSE transport isn't supported; ask for the server's address for http".to_owned())
        }
        _ => Err("use http or stdio".to_owned()),
    }
}

fn bearer(variable: &str) -> Result<Vec<String>, String> {
    Ok(vec![format!("--header=Authorization: Bearer ${{{variable}}}")])
}

fn client(id: &str) -> Result<Vec<String>, String> {
    Ok(vec![format!("--oauth={}", serde_json::json!({"clientId": id}))])
}
