//! A message's attachments: pictures go on the tray, texts are appended to it, cut to suit the window.

use base::protocol::attachment::Attachment;
use base::sanitize;
use base::text::one_line;
use guard::redact::detector::TextSource;
use tools::cx::ToolCx;
use tools::output::{Keep, Limits};

const NAME_CHARS: usize = 400;

/// The block for all of them. Decodes pictures and stores long texts: blocks.
pub fn block(attachments: &[Attachment], cx: &ToolCx, window_tokens: u64) -> String {
    let limits = Limits::for_window(window_tokens);
    let blocks: Vec<String> = attachments.iter().map(|attachment| one(attachment, cx, limits)).collect();
    cx.redactor.redact(&blocks.join("\n"), TextSource::Text).into_owned()
}

fn one(attachment: &Attachment, cx: &ToolCx, limits: Limits) -> String {
    match attachment {
        Attachment::Image { name, bytes } => {
            let name = one_line(&sanitize::as_data(name), NAME_CHARS);
            let line = match cx.images.refusal() {
                Some(why) => format!("{name} is an image, and {why}; tell the user so."),
                None => match cx.images.put_bytes(bytes.clone(), &name) {
                    Ok((width, height)) => format!("{name} is shown below at {width}×{height}."),
                    Err(error) => format!("{name} can't be shown: {error}."),
                },
            };
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
