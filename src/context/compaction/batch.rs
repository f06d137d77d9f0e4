//! A batch: items that are sent in another form from one request on. The unit in which the past is rewritten, because each
//! rewriting costs the prompt cache of everything behind it.

use std::borrow::Cow;
use std::sync::Arc;

use crate::session::record::FormName;
use base::model::item::ItemId;

/// Items, their new form, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    pub items: Vec<ItemId>,
    pub form: FormName,
    /// What is sent of each item where that depends on more than the item; else empty.
    pub texts: Vec<Arc<str>>,
    /// A word, then the details; `context::prefix` derives the kind of cache break from the word.
    pub cause: Cow<'static, str>,
}

impl Batch {
    /// A batch of forms that follow from the items alone.
    pub fn plain(items: Vec<ItemId>, form: FormName, cause: impl Into<Cow<'static, str>>) -> Self {
        Self { items, form, texts: Vec::new(), cause: cause.into() }
    }

    /// A batch with the text of each item.
    pub fn with_texts(
        chosen: Vec<(ItemId, Arc<str>)>,
        form: FormName,
        cause: impl Into<Cow<'static, str>>,
    ) -> Self {
        let (items, texts) = chosen.into_iter().unzip();
        Self { items, form, texts, cause: cause.into() }
    }
}
