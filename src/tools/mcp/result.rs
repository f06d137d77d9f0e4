//! Converts a server's result to an envelope: texts are joined, images go to the model, other bytes to files.

use super::catalog::{CallResult, Content};
use crate::cx::ToolCx;
use base::model::envelope::{Envelope, ErrorCode};
use base::text::human_bytes;

const BODY: &str = "content";
/// How Node and Python report it.
const READ_ONLY: [&str; 2] = ["EROFS", "Read-only file system"];
const WHERE_IT_WRITES: &str = "In the sandbox this server writes only in the workspace and in a home of its own. The user can give \
    it the file's place in a variable of its entry in mcp_servers.json, or open a folder there: \"sandbox\": {\"folders\": [\"/FOLDER\"]}";

/// Blocks.
pub fn envelope(result: CallResult, tool: &str, cx: &ToolCx) -> Envelope {
    let (mut texts, mut notes) = (Vec::new(), Vec::new());
    for content in result.content {
        match content {
            Content::Text(text) => texts.push(text),
            Content::Bytes { media_type, data } => notes.push(attach(&media_type, data, tool, cx)),
        }
    }
    let body = texts.join("\n");
    if result.failed {
        let message = if body.trim().is_empty() { "no reason from the server".to_owned() } else { body };
        let why = if READ_ONLY.iter().any(|words| message.contains(words)) {
            format!("{message}\n{WHERE_IT_WRITES}")
        } else {
            message
        };
        return Envelope::error(ErrorCode::ExecutionError, why);
    }
    if body.is_empty() && notes.is_empty() {
        return Envelope::success("done; the server returned nothing");
    }
    Envelope::success(notes.join("; ")).with_body(BODY, body)
}

pub fn text(contents: Vec<Content>) -> String {
    let text = |content| match content {
        Content::Text(text) => text,
        Content::Bytes { media_type, data } => format!("[{media_type}, {}]", human_bytes(data.len() as u64)),
    };
    contents.into_iter().map(text).collect::<Vec<_>>().join("\n")
}

fn attach(media_type: &str, data: Vec<u8>, tool: &str, cx: &ToolCx) -> String {
    let size = human_bytes(data.len() as u64);
    if media_type.starts_with("image/") && cx.images.refusal().is_none() {
        return match cx.images.put_bytes(data, tool) {
            Ok((width, height)) => format!("the image ({width}x{height}) follows"),
            Err(why) => format!("an image that cannot be shown: {why}"),
        };
    }
    match cx.spill.store("attachment", &data) {
        Ok(path) => format!("{media_type}, {size}, is in {}", path.display()),
        Err(error) => format!("{media_type}, {size}, could not be stored: {error}"),
    }
}
