//! The table of slash commands (`commands.txt`).

use std::sync::LazyLock;

/// Name, arguments as shown, and help.
pub static COMMANDS: LazyLock<Vec<[&str; 3]>> = LazyLock::new(|| rows("command "));

/// Another agent's name, and ours.
pub static ALIASES: LazyLock<Vec<[&str; 2]>> = LazyLock::new(|| rows("alias "));

/// A command of other agents, and where to find the same here.
pub static ELSEWHERE: LazyLock<Vec<[&str; 2]>> = LazyLock::new(|| rows("elsewhere "));

/// The signs that input may begin with, and the chat's key combinations.
pub static SIGNS: LazyLock<Vec<[&str; 2]>> = LazyLock::new(|| rows("input "));
pub static LINES: LazyLock<Vec<[&str; 2]>> = LazyLock::new(|| rows("line "));

fn rows<const N: usize>(kind: &str) -> Vec<[&'static str; N]> {
    let lines = include_str!("commands.txt").lines().filter_map(|line| line.strip_prefix(kind));
    lines
        .filter_map(|line| line.splitn(N, " | ").map(str::trim).collect::<Vec<_>>().try_into().ok())
        .collect()
}
