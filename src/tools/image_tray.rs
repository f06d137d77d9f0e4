//! Images for the turn to add to the conversation, from Read and user messages. Knows whether the model
//! accepts images.

use std::fs::File;
use std::sync::Arc;

use parking_lot::Mutex;

use base::config::provider::image_tokens::image_tokens;
use base::config::provider::models;
use base::format::picture::{self, Picture, PictureError};
use base::model::item::Image;

#[derive(Debug, Default)]
struct Contents {
    model: Arc<str>,
    images: Vec<Image>,
}

#[derive(Debug, Default)]
pub struct ImageTray {
    contents: Mutex<Contents>,
}

impl ImageTray {
    /// Starts a turn with this model. Drops images left by an interrupted turn.
    pub fn begin(&self, model: &Arc<str>) {
        *self.contents.lock() = Contents { model: Arc::clone(model), images: Vec::new() };
    }

    /// The current model; empty before the first turn.
    pub fn model(&self) -> Arc<str> {
        Arc::clone(&self.contents.lock().model)
    }

    pub fn put_back(&self, images: Vec<Image>) {
        self.contents.lock().images.extend(images);
    }

    /// Why the current model can't see images; `None` if it can or if that is unknown.
    pub fn refusal(&self) -> Option<String> {
        let model = Arc::clone(&self.contents.lock().model);
        let blind = models::facts(&model).is_some_and(|facts| !facts.images);
        blind.then(|| format!("{model} can't see images"))
    }

    /// Adds the picture in this file under the name `shown`; returns width and height. Blocks.
    pub fn put(&self, file: File, shown: &str) -> Result<(u32, u32), PictureError> {
        Ok(self.add(picture::load(file)?, shown))
    }

    pub fn put_bytes(&self, bytes: Vec<u8>, shown: &str) -> Result<(u32, u32), PictureError> {
        Ok(self.add(picture::from_bytes(bytes)?, shown))
    }

    fn add(&self, picture: Picture, shown: &str) -> (u32, u32) {
        let (width, height) = (picture.width, picture.height);
        let mut contents = self.contents.lock();
        let tokens = image_tokens(&contents.model, width, height);
        contents.images.push(Image {
            path: shown.into(),
            media_type: picture.media_type.into(),
            width,
            height,
            tokens,
            data: picture.data.into(),
        });
        (width, height)
    }

    pub fn take(&self) -> Vec<Image> {
        std::mem::take(&mut self.contents.lock().images)
    }
}
