//! The project's rules files (SPEC §1, L2), those of other agents among them. What counts, and when (facts looked up 2026-11-22):
//!
//! - **Always**, sent as L2, the user's first, then from the repository's root down to the workspace. Of each folder one: its
//!   `CODE_LAW.md`, else `AGENTS.override.md` or `AGENTS.md` (Codex: developers.openai.com/codex/guides/agents-md), else
//!   `CLAUDE.md` or `.claude/CLAUDE.md` (code.claude.com/docs/en/memory), else `GEMINI.md` (geminicli.com/docs/cli/gemini-md),
//!   else `.cursorrules`, else those of `.cursor/rules` with `alwaysApply` (cursor.com/docs/rules). Projects that have several
//!   mostly say the same in them, so no two are joined.
//! - **The user's own**, in all projects: `CODE_LAW.md` or `AGENTS.md` in mycode's configuration, else what another agent has at
//!   home: `~/.claude/CLAUDE.md`, `~/.codex/AGENTS.md`, `~/.gemini/GEMINI.md`. The first of them, as opencode does.
//! - **Where they belong**, behind the first result that touches a file there: the rules files of folders below the workspace,
//!   but none that git ignores (a package brings its own), and those of `.cursor/rules` whose `globs` match. A rule with nothing
//!   but a description is named behind a prompt that is about it (`agent/turn/additions/skills.rs`), for the model to Read.
//! - `@path` in `CLAUDE.md` and `GEMINI.md` imports a file of the project (`imports`); the user's own import any.
//!
//! `rules_file` reads one, `cursor` those of Cursor, `folder_rules` chooses those of a folder, `project_rules` joins and remembers
//! them. What a command has planted is held back (`config/trusted/held_back.rs`).

pub mod cursor;
pub mod folder_rules;
pub mod imports;
pub mod project_rules;
pub mod rules_file;
