//! The grammar against bash itself: what it takes, bash takes; and every program that bash runs was seen before.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use guard::shell::interpret::interpreter;
use guard::shell::syntax::parser::parse;
use proptest::prelude::*;

const TABLES: [&str; 2] =
    [include_str!("../../fixtures/everyday.tsv"), include_str!("../../fixtures/attacks.tsv")];

/// Scripts with everything that is hard to read; each runs only `one` … `nine` and builtins.
const HARD: &[&str] = &[
    "one; two && three || four",
    "one | two |& three",
    "one & two; wait",
    "(one; two); { three; }",
    "if one; then two; elif three; then four; else five; fi",
    "for i in a b; do one $i; done; while two; do break; done; until three; do break; done",
    "for ((i=0; i<2; i++)); do one; done",
    "select x in a; do one; break; done < /dev/null",
    "case $(one) in a|b) two;; (c) three;; *) four;; esac",
    "case x in x) one;& y) two;;& z) three; esac",
    "f() { one; }; f; function g { two; }; g; h() ( three ); h",
    "one <<EOF\n$(two) `three` ${x:-$(four)} $((5 + $(five)))\nEOF\nsix",
    "one <<'EOF'\n$(two)\nEOF\nthree",
    "one <<\"E F\"\n$(two)\nE F\nthree",
    "one <<-EOF\n\t$(two)\n\tEOF\nthree",
    "one <<A <<B\n$(two)\nA\n$(three)\nB\nfour",
    "one <<A && two\nx\nA\nthree",
    "one <<A | two\nx\\\nA\nA\nthree",
    "one <<< \"$(two)\"",
    "one <(two) >(three)",
    "one \"$(two \"$(three)\" '$(four)')\" '$(five)'",
    "one `two \\`three\\`` \"`four \\\"x\\\"`\"",
    "one $((1 + $(two))) $(( (1) ))",
    "((x = $(one), 1)); two",
    "a=(x $(one) \"$(two)\"); b[$(three)]=1; c+=($(four)); five",
    "[[ -n $(one) && ( $(two) == a* || ! x ) ]] && three",
    "[[ a =~ ^(a|b)$ ]] && one; [[ a < b ]] && two; [[ ab == @(ab|c) ]] && three",
    "! one; time two; time -p three | four",
    "coproc { one; }; wait; two",
    "o\\\nne; tw\\\no x; \\\nthree",
    "'one'; \"two\"; $'three'; f\"ou\"'r'; $'\\x66ive'",
    "one # two\nthree #four",
    "one a#b; two \\# ; three '#'",
    "one \"a\nb\"; two",
    "x=one; $x; y='two a'; $y",
    "{one,a}; one {a,$(two)}",
    "> f one; 2>&1 two; three 2> /dev/null >&2; {fd}> f four; &> f five",
    "one ${x:-`two`} ${x:+$(three)} ${x/$(four)/} \"${x:-\"$(five)\"}\"",
    "eval 'one; eval \"two\"'; bash -c 'three; \"four\"'",
    "command one; env X=1 two; nice three; timeout 5 four; nohup five 2>/dev/null",
    "echo a | xargs one; echo b | xargs -I{} two {}; find . -maxdepth 0 -exec three {} \\;",
    "trap one EXIT; two",
    "bash <<'E'\none; two\nE\nthree",
    "if ((1)) then one; fi; while [[ x ]] do two; break; done",
    "{ one; two; } > f 2>&1; (three) < /dev/null",
    "one && { two || three; } ; four\n\n\nfive",
    "if one\nthen\n\ntwo\nfi\nthree",
    "for x in a\ndo\none\ndone | two",
    "f()\n{\none\n}\nf",
    "one $(two <<E\n)\nE\n) three",
    "one \"$(case x in x) two;; esac)\"",
    "echo $(echo one) | bash",
    "alias one=two; one",
    "set -- one; \"$1\"; $(echo two)",
    "while read -r c; do $c; done <<< one",
    "one\\\r; two",
    "ünï=1; one",
    "one; } ; two",
    "cat <<E\n${x:-one}\nE\ntwo",
    "exec 3>f; one >&3; two 3>&-; three <&0",
    "one !; two ! a; [ ! x ]; three",
    "if ! one; then two; fi; ! ! three",
    "declare -A m=([a]=$(one) [b]=2); local_=1 two",
    "one {} }; two { a",
    "echo if then; one do done",
];

