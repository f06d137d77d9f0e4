//! What a running tool may use: the workspace, state shared between calls, and ports to the layers above.
//! Tools never depend on the agent.

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
use crate::run::services::Services;
use crate::run::shell::Shell;
use crate::sub_agent::{ParentTurn, SubReport, SubTask};
use crate::web::state::WebState;
use base::deadline::Deadline;
use base::protocol::host::HostProgram;
use context::session::journal::recorder::Journal;
use evidence::retriever::ContextRetriever;
use guard::policy::access::Access;
use guard::policy::denied_paths::DeniedPaths;
use guard::redact::redactor::Redactor;
use guard::sandbox::session::Sandbox;
use guard::sandbox::spec::Confinement;
use guard::shell::interpret::call::Call;

pub trait SubAgents: Send + Sync {
    /// Called at the start of a turn; its sub-agents use this model and context window.
    fn begin(&self, parent: ParentTurn);

    /// Runs one to completion; `cx` is the calling tool's. The error is a sentence for the model.
    fn run<'a>(&'a self, task: SubTask, cx: &'a ToolCx) -> BoxFuture<'a, Result<SubReport, String>>;
}

/// The context of one call. Cheap to clone.
#[derive(Clone)]
pub struct ToolCx {
    pub root: Arc<PathBuf>,
    /// Canonical folders that the user added to the workspace.
    pub folders: Arc<[PathBuf]>,
    pub todos: Arc<TodoBoard>,
    pub cancel: CancellationToken,
    pub progress: ProgressSink,
    /// `None` if no user can be asked (headless, sub-agents).
    pub asker: Option<Arc<dyn Asker>>,
    pub files: Arc<FileStates>,
    /// The working folder shared by Bash calls, and the processes they left running.
    pub shell: Arc<Shell>,
    pub images: Arc<ImageTray>,
    pub sandbox: Arc<Sandbox>,
    pub confinement: Confinement,
    /// What this call may access according to the verdict; `None` before it.
    pub judged: Option<Arc<[Access]>>,
    pub deadline: Option<Deadline>,
    /// Services that outlive the run; `None` unless enabled.
    pub services: Option<Arc<Services>>,
    /// Whether this call may leave an unconfined service.
    pub may_keep: bool,
    /// Files whose contents no tool may show.
    pub denied: Arc<DeniedPaths>,
    pub by_user: bool,
    /// The commands this call runs, as parsed for the verdict; empty for other tools.
    pub calls: Arc<[Call]>,
    pub spill: Arc<Spill>,
    pub redactor: Arc<Redactor>,
    /// Maximum size of an observation: a share of the window.
    pub observation: Limits,
    /// The call's id as given by the model; empty outside a turn.
    pub call_id: Arc<str>,
    /// `None` where sub-agents aren't available, such as in a sub-agent.
    pub sub_agents: Option<Arc<dyn SubAgents>>,
    pub originals: Option<Arc<dyn Originals>>,
    pub editor: Option<Arc<dyn EditorFiles>>,
    /// The host program that serves hooks and MCP servers.
    pub host: Option<Arc<dyn HostProgram>>,
    /// Makes changes undoable; `None` if no session is kept.
    pub journal: Option<Arc<Journal>>,
    /// Finds files for a task; `None` if the project has no state folder.
    pub evidence: Option<Arc<ContextRetriever>>,
    pub web: Arc<WebState>,
    /// Notified of every edit, and queried for symbols.
    pub language_servers: LanguageServers,
}

impl ToolCx {
    /// A context with fresh state, no user, and no visible progress. `root` is canonicalized if possible.
    pub fn new(root: PathBuf, spill: Arc<Spill>) -> Self {
        let root = root.canonicalize().unwrap_or(root);
        Self {
            sandbox: Arc::new(Sandbox::new(root.clone(), Vec::new(), vec![spill.folder().to_owned()])),
            confinement: Confinement::Free,
            judged: None,
            deadline: None,
            services: None,
            may_keep: false,
            denied: Arc::default(),
            by_user: false,
            calls: Arc::default(),
            shell: Arc::new(Shell::new(root.clone())),
            root: Arc::new(root),
            folders: Arc::default(),
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
            host: None,
            journal: None,
            evidence: None,
            web: Arc::default(),
            language_servers: LanguageServers::off(),
        }
    }

    /// The workspace, then the folders added to it.
    pub fn roots(&self) -> Vec<PathBuf> {
        std::iter::once(&*self.root).chain(&*self.folders).cloned().collect()
    }

    pub fn keep_hint(&self) -> &'static str {
        if self.services.is_some() { "; if it must stay, end it and start it again with keep" } else { "" }
    }
}
