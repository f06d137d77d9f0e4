//! Which dot files and folders in a home confined commands may see: those of toolchains and common programs.
//! The rest is hidden, in case it has secrets that `secret_paths` doesn't list. Reads names, never contents.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Directly in a home: dot files and folders. A `*` at the end matches any rest.
const IN_HOME: &str = "\
    .config .local .cache \
    .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .kshrc .cshrc \
    .tcshrc .login .inputrc .dircolors .oh-my-zsh .hushlogin .terminfo .fonts .fonts.conf .Xresources \
    .git .gitconfig .gitignore* .gitattributes .gitmessage* .git-template* .hgrc .hgignore \
    .vim .vimrc .nanorc .tmux.conf .screenrc .editorconfig .ripgreprc .ackrc .fdignore .ignore .gdbinit .lldbinit .psqlrc \
    .sqliterc .clang-format .clang-tidy .clangd .rustfmt.toml .prettierrc* .eslintrc* .stylelintrc* .rubocop.yml \
    .tool-versions .asdfrc .nvmrc .default-* .node-version .python-version .ruby-version .java-version .go-version \
    .asdf .mise .proto .nix-profile .nix-defexpr .nix-channels .nixpkgs .guix-profile .linuxbrew \
    .cargo .rustup .cargo-xwin .elan .zig .zvm .swiftpm .swiftly .swiftenv .nimble .choosenim .dub .crystal .shards \
    .npm .nvm .fnm .volta .n .nodenv .node-gyp .electron-gyp .yarn .pnpm .pnpm-store .bun .deno .corepack \
    .pyenv .virtualenvs .venv .venvs .conda .condarc .anaconda* .miniconda* .miniforge* .mamba* .micromamba .pixi .pip \
    .pipx .poetry .pdm .rye .hatch .pylintrc .flake8 .pycodestyle .matplotlib .ipython .jupyter .keras .nltk_data .modular \
    .rbenv .rvm .gem .gemrc .bundle .irbrc .rspec .pryrc \
    .m2 .gradle .ivy2 .sbt .coursier .sdkman .jenv .jabba .java .jdks .konan .kotlin .groovy .lein .clojure .bloop .mill \
    .android .pub-cache .dart* .flutter* .fvm .nuget .dotnet .omnisharp .templateengine .cocoapods \
    .go .goenv .gvm .gimme .stack .cabal .ghcup .ghc .opam .juliaup .julia .hex .mix .kerl .kiex \
    .cpan .cpanm .perlbrew .plenv .perl5 .luarocks .luaver .R .Rprofile .composer .phpenv .phpbrew .symfony5 \
    .ccache .sccache .cmake .conan* .vcpkg .bazel* .xmake .emscripten* .emsdk .platformio .arduino15 .espressif \
    .foundry .svm .solcx .avm .wasmer .wasmtime .wasmedge .tfenv .tflint.d .terraform.d .pulumi .krew .ollama .huggingface \
    .dbt .ansible .subversion .selenium .cypress";

const IN_CONFIG: &str = "\
    git hg jj tig lazygit gitui delta bash zsh fish starship.toml direnv tmux zellij nvim vim helix kak emacs doom \
    bat fd ripgrep eza lsd htop fontconfig locale.conf user-dirs.dirs user-dirs.locale \
    pip uv pypoetry pdm hatch rye ruff black flake8 pycodestyle pylintrc yapf mypy matplotlib conda mamba \
    yarn pnpm nvm fnm volta mise asdf prettier cargo rustfmt nextest.toml bacon go gopls golangci-lint zig zls clangd ccache \
    sccache cmake meson nix nixpkgs guix composer cabal stack opam julia luarocks stylua flutter dart wasmtime typst latexmk \
    tree-sitter yamllint shellcheckrc taplo just nimble nushell";

const IN_LOCAL: &str = "bin lib lib64 libexec include share state src opt man pipx";

const IN_SHARE: &str = "\
    mise asdf fnm nvm pnpm yarn npm node uv pipx virtualenv virtualenvs pypoetry pdm hatch rye conda mamba pyenv rustup cargo \
    go cabal stack opam ghcup coursier gradle kotlin zig swiftly julia ruby gem rbenv composer flutter dart luarocks nimble R \
    jupyter nix guix aquaproj-aqua dotnet NuGet solana wasmer typst tree-sitter bash-completion zsh fish zinit sheldon man \
    fonts icons mime locale nvim vim helix bob direnv cmake";

const IN_STATE: &str = "pnpm nix mise uv";

/// The folders that are filtered, and what is visible in each; only the home itself goes by the dot.
const LEVELS: &[(&str, &str)] = &[
    ("", IN_HOME),
    (".config", IN_CONFIG),
    (".local", IN_LOCAL),
    (".local/share", IN_SHARE),
    (".local/state", IN_STATE),
];

/// System folders: home links into them point to installed software.
const SYSTEM: &[&str] =
    &["/usr", "/opt", "/nix", "/gnu", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/var/lib", "/snap"];

/// What of `homes` (canonical) is hidden. In a home inside the workspace: only known secrets.
pub fn closed(homes: &[PathBuf], workspace: &Path) -> BTreeSet<PathBuf> {
    let elsewhere = homes.iter().filter(|home| !home.starts_with(workspace));
    let levels = elsewhere.flat_map(|home| LEVELS.iter().map(move |(level, seen)| (home, *level, *seen)));
    let mut closed = BTreeSet::new();
    for (home, level, seen) in levels {
        let Ok(folder) = home.join(level).canonicalize() else { continue };
        let seen: Vec<&str> = seen.split_whitespace().collect();
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if level.is_empty() && !name.starts_with('.') || is_seen(&name, &seen) {
                continue;
            }
            let path = entry.path();
            if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                closed.insert(path);
            } else if let Ok(real) = path.canonicalize()
                && !is_shared(&real, homes, workspace)
            {
                closed.insert(real);
            }
        }
    }
    closed
}

fn is_seen(name: &str, seen: &[&str]) -> bool {
    seen.iter().any(|known| match known.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == *known,
    })
}

/// Whether a link's target must stay visible: hiding it would hide the system, a home or the workspace.
fn is_shared(real: &Path, homes: &[PathBuf], workspace: &Path) -> bool {
    SYSTEM.iter().any(|folder| real.starts_with(folder))
        || real.starts_with(workspace)
        || homes.iter().any(|home| home.starts_with(real))
        // In a home it goes by its own name.
        || homes.iter().any(|home| real.starts_with(home))
        || real.components().count() <= 2
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_no_list_knows_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (home, moved) = (top.join("home"), top.join("disk/odd"));
        for name in
            [".cargo", ".odd", ".config/git", ".config/odd", ".local/share/uv", ".local/share/odd", "work"]
        {
            std::fs::create_dir_all(home.join(name)).unwrap();
        }
        std::fs::write(home.join(".oddrc"), "").unwrap();
        std::fs::create_dir_all(&moved).unwrap();
        for (to, name) in [(&moved, ".moved"), (&home.join("work"), ".link"), (&"/usr/lib".into(), ".system")]
        {
            std::os::unix::fs::symlink(to, home.join(name)).unwrap();
        }
        let homes = [home.clone()];
        let mut expected =
            BTreeSet::from([".odd", ".oddrc", ".config/odd", ".local/share/odd"].map(|name| home.join(name)));
        expected.insert(moved);
        assert_eq!(closed(&homes, &home.join("work")), expected);
        assert!(closed(&homes, &home).is_empty());
    }
}
