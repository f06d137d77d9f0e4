//! What a run may and may not do: `--allow`, `--deny`, `--max-cost`, and the rules in configuration files. Rules may name
//! our tools in any case.

use std::path::Path;

use crate::cli::args::ModelArgs;
use crate::cli::report::Failure;
use agent::assemble::RunLimits;
use base::config::files::load::Loaded;
use base::config::permission_rules::{PermissionLists, RuleSource};
use base::config::settings::Permission;
use base::protocol::{claude_tools, notice};
use base::text::one_line;
use context::session::record::BegunWith;
use guard::policy::denied_paths::DeniedPaths;
use guard::policy::flag_rules::FlagRules;
use tools::on_demand::more_tools;
use tools::plan::skill;
use tools::registry;

const SHOWN_CHARS: usize = 300;

pub fn of(args: &ModelArgs, loaded: &mut Loaded, workspace: &Path) -> Result<RunLimits, Failure> {
    let rules = rules(args, loaded)?;
    if let Some(place) = loaded.admin.lock("permissions") {
        let theirs = loaded.rules.iter().filter(|source| !loaded.admin.allows(&source.place));
        let unused =
            theirs.filter(|source| !source.lists.allow.is_empty()).map(|source| source.place.clone());
        let mut unused: Vec<String> = unused.collect();
        unused.extend((!args.allow.is_empty()).then(|| "--allow".to_owned()));
        if !unused.is_empty() {
            let unused = unused.join(", ");
            loaded.notices.push(format!("{unused}: allow rules are ignored, because {place} locks them."));
        }
    }
    for rule in rules.denied.iter().filter(|rule| rule.place.is_none()) {
        let files = DeniedPaths::of(std::slice::from_ref(rule), workspace);
        if let Some(pattern) = rule.pattern.as_ref().filter(|_| files.lacks_files()) {
            let tool = &rule.tool;
            loaded.notices.push(format!("--deny '{tool}({pattern})' matches no file yet."));
        }
    }
    loaded.notices.extend(unusable(&rules));
    let begun = BegunWith { deny: args.deny.clone(), model: args.model_options(), ..BegunWith::default() };
    Ok(RunLimits { rules, begun, max_cost: args.max_cost, ..RunLimits::default() })
}

pub fn unusable(rules: &FlagRules) -> Option<String> {
    let named = one_line(&rules.unusable.join("; "), SHOWN_CHARS);
    (!named.is_empty()).then(|| format!("These rules of other agents' settings can't be used: {named}"))
}

pub fn rules(args: &ModelArgs, loaded: &Loaded) -> Result<FlagRules, Failure> {
    let locked = loaded.admin.lock("permissions").is_some();
    let mut sources: Vec<RuleSource> =
        std::iter::once(flags(args)).chain(loaded.rules.iter().cloned()).collect();
    for source in sources.iter_mut().filter(|source| locked && !loaded.admin.allows(&source.place)) {
        source.lists.allow.clear();
    }
    Ok(FlagRules { locked, ..parse(&sources)? })
}

pub fn flags(args: &ModelArgs) -> RuleSource {
    let (allow, ask, deny) = (args.allow.clone(), args.ask.clone(), args.deny.clone());
    let lists = PermissionLists { allow, ask, deny };
    RuleSource { lists, foreign: args.foreign_rules, ..RuleSource::default() }
}

/// A rule that names nothing is an error, except in another program's file.
pub fn parse(sources: &[RuleSource]) -> Result<FlagRules, Failure> {
    let tools = registry::all();
    let ours = |written: &str| registry::named(&tools, written).unwrap_or(written).to_owned();
    let mut names: Vec<String> = tools.iter().flat_map(|tool| claude_tools::names(tool.name())).collect();
    names.extend([skill::NAME, more_tools::NAME].map(str::to_owned));
    FlagRules::parse(sources, ours, &names).map_err(|why| {
        Failure::usage(
            one_line(&why, SHOWN_CHARS),
            "rules look like 'Bash(git push *)', 'Edit(migrations/**)', 'WebFetch(docs.rs)', Task, 'mcp__server__tool'",
        )
    })
}

/// What the session began with stays, unless `--permission` says otherwise.
pub fn keep_begun(begun: BegunWith, args: &ModelArgs, loaded: &mut Loaded) {
    if begun.read_only && args.permission.is_none() {
        loaded.work.permission = Permission::ReadOnly;
        loaded.notices.push(notice::stays_read_only("--permission"));
    }
    if !begun.deny.is_empty() {
        if !begun.deny.iter().all(|rule| args.deny.contains(rule)) {
            loaded.notices.push(notice::stays_denied(&begun.deny.join(", ")));
        }
        let lists = PermissionLists { deny: begun.deny, ..PermissionLists::default() };
        // It was usable once.
        let place = "this session".to_owned();
        loaded.rules.push(RuleSource { place, lists, foreign: true, ..RuleSource::default() });
    }
}