/// By its full path, since a name that is looked up in a changed environment is started by a slow fork.
fn bash() -> Command {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join("bash")).find(|path| path.is_file());
    Command::new(found.unwrap_or("bash".into()))
}

fn bash_takes(script: &str) -> bool {
    let mut command = bash();
    command.args(["-n", "-c", script]).stdin(Stdio::null()).stderr(Stdio::piped()).env_clear();
    let output = command.output().unwrap();
    // A here-document without an end is only a warning.
    output.status.success() && !String::from_utf8_lossy(&output.stderr).contains("warning")
}

fn has_bash() -> bool {
    bash().args(["-c", "true"]).status().is_ok_and(|status| status.success())
}

fn samples() -> Vec<String> {
    let tables = TABLES.iter().flat_map(|table| table.lines()).filter_map(|line| line.split_once('\t'));
    let real = tables.map(|(_, command)| command.replace("\\n", "\n"));
    real.chain(HARD.iter().map(|script| (*script).to_owned())).collect()
}

#[test]
fn real_and_hard_scripts_are_read() {
    let refused: Vec<String> = samples()
        .into_iter()
        .filter(|script| !script.contains("} ; two") && !script.contains("$(( (1) ))("))
        .filter_map(|script| parse(&script).err().map(|why| format!("{script:?}: {}", why.0)))
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn what_is_read_bash_reads_too() {
    if !has_bash() {
        return;
    }
    let wrong: Vec<String> =
        samples().into_iter().filter(|script| parse(script).is_ok() && !bash_takes(script)).collect();
    assert!(wrong.is_empty(), "bash refuses:\n{}", wrong.join("\n"));
}

/// Runs the script where only stubs that write down their names can be found.
fn run_names(script: &str) -> BTreeSet<String> {
    let dir = tempfile::tempdir().unwrap();
    let bin = dir.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let log = dir.path().join("log");
    for name in ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"] {
        let path = bin.join(name);
        let stub = format!("#!/bin/sh\necho {name} >> {}\necho {name}\n", log.display());
        std::fs::write(&path, stub).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    for tool in ["bash", "sh", "cat", "xargs", "find", "env", "nice", "timeout", "nohup"] {
        for folder in ["/bin", "/usr/bin"] {
            let real = Path::new(folder).join(tool);
            if real.exists() {
                let _ = std::os::unix::fs::symlink(&real, bin.join(tool));
            }
        }
    }
    let mut child = bash();
    child.args(["-c", script]).env_clear().env("PATH", &bin).current_dir(dir.path());
    child.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    child.status().unwrap();
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The programs that the walk saw; `None` when it says that one is hidden from it.
fn seen_names(script: &str) -> Option<BTreeSet<String>> {
    let calls = interpreter::calls(script, Path::new("/"), None).ok()?;
    if calls.iter().any(|call| call.hidden.is_some()) {
        return None;
    }
    Some(calls.iter().map(|call| call.name().to_owned()).collect())
}

fn unseen(script: &str) -> Vec<String> {
    match seen_names(script) {
        None => Vec::new(),
        Some(seen) => run_names(script).difference(&seen).cloned().collect(),
    }
}

#[test]
fn every_program_that_bash_runs_was_seen() {
    if !has_bash() {
        return;
    }
    let mut judged = 0;
    for script in HARD {
        judged += usize::from(seen_names(script).is_some());
        assert_eq!(unseen(script), Vec::<String>::new(), "{script}");
    }
    assert!(judged * 10 > HARD.len() * 8, "only {judged} of {} were judged", HARD.len());
}

/// Pieces whose meaning hangs on what stands around them.
fn piece() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "one",
        "two",
        "three a",
        " ",
        "\n",
        ";",
        "&&",
        "||",
        "|",
        "(",
        ")",
        "{ ",
        "; }",
        "'",
        "\"",
        "`",
        "$(",
        "$((",
        "))",
        "${x:-",
        "}",
        "\\",
        "\\\n",
        "#",
        " # ",
        "<<E\n",
        "\nE\n",
        "<<'E'\n",
        "<<-E\n",
        "<<<",
        ">f ",
        "<(",
        "if ",
        "; then ",
        "; fi",
        "case x in x) ",
        ";; esac",
        "[[ ",
        " ]]",
        "((",
        "f() { ",
        "for i in a; do ",
        "; done",
        "x=",
        "a[",
        "]",
        "=(",
        "$x",
        "$'",
        "!",
        "time ",
        "eval ",
        "E",
        "\r",
        "*",
        "{a,",
        "&",
        "2>&1",
        "=~ ",
        "coproc ",
        "function g ",
        "bash -c '",
        "\t",
        "é",
    ]);
    fixed.prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>(), pieces in prop::collection::vec(piece(), 0..60)) {
        let _ = interpreter::calls(&text, Path::new("/w"), None);
        let _ = interpreter::calls(&pieces.concat(), Path::new("/w"), None);
    }

    #[test]
    fn mutated_commands_are_read_or_refused(at in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>(), put in piece()) {
        let all = samples();
        let base = at.get(&all);
        let mut chars: Vec<char> = base.chars().collect();
        let place = cut.index(chars.len() + 1);
        chars.splice(place..place, put.chars());
        let text: String = chars.iter().collect();
        if parse(&text).is_ok() && has_bash() && !text.contains('\0') {
            prop_assert!(bash_takes(&text), "bash refuses {:?}", text);
        }
        chars.truncate(place);
        let _ = interpreter::calls(&chars.iter().collect::<String>(), Path::new("/w"), None);
    }

    #[test]
    fn generated_scripts_hide_no_program(pieces in prop::collection::vec(piece(), 1..14)) {
        let script = pieces.concat();
        // Never a loop that waits, nor anything but stubs.
        if has_bash() && parse(&script).is_ok() {
            prop_assert_eq!(unseen(&script), Vec::<String>::new(), "{:?}", script);
        }
    }
}

