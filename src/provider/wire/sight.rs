//! For models that can't see: a line of text replaces each image, so that a session with images works with
//! any model. Known from the model table, or from a server that refused them.

use std::borrow::Cow;

use super::per_model::PerModel;
use base::config::provider::models;
use base::model::provider::ProviderError;
use base::model::request::{Message, Request};

#[derive(Debug, Default)]
pub struct Sight {
    blind: PerModel<()>,
}

impl Sight {
    pub fn of<'a>(&self, request: &'a Request) -> Cow<'a, Request> {
        if !has_images(request) || self.sees(&request.params.model) {
            return Cow::Borrowed(request);
        }
        let mut request = request.clone();
        for message in &mut request.messages {
            if let Message::Image(image) = message {
                *message = Message::User(image.placeholder("; this model can't see images").into());
            }
        }
        Cow::Owned(request)
    }

    fn sees(&self, model: &str) -> bool {
        self.blind.get(model).is_none() && models::facts(model).is_none_or(|facts| facts.images)
    }

    /// Whether an error says, for the first time, that images aren't accepted.
    pub fn learn(&self, request: &Request, error: &ProviderError) -> bool {
        let message = match error {
            ProviderError::BadRequest { message, .. }
            | ProviderError::NotFound { message, .. }
            | ProviderError::Server { message, .. } => message.to_lowercase(),
            _ => return false,
        };
        // OpenRouter: "No endpoints found that support image input"; llama.cpp mentions the `mmproj` file.
        let about_images =
            ["image", "vision", "multimodal", "mmproj"].iter().any(|word| message.contains(word));
        let model = &request.params.model;
        about_images && has_images(request) && self.sees(model) && self.blind.set(model, ()).is_none()
    }
}

fn has_images(request: &Request) -> bool {
    request.messages.iter().any(|message| matches!(message, Message::Image(_)))
}
