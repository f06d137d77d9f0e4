//! A batch: items sent in another form from one request on. The past is rewritten in batches because each
//! rewrite costs the prompt cache of everything after it.

use std::sync::Arc;

use crate::session::record::{Cause, FormName};
use base::model::item::ItemId;

#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    pub items: Vec<ItemId>,
    pub form: FormName,
    /// The text sent for each item if it depends on more than the item; otherwise empty.
    pub texts: Vec<Arc<str>>,
    pub cause: Cause,
}

impl Batch {
    pub fn plain(items: Vec<ItemId>, form: FormName, cause: impl Into<Cause>) -> Self {
        Self { items, form, texts: Vec::new(), cause: cause.into() }
    }

    pub fn with_texts(chosen: Vec<(ItemId, Arc<str>)>, form: FormName, cause: impl Into<Cause>) -> Self {
        let (items, texts) = chosen.into_iter().unzip();
        Self { items, form, texts, cause: cause.into() }
    }
}
