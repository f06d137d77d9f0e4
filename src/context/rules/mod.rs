//! The project's rules files, including those of other agents. Which ones apply, and when (checked 2026-11-22):
//!
//! - **Always**, sent as L2: the user's first, then from the repository root down to the workspace. One per folder:
//!   `CODE_LAW.md`, else `AGENTS.override.md` or `AGENTS.md` (Codex: developers.openai.com/codex/guides/agents-md), else
//!   `CLAUDE.md` or `.claude/CLAUDE.md` (code.claude.com/docs/en/memory), else `GEMINI.md`
//!   (geminicli.com/docs/cli/gemini-md), else `.cursorrules`, else `.cursor/rules` with `alwaysApply`
//!   (cursor.com/docs/rules). They aren't joined: projects with several mostly repeat the same rules.
//! - **The user's own**, in all projects: `CODE_LAW.md` or `AGENTS.md` in mycode's configuration, else the first of
//!   `~/.claude/CLAUDE.md`, `~/.codex/AGENTS.md`, `~/.gemini/GEMINI.md` (as opencode does).
//! - **Scoped**, after the first result that touches a file there: rules files in folders below the workspace that git
//!   doesn't ignore (packages bring their own), and rules for matching files (`scoped_rule`): `.cursor/rules`,
//!   `.claude/rules`, `.github/instructions`. A rule with only a description is named after a prompt about it
//!   (`agent/turn/additions/skills.rs`), for the model to Read.
//! - `@path` in `CLAUDE.md` and `GEMINI.md` imports a project file (`imports`); the user's own import any file.
//!
//! Rules that take more than a tenth of the window are shortened (`shortened`).
//! Rules planted by a command are held back (`config/trusted/held_back.rs`).

pub mod folder_rules;
pub mod imports;
pub mod other_settings;
pub mod project_rules;
pub mod rules_file;
pub mod scoped_rule;
pub mod shortened;
