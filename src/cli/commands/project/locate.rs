//! `mycode locate`: ranks the files that a task is about, for users and scripts.

use serde_json::{Value, json};

use clap::Args;

use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure};
use crate::cli::setup::open;
use base::config::settings::Permission;
use base::path::on_one_line;
use base::sanitize;
use context::session::list;
use evidence::categorize::FileCategory;
use evidence::rank::locate::RankedFile;
use evidence::retriever::{ContextRetriever, LocatedFiles};
use evidence::terms::translate;

const HELP: &str = include_str!("../../help/locate.txt");

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct LocateArgs {
    /// The task in words; `-` reads standard input; only with --explain: the last session's task
    #[arg(required_unless_present_any = ["with", "explain"], default_value = "", hide_default_value = true)]
    pub query: String,

    /// A file of the change: rank what belongs to it (tests, callers, what changes together); may be repeated
    #[arg(long, value_name = "FILE")]
    pub with: Vec<String>,

    /// Print one JSON array
    #[arg(long)]
    pub json: bool,

    /// Maximum number of files
    #[arg(short = 'k', long, value_name = "N", default_value_t = 10)]
    pub limit: usize,

    /// Show what each signal adds to a file's score
    #[arg(long)]
    pub explain: bool,
}

pub fn run(cli: &SharedArgs, args: &LocateArgs) -> Result<(), Failure> {
    let opened = open::open(&cli.model, Permission::ReadOnly)?;
    let mut text = args.query.clone();
    if text == "-" {
        text = report::standard_input()?;
    }
    if args.explain && text.is_empty() && args.with.is_empty() {
        text = list::list(&opened.project_state).into_iter().next().map(|row| row.title).unwrap_or_default();
        if !text.is_empty() {
            eprintln!("note: for the task of the last session: {}", on_one_line(&text));
        }
    }
    if text.trim().is_empty() && args.with.is_empty() {
        let hint = "mycode locate \"what should change\", or mycode locate --with FILE";
        return Err(Failure::usage("the task text is empty", hint));
    }
    let retriever = ContextRetriever::new(&opened.workspace, &opened.project_state)
        .with_folders(&opened.loaded.work.folders);
    let (limit, plain) = (args.limit.max(1), args.with.is_empty());
    let found =
        if plain { retriever.locate(&text, limit) } else { retriever.companions(&args.with, &text, limit) };
    let LocatedFiles { files, unknown, unkept } = found.map_err(|error| {
        let hint = "check that the state folder can be written (`mycode doctor` shows it)";
        Failure::task(error, hint)
    })?;
    let with_role = |(hit, role): (RankedFile, FileCategory)| {
        let role = if plain { role.into() } else { hit.kind.role() };
        (hit, role)
    };
    let hits: Vec<(RankedFile, &str)> = files.into_iter().map(with_role).collect();
    if !plain && unknown.len() == args.with.len() {
        let hint = "name files of this folder that git doesn't ignore; --add-dir adds other folders";
        return Err(Failure::usage(format!("not in the index: {}", unknown.join(", ")), hint));
    }
    for path in &unknown {
        eprintln!("note: {} is not in the index (hidden, ignored, or misspelled)", sanitize::clean(path));
    }
    if let Some(why) = unkept {
        eprintln!(
            "note: the index was built for this answer only, because the state folder can't be written ({}); `mycode doctor` shows the folder",
            sanitize::clean(&why)
        );
    }
    if let Some(note) = translate::note(&text) {
        eprintln!("note: {note}");
    }
    if args.json {
        let files: Vec<Value> = hits.iter().map(|(hit, role)| as_json(hit, role, args.explain)).collect();
        return report::print(&format!("{}\n", Value::from(files)));
    }
    if hits.is_empty() {
        return report::print("No matching files.\n");
    }
    let mut out = String::new();
    for (number, (hit, role)) in (1..).zip(&hits) {
        out.push_str(&as_text(number, hit, role, args.explain));
    }
    if args.explain && plain {
        let quality = retriever.task_context(&text).map_or(0.0, |context| context.quality());
        out.push_str(&format!("{quality:.2} is the estimated chance that one of these files is right\n"));
    }
    report::say(&out)
}

fn as_json(hit: &RankedFile, role: &str, explain: bool) -> Value {
    let lines: Vec<Value> =
        hit.lines.iter().map(|(number, line)| json!({"line": number, "text": line})).collect();
    let mut file = json!({
        "path": hit.path,
        "score": rounded(hit.score),
        "role": role,
        "reasons": hit.reasons(),
        "lines": lines,
    });
    if hit.chance > 0.0 {
        file["chance"] = rounded(hit.chance);
    }
    if explain {
        let parts = hit.parts.iter().filter(|(_, value)| value.abs() >= 0.001);
        let parts: serde_json::Map<String, Value> =
            parts.map(|(word, value)| (word.to_string(), rounded(*value))).collect();
        file["parts"] = parts.into();
    }
    file
}

fn rounded(value: f32) -> Value {
    json!((f64::from(value) * 1_000.0).round() / 1_000.0)
}

fn as_text(number: usize, hit: &RankedFile, role: &str, explain: bool) -> String {
    use std::fmt::Write as _;
    let mut out = format!("{number:>2}. {}  {:.2}  {role}", on_one_line(&hit.path), hit.score);
    let reasons = hit.reasons();
    if !explain && !reasons.is_empty() {
        let _ = write!(out, "  ({})", reasons.join(", "));
    }
    out.push('\n');
    if explain {
        let mut parts: Vec<_> = hit.parts.iter().filter(|(_, value)| value.abs() >= 0.005).collect();
        parts.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        for (word, value) in parts {
            let _ = writeln!(out, "      {value:>+6.2}  {word}");
        }
    }
    for (line, text) in &hit.lines {
        let _ = writeln!(out, "      {line}: {text}");
    }
    out
}
