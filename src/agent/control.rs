//! What a running turn shares with the outside: interrupts, steering, context edits and questions. The turn owns the
//! conversation; only this is shared, under short locks.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use base::model::item::ItemId;
use base::process::task;
use base::protocol::approval::{Answer, AskedQuestion, Question, QuestionId};
use base::protocol::event::{Event, Level};
use base::protocol::ledger::ContextEdit;
use tools::ports::Asker;

pub type Events = mpsc::UnboundedSender<Event>;

pub fn notice(events: &Events, level: Level, text: String) {
    let _ = events.send(Event::Notice { level, text });
}

/// Runs `look` on the blocking pool and sends its event; doesn't wait for it.
pub fn answer(events: &Events, look: impl FnOnce() -> Event + Send + 'static) {
    let events = events.clone();
    task::detached(move || drop(events.send(look())));
}

const WAITS_LONG: Duration = Duration::from_secs(6);

/// Called with a waiting question; must not block.
pub type OnWait = Box<dyn Fn(Question) + Send + Sync>;

pub struct Questions {
    events: Events,
    open: Mutex<(QuestionId, HashMap<QuestionId, oneshot::Sender<Answer>>)>,
    on_wait: OnceLock<OnWait>,
}

impl Questions {
    pub fn new(events: Events) -> Self {
        Self { events, open: Mutex::new((0, HashMap::new())), on_wait: OnceLock::new() }
    }

    /// Sets the callback for questions that aren't answered within some seconds.
    pub fn on_wait(&self, told: OnWait) {
        let _ = self.on_wait.set(told);
    }

    /// Shows a sub-agent's notice to the user.
    pub fn pass_on(&self, agent: &str, level: Level, text: &str) {
        notice(&self.events, level, format!("{agent}: {text}"));
    }

    /// Asks and waits; `None` when the turn is interrupted or the front end is gone.
    pub async fn ask(&self, question: Question, cancel: &CancellationToken) -> Option<Answer> {
        let (sender, receiver) = oneshot::channel();
        let id = {
            let mut open = self.open.lock();
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
                () = self.events.closed() => None,
                never = waited => never,
            },
        };
        self.open.lock().1.remove(&id);
        let _ = self.events.send(Event::AskClosed { id });
        answer
    }

    pub fn answer(&self, id: QuestionId, answer: Answer) {
        let waiting = self.open.lock().1.remove(&id);
        if let Some(waiting) = waiting {
            let _ = waiting.send(answer);
        }
    }
}

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

pub struct TurnControl {
    pub cancel: CancellationToken,
    pub questions: Arc<Questions>,
    pub events: Events,
    /// The sub-agent that runs this turn, for display.
    pub agent: Option<String>,
    steering: Mutex<VecDeque<String>>,
    commands: Mutex<Vec<String>>,
    edits: Mutex<Vec<(ContextEdit, ItemId)>>,
}

impl TurnControl {
    pub fn new(questions: &Arc<Questions>, events: &Events) -> Self {
        Self::within(questions, events, CancellationToken::new(), None)
    }

    /// For work that nobody watches; questions get no answer.
    pub fn alone(cancel: CancellationToken) -> Self {
        let (events, _) = mpsc::unbounded_channel();
        Self::within(&Arc::new(Questions::new(events.clone())), &events, cancel, None)
    }

    /// A sub-agent's turn, which is cancelled with the call that started it.
    pub fn within(
        questions: &Arc<Questions>,
        events: &Events,
        cancel: CancellationToken,
        agent: Option<String>,
    ) -> Self {
        Self {
            cancel,
            questions: Arc::clone(questions),
            events: events.clone(),
            agent,
            steering: Mutex::default(),
            commands: Mutex::default(),
            edits: Mutex::default(),
        }
    }

    pub fn notice(&self, level: Level, text: String) {
        notice(&self.events, level, text);
    }

    pub fn steer(&self, text: String) {
        self.steering.lock().push_back(text);
    }

    pub fn take_steering(&self) -> Vec<String> {
        self.steering.lock().drain(..).collect()
    }

    pub fn command(&self, command: String) {
        self.commands.lock().push(command);
    }

    pub fn take_commands(&self) -> Vec<String> {
        std::mem::take(&mut *self.commands.lock())
    }

    pub fn take_typed(&self) -> Vec<String> {
        let commands = self.take_commands().into_iter().map(|command| format!("!{command}"));
        commands.chain(self.take_steering()).collect()
    }

    pub fn edit(&self, edit: ContextEdit, id: ItemId) {
        self.edits.lock().push((edit, id));
    }

    pub fn take_edits(&self) -> Vec<(ContextEdit, ItemId)> {
        std::mem::take(&mut *self.edits.lock())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_question_ends_with_its_front_end() {
        let (events, mut screen) = mpsc::unbounded_channel();
        let questions = Arc::new(Questions::new(events));
        let asking = Arc::clone(&questions);
        let asked = task::spawn(async move {
            let question = Question::Ask { questions: Vec::new() };
            asking.ask(question, &CancellationToken::new()).await
        });
        assert!(matches!(screen.recv().await, Some(Event::Ask { .. })));
        drop(screen);
        assert_eq!(asked.await.unwrap(), None);
        assert!(questions.open.lock().1.is_empty());
    }
}
