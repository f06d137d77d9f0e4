//! What a client sends along with a message. Plain data.

/// One part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// A picture in one of the forms that can be read, as it stands in its file.
    Image { name: String, bytes: Vec<u8> },
    /// The text of a resource, such as what an editor shows of a file.
    Text { name: String, text: String },
}