#[test]
fn long_and_deep_scripts_end_soon() {
    for (open, close) in [
        ("(", ")"),
        ("((", "))"),
        ("$(", ")"),
        ("echo \"$(", ")\""),
        ("{ ", "; }"),
        ("${x:-", "}"),
        ("$((", "))"),
        ("if a; then ", "; fi"),
        ("`", "`"),
        ("<(", ")"),
        ("[[ ", " ]]"),
        ("! ", ""),
        ("eval '", "'"),
        ("f() { ", "; }"),
        ("case x in x) ", ";; esac"),
        ("{a,", "}"),
        ("a[", "]"),
        ("\"", "\""),
        ("x=(", ")"),
        ("for i in a b; do ", "; done"),
        ("while a; do cd b; ", "; done"),
        ("<<E\n", "\nE\n"),
    ] {
        for count in [20, 39, 2_000, 20_000] {
            let script = format!("{}a{}", open.repeat(count), close.repeat(count));
            let _ = interpreter::calls(&script, Path::new("/w"), None);
            let _ = interpreter::calls(&open.repeat(count), Path::new("/w"), None);
        }
    }
    assert!(parse(&"a ".repeat(1024 * 1024)).is_err());
    assert!(parse(&"a; ".repeat(30_000)).is_ok());
}

/// What bash refuses is not judged either: where two readers differ, something could hide.
#[test]
fn what_bash_refuses_is_not_judged() {
    for script in [
        "]] } ; two",
        "one | ]] two",
        "one |! two",
        "one\nin a",
        "f() { one;time  }; f",
        "case x in x)time  ;; esac",
        "one > 2>&1 > f",
        "one >{fd}>f",
        "coproc two { a",
        "coproc function g { two; }; g",
        "for ((; then i=0; i<2; i++)); do one; done",
        "m=([[ [a]=1)",
        "one $(two <<E\nE)\nthree\nE\n)",
    ] {
        assert!(parse(script).is_err(), "{script:?}");
    }
}
