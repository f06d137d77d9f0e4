//! A workspace with what attacks aim at, in a home of its own, and the verdicts about what is done there.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use base::config::mode::Mode;
use base::config::settings::Permission;
use guard::policy::access::Access;
use guard::policy::command::{self, AssessedAccess};
use guard::policy::path_scope::PathScope;
use guard::policy::rules::Rules;
use guard::policy::verdict::{Verdict, VerdictInputs};

pub struct Ground {
    _dir: tempfile::TempDir,
    pub workspace: PathBuf,
    pub scope: PathScope,
}

impl Ground {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let workspace = dir.path().canonicalize().unwrap().join("w");
        for folder in ["src", "build", "tests", ".git/hooks", "node_modules/.bin"] {
            fs::create_dir_all(workspace.join(folder)).unwrap();
        }
        for file in ["src/a.rs", "src/b.rs", "README.md", "a.rs", "build/x.o", "run.sh"] {
            fs::write(workspace.join(file), "").unwrap();
        }
        symlink("/etc", workspace.join("link")).unwrap();
        symlink("/home/u/.ssh", workspace.join("keys")).unwrap();
        Self::at(dir, workspace, PathBuf::from("/home/u"))
    }

    pub fn at(dir: tempfile::TempDir, workspace: PathBuf, home: PathBuf) -> Self {
        let scope = PathScope::at_home(&workspace, &[], &[], Some(home));
        Self { _dir: dir, workspace, scope }
    }

    fn inputs<'a>(&'a self, permission: Permission, confined: bool, rules: &'a Rules) -> VerdictInputs<'a> {
        VerdictInputs { permission, mode: Mode::Auto, rules, scope: &self.scope, readable: &[], confined }
    }

    pub fn decide(&self, permission: Permission, confined: bool, rules: &Rules, text: &str) -> Verdict {
        let assessment = command::assess(text, &self.workspace, &self.scope);
        self.inputs(permission, confined, rules).command(&assessment).verdict
    }

    /// The verdict about a tool's access; what lies in `readable` may be read.
    pub fn judge(&self, permission: Permission, readable: &[PathBuf], access: &Access) -> Verdict {
        let rules = Rules::default();
        let inputs = VerdictInputs { readable, ..self.inputs(permission, true, &rules) };
        inputs.decide(&[AssessedAccess::new(access, &self.scope)])
    }

    pub fn allows(&self, permission: Permission, confined: bool, text: &str) -> bool {
        self.decide(permission, confined, &Rules::default(), text) == Verdict::Allow
    }
}
