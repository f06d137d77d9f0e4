//! The sandbox of one session: its place, its private folder, and the wrapping of each command. The private folder is made
//! when it is first needed and goes with the session.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fd::OwnedFd;

use super::launch;
use super::nested_repositories::Known;
use super::plan::{self, Private, SandboxPaths};
use super::probe;
use super::spec::{Confinement, LaunchMode, SandboxLevel, SandboxSpec};
use crate::base::process::run::LaunchWrapper;

/// The sandbox of a session.
#[derive(Debug)]
pub struct Sandbox {
    workspace: PathBuf,
    own: Vec<PathBuf>,
    readable: Vec<PathBuf>,
    nested: Mutex<Option<Known>>,
    private: Mutex<Option<Private>>,
}

impl Sandbox {
    /// For commands in `workspace` (canonical). `own` are our folders, hidden but for `readable` in them.
    pub fn new(workspace: PathBuf, own: Vec<PathBuf>, readable: Vec<PathBuf>) -> Self {
        Self { workspace, own, readable, nested: Mutex::new(None), private: Mutex::new(None) }
    }

    /// What is put before a command that starts in `cwd`; `None` when nothing is.
    ///
    /// # Errors
    /// When the command cannot be confined: it must not run then.
    pub fn wrap(
        &self,
        confinement: Confinement,
        cwd: &Path,
        side_fd: Option<i32>,
    ) -> io::Result<Option<LaunchWrapper>> {
        let Confinement::Confined { .. } = confinement else { return Ok(None) };
        let plan = self.plan(confinement, cwd)?;
        let Some(plan) = plan else { return Ok(None) };
        if cfg!(target_os = "macos") {
            let args = crate::sandbox::macos::seatbelt::wrap(&plan, &[]);
            let (program, args) =
                args.split_first().map(|(program, args)| (program.clone(), args.to_vec())).unzip();
            let environment = plan.environment;
            return Ok(program.zip(args).map(|(program, args)| LaunchWrapper {
                program,
                args,
                descriptors: Vec::new(),
                lifeline: None,
                environment,
            }));
        }
        helper(&LaunchMode::Confined(Box::new(plan)), side_fd).map(Some)
    }

    /// The plan of a confined command; `None` for a free one.
    ///
    /// # Errors
    /// As [`Self::wrap`].
    pub fn plan(&self, confinement: Confinement, cwd: &Path) -> io::Result<Option<SandboxSpec>> {
        let Confinement::Confined { level, network } = confinement else { return Ok(None) };
        let held = probe::held();
        if let Some(why) = held.refusal() {
            return Err(io::Error::other(why));
        }
        let place = SandboxPaths {
            workspace: self.workspace.clone(),
            own: self.own.clone(),
            readable: self.readable.clone(),
            nested: match level {
                SandboxLevel::Workspace => {
                    let mut nested = self.nested.lock().unwrap_or_else(PoisonError::into_inner);
                    nested.get_or_insert_with(|| Known::look(&self.workspace)).now(&self.workspace)
                }
                SandboxLevel::ReadOnly => Vec::new(),
            },
            private: self.private()?,
        };
        Ok(Some(plan::make(&place, held.layers, level, network, cwd)))
    }

    fn private(&self) -> io::Result<PathBuf> {
        let mut private = self.private.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody may have cleaned up the folder for temporary files.
        if let Some(folder) =
            private.as_ref().map(|private| &private.folder).filter(|folder| folder.join("tmp").is_dir())
        {
            return Ok(folder.clone());
        }
        let made = plan::private_folder()?;
        let folder = made.folder.clone();
        *private = Some(made);
        Ok(folder)
    }

    /// Hands the private folder over: whoever runs the plan removes it.
    ///
    /// # Errors
    /// When its lock cannot go on.
    pub fn leave_private(&self) -> io::Result<()> {
        self.private.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Private::hand_on)
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if let Some(private) = self.private.lock().unwrap_or_else(PoisonError::into_inner).take() {
            plan::remove_private(&private.folder);
        }
    }
}

/// What ends an unconfined job with the agent; `None` where there is no helper.
pub fn keep() -> Option<LaunchWrapper> {
    cfg!(target_os = "linux").then(|| helper(&LaunchMode::Kept, None).ok()).flatten()
}

/// The same for a command that may leave something running.
pub fn linger(side_fd: i32) -> Option<LaunchWrapper> {
    cfg!(target_os = "linux").then(|| helper(&LaunchMode::Lingering, Some(side_fd)).ok()).flatten()
}

fn helper(wrapping: &LaunchMode, side_fd: Option<i32>) -> io::Result<LaunchWrapper> {
    let program = launch::helper()
        .ok_or_else(|| io::Error::other("the program cannot find itself to start the sandbox's helper"))?;
    let plan = launch::plan_file(wrapping)?;
    let (reader, lifeline) = io::pipe()?;
    Ok(LaunchWrapper {
        program: program.into(),
        args: launch::arguments(side_fd).to_vec(),
        descriptors: vec![(launch::PLAN_FD, plan), (launch::LIFELINE_FD, OwnedFd::from(reader))],
        lifeline: Some(lifeline.into()),
        environment: Vec::new(),
    })
}
