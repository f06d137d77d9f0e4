//! Saves `#text` as a rule in the project's rules file or as a note, as the user chooses. Esc gives it back.

use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::control::{Events, Questions, notice};
use base::path;
use base::protocol::approval::{Answer, AskedQuestion, Question};
use base::protocol::event::{Event, Level};
use base::protocol::notice as texts;
use context::rules::rules_file;
use evidence::note::store::{NoteChange, NoteStore};

const NOTE: &str = "A note in .mycode/notes";

/// Asks where to save the text and writes it there. `text` must be redacted already.
pub fn keep(text: String, workspace: PathBuf, questions: Arc<Questions>, events: Events) {
    tokio::spawn(async move {
        let folder = workspace.clone();
        let file = tokio::task::spawn_blocking(move || rules_file::in_use(&folder)).await.unwrap_or_default();
        let rule = format!("A rule in {}, sent with every session", path::display(&workspace, &file));
        let question = AskedQuestion {
            question: format!("Keep \"{text}\"? (With a space before # it is sent as a message.)"),
            options: vec![rule.clone(), NOTE.to_owned()],
            optional: false,
        };
        let asked = Question::Ask { questions: vec![question] };
        let reply = match questions.ask(asked, &CancellationToken::new()).await {
            Some(Answer::Replies { replies }) => replies.into_iter().next(),
            _ => None,
        };
        let (kept, to_note) = (text.clone(), reply.as_deref() == Some(NOTE));
        if !to_note && reply != Some(rule) {
            let _ = events.send(Event::TakenBack { texts: vec![format!("#{text}")] });
            return;
        }
        let written = tokio::task::spawn_blocking(move || match to_note {
            true => {
                let change = NoteChange { content: Some(kept), ..NoteChange::default() };
                NoteStore::new(&workspace).create(change).map(|note| note.path()).map_err(|e| e.to_string())
            }
            false => {
                rules_file::add_rule(&file, &workspace, &kept).map(|()| path::display(&workspace, &file))
            }
        });
        match written.await.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(place) => notice(&events, Level::Info, texts::kept_in(&place)),
            Err(why) => {
                notice(&events, Level::Warning, texts::not_kept(&why));
                let _ = events.send(Event::TakenBack { texts: vec![format!("#{text}")] });
            }
        }
    });
}
