//! What a client sends along with a message. Plain data.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// The bytes of a picture file in a supported format.
    Image { name: String, bytes: Vec<u8> },
    /// The text of a resource, such as a file open in an editor.
    Text { name: String, text: String },
}
