//! L5: the todo recap, the last thing the model reads, only while todos are open.

use crate::context::budget::tokens;
use crate::context::layer::{Fragment, Layer, LayerInputs};
use crate::context::ledger::{LayerId, Row};
use crate::model::request::Message;

pub struct TodoRecap;

impl Layer for TodoRecap {
    fn id(&self) -> LayerId {
        LayerId::Todo
    }

    fn render(&self, inputs: &LayerInputs<'_>) -> Option<Fragment> {
        let text = format!("<system-reminder>Todos {}</system-reminder>", inputs.todo_recap?);
        let row = Row::fixed(LayerId::Todo, "todo recap", tokens::estimate(&text) + tokens::MESSAGE_OVERHEAD);
        Some(Fragment { system: None, messages: vec![Message::User(text.into())], rows: vec![row] })
    }
}
