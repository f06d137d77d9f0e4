//! What a running tool may use: the workspace, the state that calls share, and ports to what lives above it.
//! A tool gets everything from here and nothing from the agent.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::file::state::FileStates;
use crate::image_tray::ImageTray;
use crate::lsp::servers::LanguageServers;
use crate::output::{Limits, Spill};
use crate::plan::todo_board::TodoBoard;
use crate::ports::{Asker, EditorFiles, Originals, ProgressSink};
use crate::run::shell::Shell;
use crate::sub_agent::{ParentTurn, SubReport, SubTask};
use crate::web::state::WebState;
use context::session::journal::recorder::Journal;
use evidence::retriever::ContextRetriever;
use guard::policy::access::Access;
use guard::redact::redactor::Redactor;
use guard::sandbox::session::Sandbox;
use guard::sandbox::spec::Confinement;
use guard::shell::interpret::call::Call;

/// The port through which Task has sub-agents run.
pub trait SubAgents: Send + Sync {
    /// A turn begins in this session: the sub-agents of its calls are asked of this model, with this window.
    fn begin(&self, parent: ParentTurn);

    /// Runs one to its end; `cx` is that of the call that asks for it.
    /// Errors: A sentence for the model: an unknown type, or a session that cannot be opened.
    fn run<'a>(&'a self, task: SubTask, cx: &'a ToolCx) -> BoxFuture<'a, Result<SubReport, String>>;
}

/// The surroundings of one call. Cheap to clone.
#[derive(Clone)]
pub struct ToolCx {
    /// The workspace root: absolute and canonical.
    pub root: Arc<PathBuf>,
    /// The current todo list.
    pub todos: Arc<TodoBoard>,
    /// Cancelled when the user interrupts the turn.
    pub cancel: CancellationToken,
    pub progress: ProgressSink,
    /// `None` where no user can be asked (headless, sub-agents).
    pub asker: Option<Arc<dyn Asker>>,
    /// What the model has read, and with which content.
    pub files: Arc<FileStates>,
    /// The folder that Bash calls share, and processes that they left running.
    pub shell: Arc<Shell>,
    /// Images on their way to the model.
    pub images: Arc<ImageTray>,
    /// What commands run in.
    pub sandbox: Arc<Sandbox>,
    /// How this call's command runs: decided with its verdict.
    pub confinement: Confinement,
    /// What this call touches, as it was judged; `None` until that is known.
    pub judged: Option<Arc<[Access]>>,
    /// What this call's command runs, as it was parsed for the verdict; empty for other tools.
    pub calls: Arc<[Call]>,
    /// Where output goes that is too large for the window.
    pub spill: Arc<Spill>,
    /// Secrets that were seen, and their placeholders.
    pub redactor: Arc<Redactor>,
    /// The largest observation: a share of the window.
    pub observation: Limits,
    /// The call that runs, by the id that the model gave it; empty outside of a turn.
    pub call_id: Arc<str>,
    /// `None` where no sub-agents can run, as in one.
    pub sub_agents: Option<Arc<dyn SubAgents>>,
    /// `None` where no session is kept.
    pub originals: Option<Arc<dyn Originals>>,
    /// `None` where no editor is in front.
    pub editor: Option<Arc<dyn EditorFiles>>,
    /// What makes changes undoable; `None` where no session is kept.
    pub journal: Option<Arc<Journal>>,
    /// Finds files for a task; `None` where the project has no state folder.
    pub evidence: Option<Arc<ContextRetriever>>,
    /// What was read of the web, and how.
    pub web: Arc<WebState>,
    /// Told of every edit, and asked where things are.
    pub language_servers: LanguageServers,
}

impl ToolCx {
    /// Surroundings with fresh state, no user to ask, and progress that is not shown. `root` is made canonical if it can.
    pub fn new(root: PathBuf, spill: Arc<Spill>) -> Self {
        let root = root.canonicalize().unwrap_or(root);
        Self {
            sandbox: Arc::new(Sandbox::new(root.clone(), Vec::new(), vec![spill.folder().to_owned()])),
            confinement: Confinement::Free,
            judged: None,
            calls: Arc::default(),
            shell: Arc::new(Shell::new(root.clone())),
            root: Arc::new(root),
            todos: Arc::default(),
            cancel: CancellationToken::new(),
            progress: Arc::new(|_| {}),
            asker: None,
            files: Arc::default(),
            images: Arc::default(),
            spill,
            redactor: Arc::default(),
            observation: Limits::default(),
            call_id: Arc::from(""),
            sub_agents: None,
            originals: None,
            editor: None,
            journal: None,
            evidence: None,
            web: Arc::default(),
            language_servers: LanguageServers::off(),
        }
    }
}
