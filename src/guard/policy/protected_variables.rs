//! Variables that change what programs do: they load code, run a pager, name other settings.

use crate::sandbox::places;

const TAME: &[&str] = &["", "cat", "true", ":", "0", "1", "no", "never", "less", "echo", "."];

/// Whether setting the variable may change what programs do. `None`: the value is unknown.
pub fn steers(name: &str, value: Option<&str>) -> bool {
    // Only loading code matters here: memory limits are common.
    if name == "NODE_OPTIONS" {
        return value
            .is_none_or(|value| ["require", "-r", "import", "loader"].iter().any(|bad| value.contains(bad)));
    }
    let proxy = name.to_ascii_lowercase().ends_with("_proxy");
    let place = name != "GIT_CONFIG_NOSYSTEM"
        && any_of("parts of variables that name places", |part| name.contains(part));
    let tame = match value {
        _ if matches!(name, "PATH" | "IFS" | "HOME") => false,
        Some(value) if place => value.is_empty(),
        Some(value) => TAME.contains(&value),
        None => false,
    };
    !tame
        && (proxy
            || any_of("steering variables", |known| name == known)
            || any_of("beginnings of steering variables", |front| name.starts_with(front)))
}

fn any_of(list: &str, fits: impl Fn(&str) -> bool) -> bool {
    places::list(list).flat_map(str::split_whitespace).any(fits)
}
