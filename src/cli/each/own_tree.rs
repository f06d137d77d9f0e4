//! A git worktree of its own for one task, build or sub-agent, made from the files as they are; what is changed there is a
//! branch for `mycode work`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::task_dir::{self, FOLDER, Isolation, TaskDir};
use crate::cli::report::{self, Failure, OrFail};
use agent::build::git;
use agent::sub_agents::template::AgentTree;
use base::config::paths::Paths;
use base::file;
use base::text::one_line;
use guard::redact::detector;

const AGENTS: &str = "agents";
const SHORT: usize = 12;

pub struct OwnTree {
    pub place: TaskDir,
    root: PathBuf,
    /// `exec`, `build` or `agents`: used like a batch's name.
    kind: &'static str,
    id: String,
}

impl OwnTree {
    /// Makes it, or reuses what an earlier run left.
    pub async fn open(root: &Path, kind: &'static str, id: &str) -> Result<Self, Failure> {
        let folder = root.join(FOLDER).join(kind);
        task_dir::make(root, &folder)?;
        let branch = format!("mycode/each/{kind}/{id}");
        let opened = TaskDir::open(Isolation::Worktree, root, &folder.join(id), branch).await;
        let place = opened.or_task("there is no worktree for this task", "see what `git status` says")?;
        let tree = Self { place, root: root.to_owned(), kind, id: id.to_owned() };
        tree.note(&json!({"type": "session", "id": id, "workspace": tree.place.folder}))?;
        Ok(tree)
    }

    /// The id of an earlier one that starts with `wanted`.
    pub fn earlier(root: &Path, kind: &str, wanted: &str) -> Option<String> {
        let found = std::fs::read_dir(root.join(FOLDER).join(kind)).into_iter().flatten().flatten();
        let names = found.filter_map(|entry| entry.file_name().into_string().ok());
        let mut ids = names.filter_map(|name| Some(name.strip_suffix(".events.jsonl")?.to_owned()));
        ids.find(|id| id.starts_with(wanted))
    }

    pub fn project_state(&self) -> PathBuf {
        Paths::from_env().project(&self.root)
    }

    pub async fn end(self, task: &str, result: &Result<u8, Failure>) -> Result<(), Failure> {
        let code = result.as_ref().map_or_else(|failure| failure.kind as u8, |code| *code);
        let (branch, id) = (self.branch(), self.id.clone());
        if self.close(task, code).await? {
            report::note(&format!(
                "the changes are on {branch}: `mycode work diff {id}` shows them, `mycode work merge {id}` merges them"
            ));
        } else if result.is_ok() {
            report::note("nothing was changed, so there is no branch");
        }
        Ok(())
    }

    fn branch(&self) -> String {
        format!("mycode/each/{}/{}", self.kind, self.id)
    }

    async fn close(self, task: &str, code: u8) -> Result<bool, Failure> {
        let subject = format!("mycode: {}", one_line(&detector::redact(task), 60));
        let hint = format!("the files are in {}", self.place.folder.display());
        let committed = self.place.commit(&self.root, &subject, code == 0).await;
        let changed = committed.or_task("the changes can't be committed", hint)?;
        self.note(&json!({"type": "turn_ended", "exit_code": code}))?;
        // An unfinished task whose files are unchanged starts over when it is continued.
        if code == 0 || !changed {
            self.place.close(&self.root, changed).await;
        }
        Ok(changed)
    }

    fn note(&self, line: &Value) -> Result<(), Failure> {
        let events = self.root.join(FOLDER).join(self.kind).join(format!("{}.events.jsonl", self.id));
        let mut file = file::open_private(OpenOptions::new().append(true).create(true), &events)?;
        Ok(file.write_all(format!("{line}\n").as_bytes())?)
    }
}

impl AgentTree for OwnTree {
    fn folder(&self) -> &Path {
        &self.place.folder
    }

    fn end(self: Box<Self>, task: String, is_done: bool) -> BoxFuture<'static, String> {
        Box::pin(async move {
            let (root, branch) = (self.root.clone(), self.branch());
            match self.close(&task, u8::from(!is_done)).await {
                Ok(false) => String::new(),
                Ok(true) => {
                    let base = git::base_of(&root, &branch).await.unwrap_or_else(|_| "HEAD".to_owned());
                    let base = base.get(..SHORT).unwrap_or(&base);
                    format!(
                        "Its changes are on the branch {branch}; `git diff {base} {branch} | git apply` applies them here"
                    )
                }
                Err(failure) => {
                    format!("Its changes are not committed: {}; {}", failure.message(), failure.hint)
                }
            }
        })
    }
}

pub fn of_agent(
    root: PathBuf,
    id: String,
    is_new: bool,
) -> BoxFuture<'static, Result<Option<Box<dyn AgentTree>>, String>> {
    Box::pin(async move {
        if !is_new && OwnTree::earlier(&root, AGENTS, &id).is_none() {
            return Ok(None);
        }
        if Isolation::of(&root, false) != Isolation::Worktree {
            return Err("this folder is not in a git repository".to_owned());
        }
        let tree = OwnTree::open(&root, AGENTS, &id).await.map_err(|failure| failure.message())?;
        Ok(Some(Box::new(tree) as Box<dyn AgentTree>))
    })
}
