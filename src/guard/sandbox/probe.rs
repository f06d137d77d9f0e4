//! Which layers this machine supports; tried in the helper once per process, only when needed.

use std::path::Path;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::launch;
use super::macos::seatbelt;
use super::spec::Layers;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxLayer {
    pub name: String,
    pub available: bool,
    /// What it does here, or why it is missing.
    pub detail: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxStatus {
    /// Nothing outside the workspace can be changed, and no secret read.
    pub files: bool,
    pub network: bool,
    pub layers: Layers,
    pub rows: Vec<SandboxLayer>,
}

impl SandboxLayer {
    pub fn new(name: &str, available: bool, detail: String) -> Self {
        Self { name: name.to_owned(), available, detail }
    }
}

impl SandboxStatus {
    pub fn missing(&self) -> Option<String> {
        let missing: Vec<&str> =
            self.rows.iter().filter(|row| !row.available).map(|row| row.name.as_str()).collect();
        (!missing.is_empty()).then(|| missing.join(", "))
    }

    /// What commands can and can't do here.
    pub fn limits(&self) -> Vec<&'static str> {
        if !self.files || !cfg!(target_os = "linux") {
            return Vec::new();
        }
        let mut limits = vec![
            "prevented: writing outside the workspace, reading secrets in the home folder, other programs' memory \
             and environment, changing the machine",
        ];
        limits.extend(match self.layers.namespaces {
            true => &["not prevented: reading other files of the system, using up memory and disk space"][..],
            false => &[
                "prevented by system calls only: changing modes and times of files outside, moving `.git`, \
                 priorities and limits of other programs; a program with threads can get around these",
                "off, because they would be shared with other programs: SysV and POSIX queues, terminals and \
                 /dev/shm if others use them, sockets unless the network is allowed",
                "not prevented: seeing which other programs run, reading other files of the system, using up \
                 memory and disk space; outside the sandbox (approved, or at `full`), reaching files that rules deny \
                 without naming them",
            ],
        });
        limits
    }

    /// Why commands can't be confined here, and what to do.
    pub fn refusal(&self) -> Option<String> {
        let why: Vec<String> = self
            .rows
            .iter()
            .filter(|row| !row.available)
            .map(|row| format!("{} ({})", row.name, row.detail))
            .collect();
        (!self.files)
            .then(|| format!("commands can't be confined on this machine; missing: {}", why.join("; ")))
    }
}

/// Probes on a separate thread, so that nobody has to wait later.
pub fn begin() {
    std::thread::spawn(status);
}

/// The first call probes, in a few milliseconds.
pub fn status() -> &'static SandboxStatus {
    static STATUS: OnceLock<SandboxStatus> = OnceLock::new();
    STATUS.get_or_init(|| match () {
        () if cfg!(target_os = "linux") => {
            ask_helper().unwrap_or_else(|why| of_system("sandbox", false, why))
        }
        () if cfg!(target_os = "macos") && Path::new(seatbelt::PROGRAM).exists() => {
            of_system("seatbelt", true, seatbelt::PROGRAM.to_owned())
        }
        () if cfg!(target_os = "macos") => {
            of_system("seatbelt", false, format!("{} is missing", seatbelt::PROGRAM))
        }
        () => of_system("sandbox", false, "not supported on this system".to_owned()),
    })
}

fn of_system(name: &str, available: bool, detail: String) -> SandboxStatus {
    let rows = vec![SandboxLayer::new(name, available, detail)];
    SandboxStatus { files: available, network: available, layers: Layers::default(), rows }
}

fn ask_helper() -> Result<SandboxStatus, String> {
    let output = launch::helper()
        .and_then(|helper| {
            let mut command = std::process::Command::new(helper);
            command.args([launch::HELPER_NAME, launch::PROBE]).stdin(std::process::Stdio::null()).output()
        })
        .map_err(|error| format!("the helper could not be started: {error}"))?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("no answer from the helper: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
