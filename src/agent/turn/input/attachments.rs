//! A message's attachments: pictures go on the tray, texts are appended to it, cut to suit the window.

use base::protocol::attachment::Attachment;
use base::sanitize;
use base::text::one_line;
use guard::redact::detector::TextSource;
use tools::cx::ToolCx;
use tools::output::{Keep, Limits};

const NAME_CHARS: usize = 400;

/// Returns the blocks to append to the message.
pub async fn put(attachments: Vec<Attachment>, cx: &ToolCx, window_tokens: u64) -> Vec<String> {
    if attachments.is_empty() {
        return Vec::new();
    }
    let (cx, limits) = (cx.clone(), Limits::for_window(window_tokens));
    // Decodes pictures and stores long texts.
    let blocks = tokio::task::spawn_blocking(move || {
        attachments.into_iter().map(|attachment| block(attachment, &cx, limits)).collect()
    });
    blocks.await.unwrap_or_default()
}

fn block(attachment: Attachment, cx: &ToolCx, limits: Limits) -> String {
    match attachment {
        Attachment::Image { name, bytes } => {
            let name = one_line(&sanitize::as_data(&name), NAME_CHARS);
            let line = match cx.images.refusal() {
                Some(why) => format!("{name} is an image, and {why}; tell the user so."),
                None => match cx.images.put_bytes(bytes, &name) {
                    Ok((width, height)) => format!("{name} is shown below at {width}×{height}."),
                    Err(error) => format!("{name} can't be shown: {error}."),
                },
            };
            format!("<system-reminder>{line}</system-reminder>")
        }
        Attachment::Text { name, text } => {
            let name = one_line(&sanitize::as_data(&name), NAME_CHARS).replace('"', "'");
            let text = cx.redactor.redact(&text, TextSource::Text);
            let text = cx.spill.truncate(sanitize::as_data(&text), Keep::Head, limits).body;
            format!(
                "<attachment name=\"{name}\">\n{}\n</attachment>",
                text.replace("</attachment", "‹/attachment")
            )
        }
    }
}
