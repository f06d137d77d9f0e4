//! `mycode rewind`: `/rewind` without the screen. Lists a session's points, previews a rewind, or does it.

use serde_json::json;

use clap::Args;

use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure};
use crate::cli::setup::open::{self, SessionSelector};
use agent::session::reopen;
use agent::session::rewind::{self, RewindError, RewindTask};
use base::config::settings::Permission;
use base::path::on_one_line;
use base::protocol::exit_code::ExitCode;
use base::protocol::notice;
use base::protocol::rewind::{RewindDone, RewindPoint, RewindPreview, RewindScope};
use base::text::plural;
use context::session::journal::recorder::Journal;

#[derive(Args, Debug)]
pub struct RewindArgs {
    /// The session's id, or a prefix of it [default: the last session]
    pub session: Option<String>,

    /// Rewind to before this point, as listed (12, u1); without it, list the points
    #[arg(long, value_name = "POINT")]
    pub to: Option<String>,

    /// Rewind files only
    #[arg(long, conflicts_with_all = ["conversation", "both"])]
    pub files: bool,

    /// Rewind the conversation only
    #[arg(long, conflicts_with = "both")]
    pub conversation: bool,

    /// Rewind files and conversation (the default)
    #[arg(long)]
    pub both: bool,

    /// Show what would change, without changing it
    #[arg(long)]
    pub preview: bool,

    /// Apply the rewind (default: preview only)
    #[arg(long)]
    pub yes: bool,

    /// Also overwrite files that were changed outside of mycode since
    #[arg(long)]
    pub force: bool,

    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

impl From<RewindError> for Failure {
    fn from(error: RewindError) -> Self {
        match error {
            RewindError::Log(error) => error.into(),
            error => Self::new(ExitCode::Usage, &error, "`mycode rewind` without --to lists the points"),
        }
    }
}

/// Returns whether everything was done.
pub fn run(cli: &SharedArgs, args: &RewindArgs) -> Result<bool, Failure> {
    let opened = open::open(&cli.model, Permission::ReadOnly)?;
    let which = args.session.clone().map_or(SessionSelector::Last, SessionSelector::Id);
    let Some(path) = open::session(&opened.project_state, &which)? else { return Ok(true) };
    let mut conversation = reopen::restore(&opened.project_state, &opened.workspace, &path)?.conversation;
    let journal = Journal::new(&opened.project_state, &opened.workspace);
    journal.open(&conversation.id);
    let lines = journal.lines();
    let points = rewind::points(&conversation, &lines);
    let Some(name) = &args.to else {
        let json_lines = || points.iter().map(|point| format!("{}\n", json!(point))).collect();
        let out = if args.json { json_lines() } else { list(&points) };
        return report::show(args.json, &out).map(|()| true);
    };
    let wanted = name.trim_start_matches('#');
    let point = points.into_iter().find(|point| point.name == wanted).ok_or(RewindError::NoPoint)?;
    let part = match (args.files, args.conversation, args.both) {
        (true, false, false) => RewindScope::Files,
        (false, true, false) => RewindScope::Conversation,
        _ if args.both || point.conversation => RewindScope::Both,
        _ => RewindScope::Files,
    };
    if args.preview || !args.yes {
        let items = rewind::items_since(&conversation, &point);
        let preview = rewind::preview(&journal, point, items);
        let mut out = if args.json { format!("{}\n", json!(preview)) } else { table(&preview, part) };
        if !args.preview && !args.json {
            out.push_str("This is a preview; add --yes to rewind.\n");
        }
        return report::show(args.json, &out).map(|()| true);
    }
    let task = RewindTask::new(&conversation, &lines, point.id, part, args.force)?;
    let files = task.restore_files(&journal)?;
    let done = task.finish(&mut conversation, files)?;
    report::show(args.json, &if args.json { format!("{}\n", json!(done)) } else { said(&done) })?;
    Ok(done.left.is_empty())
}

fn list(points: &[RewindPoint]) -> String {
    if points.is_empty() {
        return "Nothing to rewind in this session.\n".to_owned();
    }
    let row = |point: &RewindPoint| {
        let changed = format!("{} +{} -{}", plural(point.files, "file"), point.plus, point.minus);
        format!("{:>6}  {changed:<20}  {}\n", point.name, point.title)
    };
    points.iter().map(row).collect()
}

fn table(preview: &RewindPreview, part: RewindScope) -> String {
    let mut out = format!("{}\n", preview.point.heading("Rewind to before"));
    if part.conversation() && preview.items > 0 {
        out.push_str(&format!("  remove    {} from the conversation\n", plural(preview.items, "message")));
    }
    if part.files() {
        for row in &preview.rows {
            let (action, path) = (row.action.into_str(), on_one_line(&row.path));
            out.push_str(&match (&row.impossible, &row.conflict) {
                (Some(why), _) => format!("  skip      {path}: {why}\n"),
                (None, Some(why)) => format!("  skip      {path}: {why}; --force would {action} it\n"),
                (None, None) => {
                    let differs = row.differs.as_deref().map(|what| format!(" ({})", on_one_line(what)));
                    let differs = differs.unwrap_or_default();
                    format!("  {action:<9} {path} +{} -{}{differs}\n", row.plus, row.minus)
                }
            });
        }
        for path in preview.outside.iter().map(|path| on_one_line(path)) {
            out.push_str(&format!("  skip      {path} (outside the workspace)\n"));
        }
        if preview.rows.is_empty() {
            out.push_str("No files change.\n");
        }
    }
    out
}

fn said(done: &RewindDone) -> String {
    let mut out = format!("{}\n", notice::rewound(done));
    out.push_str(&format!("`mycode rewind --to {} --yes` undoes this.\n", done.undo));
    out
}
