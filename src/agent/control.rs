//! What acts on a running turn from outside: interrupt, steering, edits of the context, and questions with their answers.
//! The turn itself owns the conversation; this is all that is shared, behind short locks.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use base::model::item::ItemId;
use base::protocol::approval::{Answer, AskedQuestion, Question, QuestionId};
use base::protocol::event::{Event, Level};
use base::protocol::ledger::ContextEdit;
use tools::ports::Asker;

/// The outgoing queue.
pub type Events = mpsc::UnboundedSender<Event>;

/// Tells the user something.
pub fn notice(events: &Events, level: Level, text: String) {
    let _ = events.send(Event::Notice { level, text });
}

/// After so long a question waits for its answer.
const WAITS_LONG: Duration = Duration::from_secs(6);

/// Is told of a question that waits; must not block.
pub type OnWait = Box<dyn Fn(Question) + Send + Sync>;

/// Open questions of a session.
pub struct Questions {
    events: Events,
    open: Mutex<(QuestionId, HashMap<QuestionId, oneshot::Sender<Answer>>)>,
    /// Told of a question that waits for its answer.
    on_wait: OnceLock<OnWait>,
}

impl Questions {
    pub fn new(events: Events) -> Self {
        Self { events, open: Mutex::new((0, HashMap::new())), on_wait: OnceLock::new() }
    }

    /// Has `told` know of questions to which no answer comes for some seconds.
    pub fn on_wait(&self, told: OnWait) {
        let _ = self.on_wait.set(told);
    }

    /// Asks and waits; `None` when the turn is interrupted or the front end is gone.
    pub async fn ask(&self, question: Question, cancel: &CancellationToken) -> Option<Answer> {
        let (sender, receiver) = oneshot::channel();
        let id = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.0 += 1;
            let id = open.0;
            open.1.insert(id, sender);
            id
        };
        let waited = async {
            let Some(told) = self.on_wait.get() else { return std::future::pending().await };
            let question = question.clone();
            tokio::time::sleep(WAITS_LONG).await;
            told(question);
            std::future::pending::<Option<Answer>>().await
        };
        let sent = self.events.send(Event::Ask { id, question: question.clone() });
        let answer = match sent {
            Err(_) => None,
            Ok(()) => tokio::select! {
                answer = receiver => answer.ok(),
                () = cancel.cancelled() => None,
                never = waited => never,
            },
        };
        self.open.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&id);
        let _ = self.events.send(Event::AskClosed { id });
        answer
    }

    /// Hands an answer to whoever waits for it; a late one is ignored.
    pub fn answer(&self, id: QuestionId, answer: Answer) {
        let waiting = self.open.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&id);
        if let Some(waiting) = waiting {
            let _ = waiting.send(answer);
        }
    }
}

/// The AskUser tool's way to the user.
pub struct UserPrompter {
    pub questions: Arc<Questions>,
    pub cancel: CancellationToken,
}

impl Asker for UserPrompter {
    fn ask(&self, questions: Vec<AskedQuestion>) -> BoxFuture<'_, Option<Vec<String>>> {
        Box::pin(async move {
            match self.questions.ask(Question::Ask { questions }, &self.cancel).await? {
                Answer::Replies { replies } => Some(replies),
                Answer::No { note } if !note.is_empty() => Some(vec![note]),
                _ => None,
            }
        })
    }
}

/// The handle on one running turn.
pub struct TurnControl {
    pub cancel: CancellationToken,
    pub questions: Arc<Questions>,
    /// The sub-agent whose turn it is, for the user.
    pub agent: Option<String>,
    steering: Mutex<VecDeque<String>>,
    /// Commands of the user's own, for the next step.
    commands: Mutex<Vec<String>>,
    edits: Mutex<Vec<(ContextEdit, ItemId)>>,
}

impl TurnControl {
    pub fn new(questions: Arc<Questions>) -> Self {
        Self::within(questions, CancellationToken::new(), None)
    }

    /// The turn of a sub-agent: it ends with the call that it belongs to.
    pub fn within(questions: Arc<Questions>, cancel: CancellationToken, agent: Option<String>) -> Self {
        Self {
            cancel,
            questions,
            agent,
            steering: Mutex::default(),
            commands: Mutex::default(),
            edits: Mutex::default(),
        }
    }

    /// Queues a message for the next step.
    pub fn steer(&self, text: String) {
        self.steering.lock().unwrap_or_else(PoisonError::into_inner).push_back(text);
    }

    /// The queued messages.
    pub fn take_steering(&self) -> Vec<String> {
        self.steering.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }

    /// Queues a command of the user's own for the next step.
    pub fn command(&self, command: String) {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner).push(command);
    }

    /// The queued commands.
    pub fn take_commands(&self) -> Vec<String> {
        std::mem::take(&mut *self.commands.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Everything that is queued, as it was typed.
    pub fn take_typed(&self) -> Vec<String> {
        let commands = self.take_commands().into_iter().map(|command| format!("!{command}"));
        commands.chain(self.take_steering()).collect()
    }

    /// Queues an edit of the context for the next request.
    pub fn edit(&self, edit: ContextEdit, id: ItemId) {
        self.edits.lock().unwrap_or_else(PoisonError::into_inner).push((edit, id));
    }

    /// The queued edits.
    pub fn take_edits(&self) -> Vec<(ContextEdit, ItemId)> {
        std::mem::take(&mut *self.edits.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
