//! `mycode update`: says how to update this copy, judging by its location. Downloads nothing.

use std::path::Path;

use crate::cli::report::{self, Failure};
use base::file;

const MAX_LIST_BYTES: u64 = 4 * 1024 * 1024;

pub fn run() -> Result<(), Failure> {
    let exe = std::env::current_exe()?;
    let exe = exe.canonicalize().unwrap_or(exe);
    let (what, command) = way(&exe, Path::new(env!("CARGO_MANIFEST_DIR")), &|path| path.exists());
    report::say(&format!("mycode {} in {}: {what}\n{command}\n", env!("CARGO_PKG_VERSION"), exe.display()))?;
    Ok(())
}

fn way(exe: &Path, source: &Path, exists: &dyn Fn(&Path) -> bool) -> (String, String) {
    let folder = exe.parent().unwrap_or(Path::new("/"));
    let within = |part: &str| exe.to_string_lossy().contains(part);
    // Build folders have a `deps` folder; cargo copies only installed programs elsewhere.
    if exists(&folder.join("deps")) && exists(&source.join("Cargo.toml")) {
        let source = source.display();
        return (
            "built in a checkout".to_owned(),
            format!("git -C {source} pull && cargo build --release --manifest-path {source}/Cargo.toml"),
        );
    }
    if let Some(root) =
        folder.parent().filter(|root| folder.ends_with("bin") && exists(&root.join(".crates2.json")))
    {
        return ("installed by cargo".to_owned(), by_cargo(root));
    }
    let packaged = |list: &str| folder == Path::new("/usr/bin") && exists(Path::new(list));
    let packages = [
        (within("/nix/store/"), "nix profile upgrade mycode"),
        (within("/Cellar/"), "brew upgrade mycode"),
        (packaged("/var/lib/dpkg/info/mycode.list"), "sudo apt update && sudo apt install mycode"),
        (packaged("/lib/apk/db/installed"), "sudo apk upgrade mycode"),
        (packaged("/var/lib/pacman/local"), "sudo pacman -Syu mycode"),
        (packaged("/var/lib/rpm"), "sudo dnf upgrade mycode   # or: sudo zypper update mycode"),
    ];
    if let Some((_, command)) = packages.into_iter().find(|(here, _)| *here) {
        return ("installed as a package".to_owned(), command.to_owned());
    }
    let exe = exe.display();
    let command = format!(
        "Download the new release from where you got this one, check it (sha256sum -c SHA256SUMS), and replace \
         {exe} with it. Running sessions keep the old one."
    );
    ("installed by hand".to_owned(), command)
}

/// Cargo records the source: `mycode 0.1.0 (path+file:///src)`, `(git+https://…#commit)` or `(registry+https://…)`.
fn by_cargo(root: &Path) -> String {
    let list = file::small_text(&root.join(".crates2.json"), MAX_LIST_BYTES).unwrap_or_default();
    let list: serde_json::Value = serde_json::from_str(&list).unwrap_or_default();
    let installs = list["installs"].as_object();
    let entry = installs.and_then(|all| all.keys().find(|name| name.starts_with("mycode ")));
    from_source(entry.map_or("", String::as_str))
}

fn from_source(entry: &str) -> String {
    let source = entry.split_once('(').map_or("", |(_, source)| source.trim_end_matches(')'));
    match source.split_once('+') {
        Some(("path", url)) => {
            let folder = url.trim_start_matches("file://");
            format!("git -C {folder} pull && cargo install --locked --profile dist --path {folder}")
        }
        Some(("git", url)) => {
            let url = url.split(['#', '?']).next().unwrap_or_default();
            format!("cargo install --git {url} --force mycode")
        }
        _ => "cargo install mycode".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_told_apart_by_where_they_lie() {
        let said = |exe: &str, there: &[&str]| {
            let (what, command) = way(Path::new(exe), Path::new("/src"), &|path| {
                there.iter().any(|name| Path::new(name) == path)
            });
            format!("{what}: {command}")
        };
        let checkout = said("/build/debug/mycode", &["/build/debug/deps", "/src/Cargo.toml"]);
        assert!(checkout.contains("git -C /src pull"), "{checkout}");
        assert!(said("/h/.cargo/bin/mycode", &["/h/.cargo/.crates2.json"]).contains("cargo install mycode"));
        let debian = ["/var/lib/dpkg/info/mycode.list"];
        assert!(said("/usr/bin/mycode", &debian).contains("apt"));
        assert!(said("/usr/local/bin/mycode", &debian).contains("Download the new release"));
        assert!(said("/opt/homebrew/Cellar/mycode/1/bin/mycode", &[]).contains("brew upgrade"));
        assert!(said("/nix/store/x-mycode/bin/mycode", &[]).contains("nix profile"));
    }

    #[test]
    fn sources_of_cargo() {
        for (entry, expected) in [
            (
                "mycode 0.1.0 (path+file:///work/main)",
                "git -C /work/main pull && cargo install --locked --profile dist --path /work/main",
            ),
            ("mycode 0.1.0 (git+https://h/r?branch=x#abc)", "cargo install --git https://h/r --force mycode"),
            ("mycode 0.1.0 (registry+https://github.com/rust-lang/crates.io-index)", "cargo install mycode"),
            ("", "cargo install mycode"),
        ] {
            assert_eq!(from_source(entry), expected);
        }
    }
}
