//! Images in a turn: those the user names (`@picture.png`, or a path as terminals paste it) are appended to the message,
//! those the model reads to the results of their step. Attached texts are cut to fit the window.

use std::borrow::Cow;
use std::fs::File;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use crate::session::conversation::Conversation;
use base::folder::exact;
use base::format::picture::PictureError;
use base::model::item::{Image, Item};
use base::protocol::op::Attachment;
use base::text::{one_line, unescaped};
use base::{path, sanitize};
use context::mention;
use context::session::log::LogError;
use guard::redact::detector::TextSource;
use tools::cx::ToolCx;
use tools::image_tray::ImageTray;
use tools::output::{Keep, Limits};
use tools::pdf;

const MAX_IMAGES: usize = 10;
const ENDINGS: [&str; 5] = [".png", ".jpg", ".jpeg", ".gif", ".webp"];

/// Puts the images named in `text` on the tray; returns the reminder for the model. Blocks.
pub fn attach(text: &str, roots: &[PathBuf], tray: &ImageTray) -> Option<String> {
    let images = named(text, roots).into_iter().take(MAX_IMAGES);
    let lines: Vec<String> =
        images.map(|(path, name)| shown(&name, tray, || tray.put(open(&path)?, &name))).collect();
    (!lines.is_empty()).then(|| format!("<system-reminder>{}</system-reminder>", lines.join("\n")))
}

fn shown(name: &str, tray: &ImageTray, put: impl FnOnce() -> Result<(u32, u32), PictureError>) -> String {
    match tray.refusal() {
        Some(why) => format!("{name} is an image, and {why}; tell the user so."),
        None => match put() {
            Ok((width, height)) => format!("{name} is shown below at {width}×{height}."),
            Err(error) => format!("{name} can't be shown: {error}."),
        },
    }
}

/// Follows links anywhere, because the user named the file.
fn open(path: &Path) -> Result<File, PictureError> {
    Ok(exact::open(&path::follow(path))?.0)
}

fn named(text: &str, roots: &[PathBuf]) -> Vec<(PathBuf, String)> {
    let mentioned = mention::existing_first(text, roots).into_iter().map(|mention| mention.path);
    let pasted = words(text).into_iter().filter_map(|word| {
        let path = word.strip_prefix("file://").map_or_else(|| word.clone(), unescaped);
        let path = match path.strip_prefix("~/") {
            Some(rest) => std::env::home_dir()?.join(rest).to_string_lossy().into_owned(),
            None => path,
        };
        path.starts_with('/').then_some(path)
    });
    let mut found: Vec<(PathBuf, String)> = Vec::new();
    for name in mentioned.chain(pasted) {
        let Some(path) = mention::place(roots, &name) else { continue };
        let lower = name.to_lowercase();
        let new = !found.iter().any(|(known, _)| *known == path);
        if new && ENDINGS.iter().any(|ending| lower.ends_with(ending)) && path.is_file() {
            found.push((path, name));
        }
    }
    found
}

/// Splits `text` like a shell. A quote counts only at the start of a word; elsewhere it is an apostrophe.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' if word.is_empty() => {
                let rest = chars.as_str();
                if let Some(end) = rest.find(c) {
                    words.push(rest[..end].to_owned());
                    chars = rest[end + c.len_utf8()..].chars();
                }
            }
            '\\' => word.extend(chars.next()),
            c if c.is_whitespace() => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

const NAME_CHARS: usize = 400;

/// The block for all attachments. Blocks: decodes pictures and stores long texts.
pub fn attached(attachments: &[Attachment], cx: &ToolCx, window_tokens: u64) -> String {
    let limits = Limits::for_window(window_tokens);
    let blocks: Vec<String> = attachments.iter().map(|attachment| one(attachment, cx, limits)).collect();
    blocks.join("\n")
}

fn one(attachment: &Attachment, cx: &ToolCx, limits: Limits) -> String {
    match attachment {
        Attachment::Image { name, bytes } if pdf::is_pdf(bytes) => {
            let text = pdf::text(bytes, &CancellationToken::new());
            let text = text.unwrap_or_else(|why| format!("(not shown: {why})"));
            one(&Attachment::Text { name: name.clone(), text }, cx, limits)
        }
        Attachment::Image { name, bytes } => {
            let name = one_line(&sanitize::as_data(name), NAME_CHARS);
            let line = shown(&name, &cx.images, || cx.images.put_bytes(bytes.clone(), &name));
            format!("<system-reminder>{line}</system-reminder>")
        }
        Attachment::Text { name, text } => {
            let name = one_line(&sanitize::as_data(name), NAME_CHARS).replace('"', "'");
            let text = cx.redactor.redact(text, TextSource::Text);
            let text = cx.spill.truncate(sanitize::as_data(&text), Keep::Head, limits).body;
            format!(
                "<attachment name=\"{name}\">\n{}\n</attachment>",
                text.replace("</attachment", "‹/attachment")
            )
        }
    }
}

/// Records and returns the images on the tray, in the order of the results that name them.
pub fn record(conversation: &mut Conversation, cx: &ToolCx) -> Result<Vec<Image>, LogError> {
    let mut images = cx.images.take();
    for image in &mut images {
        if let Cow::Owned(clean) = cx.redactor.redact(&image.path, TextSource::Text) {
            image.path = clean.into();
        }
    }
    if images.len() > 1 {
        // Calls of a step run in parallel, so the order may differ.
        let named = |image: &Image| {
            let entries = conversation.state.history.entries().iter();
            let path = |item: &Item| match item {
                Item::ToolResult(result) => result.envelope.data.subject() == Some(&*image.path),
                _ => false,
            };
            entries.rev().position(|entry| path(&entry.item)).map(std::cmp::Reverse)
        };
        images.sort_by_cached_key(named);
    }
    for image in &images {
        conversation.record(Item::Image(image.clone()))?;
    }
    Ok(images)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn paths_as_terminals_write_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["a.png", "b c.JPG", "d.txt"] {
            std::fs::write(root.join(name), "x").unwrap();
        }
        let at = |name: &str| format!("{}/{name}", root.display());
        for (text, expected) in [
            ("what is @a.png?".to_owned(), vec!["a.png"]),
            (format!("look at {} now", at("a.png")), vec!["a.png"]),
            (format!("it's '{}' and {}", at("b c.JPG"), at("b\\ c.JPG")), vec!["b c.JPG"]),
            (format!("file://{}", at("b%20c.JPG")), vec!["b c.JPG"]),
            (format!("{} {} a.png", at("d.txt"), at("none.png")), vec![]),
        ] {
            let found: Vec<PathBuf> =
                named(&text, std::slice::from_ref(&root)).into_iter().map(|(path, _)| path).collect();
            let expected: Vec<PathBuf> = expected.iter().map(|name| root.join(name)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
