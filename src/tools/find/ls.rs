//! LS: one folder, not recursive, folders first.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;

use serde::Deserialize;

use crate::api::{ToolError, ToolOutcome, ToolWork, TypedTool};
use crate::cx::ToolCx;
use crate::paths::{PathTarget, disk_error, folder_or_root, look, read_access, read_at};
use base::folder::handle::Folder;
use base::model::envelope::Envelope;
use base::model::observation::{Listing, Observation};
use base::path::on_one_line;
use base::search::walk::Walk;
use base::system::os;
use base::text::{one_line, plural};
use guard::policy::access::Access;

const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 1_000;

#[derive(Deserialize)]
pub struct Args {
    path: Option<String>,
    offset: Option<usize>,
    limit: Option<usize>,
}

pub struct Ls;

impl TypedTool for Ls {
    type Args = Args;
    const NAME: &'static str = "LS";
    const ARGUMENTS: &'static str = "path?, offset? integer, limit? integer";
    const READ_ONLY: bool = true;
    const WORK: ToolWork<Args> = ToolWork::Blocking(|args, cx| {
        read_at(cx, folder_or_root(args.path.as_deref()), |at| list(cx, at, args))
    });

    fn access(args: &Args, cx: &ToolCx) -> Result<Vec<Access>, ToolError> {
        read_access(cx, folder_or_root(args.path.as_deref()))
    }

    fn title(args: &Args) -> String {
        format!("LS {}", one_line(folder_or_root(args.path.as_deref()), 120))
    }
}

fn list(cx: &ToolCx, target: &PathTarget, args: &Args) -> ToolOutcome {
    let folder = &target.resolved.canonical;
    let refuse = |error: io::Error| disk_error(cx, target, &error.into());
    let meta = look(cx, target)?;
    if !meta.is_dir() {
        let what = os::special_kind(&meta).unwrap_or("file");
        return Err(ToolError::invalid(format!(
            "{} is a {what}, not a folder; use Read for files",
            target.shown
        )));
    }
    let handle = Folder::open(folder).map_err(refuse)?;
    let mut entries = handle.names().map_err(refuse)?;
    let is_folder = |name: &OsString| handle.look(name).is_ok_and(|meta| meta.is_dir());
    entries.sort_by_cached_key(|name| (!is_folder(name), name.clone()));
    let total = entries.len();
    let offset = args.offset.unwrap_or(0);
    if offset > 0 && offset >= total {
        return Err(ToolError::invalid(format!(
            "offset {offset} is past the end: {} has {}",
            target.shown,
            plural(total, "entry")
        )));
    }
    let mut walk = Walk::new(folder);
    walk.hidden = true;
    walk.max_depth = Some(1);
    let seen: HashSet<OsString> = walk.sorted().map(|entry| entry.file_name().to_owned()).collect();
    let limit = cx.observation.rows(args.limit, DEFAULT_LIMIT, MAX_LIMIT);
    let rows: Vec<String> = entries
        .iter()
        .skip(offset)
        .take(limit)
        .map(|name| row(&handle, name, !seen.contains(name)))
        .collect();
    let end = offset + rows.len();
    let text = if total == 0 {
        format!("{} is empty", target.shown)
    } else if rows.len() < total {
        let more = if end < total { format!("; continue with offset={end}") } else { String::new() };
        format!("entries {}-{end} of {total}{more}", offset + 1)
    } else {
        String::new()
    };
    let listing = Listing {
        path: Some(target.shown.clone()),
        total_entries: Some(total as u64),
        offset: (offset > 0).then_some(offset as u64),
    };
    let envelope = Envelope::success(text).observed(Observation::Listing(listing));
    Ok(envelope.with_body("entries", rows.join("\n")))
}

fn row(folder: &Folder, name: &OsStr, ignored: bool) -> String {
    let mut row = on_one_line(&name.to_string_lossy());
    if let Ok(meta) = folder.look(name) {
        if meta.is_dir() {
            row.push('/');
        } else if meta.is_symlink() {
            let link = folder.read_link(name).unwrap_or_default();
            row.push_str(&format!(" -> {}", on_one_line(&link.to_string_lossy())));
        } else if let Some(kind) = os::special_kind(&meta) {
            row.push_str(&format!(" ({kind})"));
        }
    }
    // Searches skip `.git` too, although no ignore file lists it.
    if ignored && name != ".git" {
        row.push_str(" (ignored)");
    }
    row
}
