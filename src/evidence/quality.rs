//! How good a task context is, before it costs anything: from 0 (useless) to 1.

use super::task_context::TaskContext;

/// Under this a context is not worth its tokens.
pub const WORTH_SHOWING: f64 = 0.35;
/// A best file with this score is a sure hit.
const SURE_SCORE: f32 = 4.0;

/// The grade of a context.
pub fn evaluate_context(context: &TaskContext) -> f64 {
    let Some(best) = context.modify.first() else { return 0.0 };
    let sure = f64::from((best.score / SURE_SCORE).clamp(0.0, 1.0));
    // A clear winner is worth more than ten equals.
    let second = context.modify.get(1).map_or(0.0, |file| file.score);
    let clear = f64::from((1.0 - second / best.score.max(f32::MIN_POSITIVE)).clamp(0.0, 1.0));
    let strong = context.keywords.iter().filter(|keyword| keyword.strong).count().min(3) as f64 / 3.0;
    let enough = context.keywords.len().min(4) as f64 / 4.0;
    let around = if context.reference.is_empty() { 0.0 } else { 1.0 };
    (0.45 * sure + 0.1 * clear + 0.2 * strong + 0.2 * enough + 0.05 * around).clamp(0.0, 1.0)
}
