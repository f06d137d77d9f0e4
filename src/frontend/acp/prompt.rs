//! Turns a client's prompt into a message: text that names the attached resources, and the attachments.

use std::path::Path;

use agent_client_protocol_schema::v1::{ContentBlock, EmbeddedResourceResource, Error, ImageContent};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::error::invalid_params;
use base::protocol::op::Attachment;
use base::text::{human_bytes, unescaped};

#[derive(Debug, Default, PartialEq)]
pub struct Input {
    pub text: String,
    pub attachments: Vec<Attachment>,
}

impl Input {
    /// Fails on content we don't offer to accept, or can't read. `root` is the workspace.
    pub fn of_blocks(blocks: Vec<ContentBlock>, root: &Path) -> Result<Self, Error> {
        let mut input = Self::default();
        for block in blocks {
            match block {
                ContentBlock::Text(text) => input.say(&text.text),
                ContentBlock::Image(image) => input.image(image)?,
                ContentBlock::ResourceLink(link) => {
                    let mention = in_workspace(&link.uri, root).map(|path| mention(&path));
                    input.say(&mention.unwrap_or_else(|| format!("[{}]({})", link.name, link.uri)));
                }
                ContentBlock::Resource(embedded) => input.resource(embedded.resource, root)?,
                ContentBlock::Audio(_) => return Err(invalid_params("audio is not supported")),
                _ => return Err(invalid_params("this kind of content is not supported")),
            }
        }
        if input.text.trim().is_empty() && input.attachments.is_empty() {
            return Err(invalid_params("the prompt is empty"));
        }
        Ok(input)
    }

    fn say(&mut self, words: &str) {
        let apart = self.text.is_empty() || self.text.ends_with(char::is_whitespace);
        if !apart && words.starts_with(|c: char| c.is_alphanumeric() || "@[`".contains(c)) {
            self.text.push(' ');
        }
        self.text.push_str(words);
    }

    fn image(&mut self, image: ImageContent) -> Result<(), Error> {
        let named = image.uri.filter(|uri| !uri.starts_with("data:"));
        let number = self.attachments.len() + 1;
        self.picture(&image.data, named.unwrap_or_else(|| format!("image {number}")))
    }

    fn picture(&mut self, data: &str, name: String) -> Result<(), Error> {
        let bytes =
            STANDARD.decode(data).map_err(|error| invalid_params(format!("{name} isn't base64: {error}")))?;
        self.say(&format!("[{name}]"));
        self.attachments.push(Attachment::Image { name, bytes });
        Ok(())
    }

    fn resource(&mut self, resource: EmbeddedResourceResource, root: &Path) -> Result<(), Error> {
        match resource {
            EmbeddedResourceResource::TextResourceContents(resource) => {
                let name = in_workspace(&resource.uri, root).unwrap_or(resource.uri);
                self.say(&format!("`{name}`"));
                self.attachments.push(Attachment::Text { name, text: resource.text });
            }
            EmbeddedResourceResource::BlobResourceContents(resource) => {
                let kind = resource.mime_type.unwrap_or_default();
                if kind.starts_with("image/") {
                    return self.picture(&resource.blob, resource.uri);
                }
                let size = human_bytes((resource.blob.len() / 4 * 3) as u64);
                self.say(&format!("`{}`", resource.uri));
                let text = format!("({kind} of {size}, which isn't text and is not shown)");
                self.attachments.push(Attachment::Text { name: resource.uri, text });
            }
            _ => return Err(invalid_params("this kind of resource is not supported")),
        }
        Ok(())
    }
}

fn in_workspace(uri: &str, root: &Path) -> Option<String> {
    let rest = uri.strip_prefix("file://")?;
    let (path, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let path = unescaped(path);
    let path = Path::new(&path).strip_prefix(root).ok()?.to_str()?;
    let lines = fragment.trim_start_matches('L').replace([':', ','], "-").replace("-L", "-");
    let is_range = !lines.is_empty() && lines.chars().all(|c| c.is_ascii_digit() || c == '-');
    Some(if is_range { format!("{path}:{lines}") } else { path.to_owned() })
}

fn mention(path: &str) -> String {
    if path.contains(char::is_whitespace) { format!("@\"{path}\"") } else { format!("@{path}") }
}
