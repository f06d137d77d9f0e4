//! Variables that change what programs do: they load code, run a pager, name other settings.

const NAMES: &str = "\
    PATH IFS ENV BASH_ENV SHELL SHELLOPTS BASHOPTS PROMPT_COMMAND PS4 GLOBIGNORE CDPATH HOME XDG_CONFIG_HOME \
    XDG_CONFIG_DIRS XDG_DATA_HOME XDG_DATA_DIRS XDG_STATE_HOME XDG_CACHE_HOME TMPDIR PAGER MANPAGER MANOPT MANPATH \
    EDITOR VISUAL BROWSER RIPGREP_CONFIG_PATH GREP_OPTIONS TAR_OPTIONS GCONV_PATH LOCPATH NLSPATH HOSTALIASES \
    TERMINFO TERMCAP OPENSSL_CONF OPENSSL_MODULES SSLKEYLOGFILE MAKEFLAGS MAKEFILES KUBECONFIG JAVA_TOOL_OPTIONS \
    _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH BAT_CONFIG_PATH BAT_PAGER DELTA_PAGER FZF_DEFAULT_COMMAND RUSTC \
    RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTDOC";

const FRONTS: &str = "\
    LD_ DYLD_ MALLOC_ GIT_ LESS BASH_FUNC_ PERL5 PERLLIB RUBYOPT GEM_ BUNDLE_ NPM_ npm_ YARN_ PIP_ UV_ CARGO_HOME \
    CARGO_ALIAS_ CARGO_BUILD_ CARGO_REGISTR CARGO_TARGET_X CARGO_TARGET_A GOFLAGS GOPROXY GOPATH GOTOOLCHAIN SSH_ \
    DOCKER_ AWS_ MYCODE_ PYTHONSTARTUP PYTHONHOME PYTHONINSPECT PYTHONBREAKPOINT";

const TAME: &[&str] = &["", "cat", "true", ":", "0", "1", "no", "never", "less", "echo", "."];

/// Parts of names whose value is a folder, file or library: any word may be the name of one.
const PLACES: &str = "\
    LD_ PATH HOME DIR CONF ENV LIB FILE STARTUP TERMINFO TERMCAP TREE INDEX OBJECT OPENSSL XDG_ PRELOAD";

/// Whether setting the variable may change what programs do. `None`: the value is unknown.
pub fn steers(name: &str, value: Option<&str>) -> bool {
    // Only loading code matters here: memory limits are common.
    if name == "NODE_OPTIONS" {
        return value
            .is_none_or(|value| ["require", "-r", "import", "loader"].iter().any(|bad| value.contains(bad)));
    }
    let proxy = name.to_ascii_lowercase().ends_with("_proxy");
    let place = name != "GIT_CONFIG_NOSYSTEM" && any_of(PLACES, |part| name.contains(part));
    let tame = match value {
        _ if matches!(name, "PATH" | "IFS" | "HOME") => false,
        Some(value) if place => value.is_empty(),
        Some(value) => TAME.contains(&value),
        None => false,
    };
    !tame
        && (proxy || any_of(NAMES, |known| name == known) || any_of(FRONTS, |front| name.starts_with(front)))
}

fn any_of(list: &str, fits: impl Fn(&str) -> bool) -> bool {
    list.split(' ').any(fits)
}
