//! `--allow`, `--deny` and `--max-cost`. Rules may name our tools in any case.

use crate::cli::args::ModelArgs;
use crate::cli::report::Failure;
use agent::assemble::RunLimits;
use base::path::on_one_line;
use guard::policy::flag_rules::FlagRules;
use tools::hook::tool_names;
use tools::on_demand::more_tools;
use tools::plan::skill;
use tools::registry;

/// A `--deny` that names nothing is an error.
pub fn of(args: &ModelArgs) -> Result<RunLimits, Failure> {
    let rules =
        if args.allow.is_empty() && args.deny.is_empty() { FlagRules::default() } else { rules(args)? };
    Ok(RunLimits { rules, max_cost: args.max_cost, ..RunLimits::default() })
}

fn rules(args: &ModelArgs) -> Result<FlagRules, Failure> {
    let mut tools = registry::builtin();
    tools.extend(registry::on_demand(true));
    let ours = |written: &str| match registry::find(&tools, written) {
        Ok(tool) => tool.name().to_owned(),
        Err(_) => written.to_owned(),
    };
    let rules = FlagRules::parse(&args.allow, &args.deny, ours).map_err(|why| {
        Failure::usage(why, "rules look like 'Bash(cargo test)', Edit, 'WebFetch(docs.rs)', 'server.tool'")
    })?;
    let known: Vec<String> = tools.iter().flat_map(|tool| tool_names::names(tool.name())).collect();
    for rule in &rules.denied {
        let of_server = rule.tool.contains('.') || rule.tool.starts_with("mcp__");
        if !of_server
            && ![skill::NAME, more_tools::NAME].contains(&&*rule.tool)
            && !known.iter().any(|name| rule.names(name))
        {
            let name = on_one_line(&rule.tool);
            return Err(Failure::usage(
                format!("--deny {name}: there is no such tool"),
                "rules look like 'Bash(git push *)', 'Edit(migrations/**)', Task, 'mcp__server__tool'",
            ));
        }
    }
    Ok(rules)
}
