//! The account of the window as Claude's control protocol has it (`SDKControlGetContextUsageResponse` of
//! `@anthropic-ai/claude-agent-sdk` 0.3.332).

use serde_json::{Value, json};

use base::protocol::ledger::{LedgerRow, LedgerView};

pub fn context_usage(view: &LedgerView, model: &str) -> Value {
    let sum = |belongs: &dyn Fn(&LedgerRow) -> bool| -> u64 {
        view.rows.iter().filter(|row| belongs(row)).map(|row| row.tokens).sum()
    };
    let is_fixed = |row: &LedgerRow| matches!(row.layer.as_str(), "L1" | "L2");
    let (tools, rules) = (sum(&|row| row.id == "tool"), sum(&|row| row.layer == "L2"));
    let used = [
        ("system_prompt", "System prompt", sum(&|row| row.layer == "L1") - tools),
        ("system_tools", "System tools", tools),
        ("memory_files", "Memory files", rules),
        ("messages", "Messages", sum(&|row| !is_fixed(row))),
    ];
    let free = view.window_tokens.saturating_sub(view.total_tokens);
    let row = |(id, name, tokens): (&str, &str, u64), kind| json!({"id": id, "name": name, "tokens": tokens, "color": "inactive", "kind": kind});
    let mut categories: Vec<Value> = used.into_iter().map(|one| row(one, "used")).collect();
    categories.push(row(("free_space", "Free space", free), "free"));
    let names = view.rows.iter().filter(|row| row.layer == "L2");
    let names = names.flat_map(|row| row.origin.strip_prefix("rules: ").unwrap_or_default().split(", "));
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    // Only the rules' sum is known.
    let share = rules / names.len().max(1) as u64;
    let files: Vec<Value> =
        names.iter().map(|name| json!({"path": name, "type": "Project", "tokens": share})).collect();
    let percentage = (view.total_tokens * 100).div_ceil(view.window_tokens.max(1));
    json!({
        "categories": categories, "totalTokens": view.total_tokens, "maxTokens": view.window_tokens,
        "rawMaxTokens": view.window_tokens, "percentage": percentage, "gridRows": [], "model": model,
        "memoryFiles": files, "mcpTools": [], "agents": [], "isAutoCompactEnabled": true, "apiUsage": null,
    })
}
