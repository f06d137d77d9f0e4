//! The `result` message that ends a turn for Claude's readers.

use serde_json::{Map, Value, json};

use crate::exec::printer::{ModelAnswer, failure};
use base::model::usage::Usage;
use base::protocol::event::{EndReason, FailureCause, TurnEnd, WindowState};

pub fn message(end: &TurnEnd, answer: &ModelAnswer, window: &WindowState, model: &str) -> Value {
    let done = end.reason == EndReason::Done;
    let cost = window.cost_usd.unwrap_or(0.0);
    let models = Map::from_iter([(model.to_owned(), of_model(window, cost))]);
    let mut message = json!({
        "type": "result", "subtype": subtype(&end.reason), "is_error": !done, "duration_ms": end.elapsed_ms,
        "duration_api_ms": end.elapsed_ms, "num_turns": end.steps, "stop_reason": done.then_some("end_turn"),
        "total_cost_usd": cost, "usage": usage(&end.usage), "modelUsage": models, "permission_denials": [],
        "terminal_reason": terminal_reason(&end.reason),
    });
    if done {
        let text = || answer.text.clone().unwrap_or_default();
        message["result"] = answer.output.as_ref().map_or_else(text, Value::to_string).into();
        if let Some(output) = &answer.output {
            message["structured_output"] = output.clone();
        }
    } else {
        message["errors"] = json!([failure(&end.reason)]);
    }
    message
}

fn subtype(reason: &EndReason) -> &'static str {
    match reason {
        EndReason::Done => "success",
        EndReason::StepLimit { .. } => "error_max_turns",
        EndReason::Failed { cause: FailureCause::CostLimit, .. } => "error_max_budget_usd",
        EndReason::Failed { cause: FailureCause::Schema, .. } => "error_max_structured_output_retries",
        EndReason::Failed { .. } | EndReason::ProviderFailed { .. } | EndReason::Interrupted { .. } => {
            "error_during_execution"
        }
    }
}

fn terminal_reason(reason: &EndReason) -> &'static str {
    match reason {
        EndReason::Done => "completed",
        EndReason::StepLimit { .. } => "max_turns",
        EndReason::Interrupted { .. } => "aborted_streaming",
        EndReason::ProviderFailed { .. } => "api_error",
        EndReason::Failed { cause: FailureCause::CostLimit, .. } => "budget_exhausted",
        EndReason::Failed { cause: FailureCause::Schema, .. } => "structured_output_retry_exhausted",
        EndReason::Failed { .. } => "model_error",
    }
}

/// Claude counts what came from the cache apart.
fn uncached(usage: &Usage) -> u64 {
    usage.input.saturating_sub(usage.cached).saturating_sub(usage.cache_write)
}

fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": uncached(usage), "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cached, "output_tokens": usage.output,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0}, "service_tier": "standard",
    })
}

fn of_model(window: &WindowState, cost: f64) -> Value {
    let total = &window.total;
    json!({
        "inputTokens": uncached(total), "outputTokens": total.output, "cacheReadInputTokens": total.cached,
        "cacheCreationInputTokens": total.cache_write, "webSearchRequests": 0, "costUSD": cost,
        "contextWindow": window.window_tokens, "maxOutputTokens": 0,
    })
}
