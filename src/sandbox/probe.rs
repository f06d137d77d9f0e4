//! Which layers this machine can hold, found out by trying each in the helper, once per process and only when
//! something asks.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::launch;
use super::spec::Layers;

/// The argument that makes the helper try instead of confining.
pub const PROBE: &str = "--probe";

/// One layer, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxLayer {
    /// Such as `namespaces`.
    pub name: String,
    pub available: bool,
    /// What it does here, or why it is missing.
    pub detail: String,
}

/// What the sandbox can hold on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxStatus {
    /// Nothing outside the workspace is changed, no secret is read.
    pub files: bool,
    /// The network can be kept off.
    pub network: bool,
    pub layers: Layers,
    pub rows: Vec<SandboxLayer>,
}

impl SandboxStatus {
    /// The missing layers in a few words; `None` when all are there.
    pub fn missing(&self) -> Option<String> {
        let missing: Vec<&str> =
            self.rows.iter().filter(|row| !row.available).map(|row| row.name.as_str()).collect();
        (!missing.is_empty()).then(|| missing.join(", "))
    }

    /// Why commands cannot be confined here, with what to do; `None` when they can.
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

    fn unknown(why: &str) -> Self {
        let row = SandboxLayer { name: "sandbox".to_owned(), available: false, detail: why.to_owned() };
        Self { rows: vec![row], ..Self::default() }
    }
}

/// What this machine holds. The first call tries it, in some milliseconds.
pub fn held() -> &'static SandboxStatus {
    static HELD: OnceLock<SandboxStatus> = OnceLock::new();
    HELD.get_or_init(|| match ask_helper() {
        Ok(held) => held,
        Err(why) => SandboxStatus::unknown(&why),
    })
}

fn ask_helper() -> Result<SandboxStatus, String> {
    if cfg!(target_os = "macos") {
        let there = std::path::Path::new("/usr/bin/sandbox-exec").exists();
        let detail = if there { "sandbox-exec" } else { "/usr/bin/sandbox-exec is not there" };
        let row = SandboxLayer { name: "seatbelt".to_owned(), available: there, detail: detail.to_owned() };
        return Ok(SandboxStatus {
            files: there,
            network: there,
            layers: Layers::default(),
            rows: vec![row],
        });
    }
    if !cfg!(target_os = "linux") {
        return Err("there is no sandbox for this system".to_owned());
    }
    let helper = launch::helper().ok_or("the program cannot find itself to start the helper")?;
    let output = std::process::Command::new(helper)
        .args([launch::HELPER_NAME, PROBE])
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(|error| format!("the helper could not be started: {error}"))?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("the helper said nothing: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
