//! How a task of `mycode exec` comes in and its events go out, for programs.

use std::path::PathBuf;

use clap::Args;

use crate::cli::report::{Failure, OrFail};
use base::protocol::attachment::Attachment;
use base::{file, path};
use frontend::exec::run::OutputForm;

const MAX_IMAGE: u64 = 32 * 1024 * 1024;

#[derive(Args, Debug, Default)]
pub struct FormArgs {
    /// Show the model this picture; can be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "each")]
    pub image: Vec<PathBuf>,

    /// `mycode help scripts`
    #[arg(long, hide = true, value_parser = ["text", "codex"], conflicts_with_all = ["each", "json"])]
    pub format: Option<String>,
}

impl FormArgs {
    /// `None` for the usual ones.
    pub fn form(&self) -> Option<OutputForm> {
        match self.format.as_deref()? {
            "codex" => Some(OutputForm::Codex),
            _ => None,
        }
    }

    pub fn images(&self) -> Result<Vec<Attachment>, Failure> {
        let read = |file: &PathBuf| {
            let name = file.display().to_string();
            let (bytes, _) = file::read(&path::follow(file), MAX_IMAGE)
                .or_usage(format!("--image {name}"), "name a picture file of at most 32 MiB")?;
            Ok(Attachment::Image { name, bytes })
        };
        self.image.iter().map(read).collect()
    }
}
