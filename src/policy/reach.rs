//! The guess that `auto` makes until a sandbox turns it into a fact: whether a command seems to change something
//! outside the workspace. Reading outside is not a change, and a script's inside is not seen.
//!
//! A line that can be split is judged word by word: a redirection, or a program that changes files, together with a
//! word that leaves. Any other line is cut into rough pieces, and the same words are looked for.

use super::command::{harmless, is_looker};
use super::place::{Place, is_scratch};
use super::programs;
use super::shell::{Simple, Word, split};

/// Sub-commands that send the work to others.
const PUBLISHES: &[(&str, &str)] = &[
    ("git", "push"),
    ("npm", "publish"),
    ("pnpm", "publish"),
    ("yarn", "publish"),
    ("cargo", "publish"),
    ("docker", "push"),
    ("twine", "upload"),
];

/// Why the command seems to reach beyond the workspace; `None` when it does not.
pub fn beyond(command: &str, place: &Place) -> Option<String> {
    let Some(commands) = split(command) else { return beyond_by_text(command, place) };
    let mut place = place.clone();
    let found = commands.iter().find_map(|simple| simple_beyond(simple, &mut place));
    // What `xargs` is fed decides what it changes.
    found.or_else(|| {
        let fed = commands.iter().any(|simple| {
            simple.words.iter().any(|word| matches!(programs::name(&word.text), "xargs" | "parallel"))
                && changes(&simple.words)
        });
        let words = || commands.iter().flat_map(|simple| &simple.words);
        words().find(|word| fed && !place.may_change(word)).map(|word| outside(&word.text))
    })
}

fn outside(word: &str) -> String {
    format!("it may change {word} outside the workspace")
}

fn simple_beyond(simple: &Simple, place: &mut Place) -> Option<String> {
    if let Some(redirect) = simple.redirects.iter().find(|r| r.writes && !place.may_change(&r.target)) {
        return Some(outside(&redirect.target.text));
    }
    let before = |word: &&Word| programs::is_assignment(&word.text) || programs::is_reserved(&word.text);
    let words = &simple.words[simple.words.iter().take_while(before).count()..];
    let (program, args) = words.split_first()?;
    let name = programs::name(&program.text);
    if matches!(name, "cd" | "pushd" | "popd") {
        let target = args.iter().find(|arg| !arg.text.starts_with('-'));
        let known =
            target.is_some_and(|to| to.glob_at.is_none() && (is_scratch(&to.text) || place.enter(&to.text)));
        return (!known).then(|| "it goes to a folder outside the workspace".to_owned());
    }
    if harmless(words) {
        return None;
    }
    let runs_anything = programs::runs_anything(name);
    let named = std::iter::once(program).chain(args.iter().filter(|_| runs_anything));
    if let Some(word) = named.into_iter().find(|word| programs::goes_beyond(&word.text)) {
        return Some(format!("it runs {}", word.text));
    }
    if let Some(why) = sends(words) {
        return Some(why);
    }
    if runs_anything {
        // A script in quotes.
        let script = args.iter().filter(|arg| arg.text.contains(char::is_whitespace));
        if let Some(why) = script.into_iter().find_map(|arg| beyond(&arg.text, place)) {
            return Some(why);
        }
    }
    if !changes(words) {
        return None;
    }
    // The first plain word of `sed` is its script: `/x/d`.
    let script = args.iter().position(|arg| !arg.text.starts_with('-')).filter(|_| name == "sed");
    let leaving = args.iter().enumerate().find(|(at, arg)| Some(*at) != script && !place.may_change(arg));
    leaving.map(|(_, arg)| outside(&arg.text))
}

fn sends(words: &[Word]) -> Option<String> {
    let (program, args) = words.split_first()?;
    let name = programs::name(&program.text);
    let optioned = args.first().is_some_and(|first| first.text.starts_with('-'));
    let looked_at = if optioned { args } else { args.get(..1)? };
    let publishes = |arg: &&Word| PUBLISHES.contains(&(name, arg.text.as_str()));
    if let Some(sub) = looked_at.iter().find(publishes) {
        return Some(format!("{name} {} sends the work to others", sub.text));
    }
    let everywhere =
        name == "git" && args.iter().any(|arg| matches!(arg.text.as_str(), "--global" | "--system"));
    everywhere.then(|| "it changes git's settings for every project".to_owned())
}

/// Whether the command, which is known not to be harmless, changes files that its words name.
fn changes(words: &[Word]) -> bool {
    let Some((program, args)) = words.split_first() else { return false };
    let name = programs::name(&program.text);
    let in_place = |arg: &Word| {
        arg.text.starts_with("--in-place")
            || (arg.text.starts_with('-') && !arg.text.starts_with("--") && arg.text.contains('i'))
    };
    let handed_on = |arg: &Word| programs::changes(&arg.text) || in_shell(&arg.text);
    programs::changes(name)
        || name == "git"
        || is_looker(name)
        || (matches!(name, "sed" | "gsed" | "perl" | "ruby") && args.iter().any(in_place))
        || (programs::runs_anything(name) && args.iter().any(handed_on))
        || (name == "find" && !harmless(words))
}

fn in_shell(word: &str) -> bool {
    matches!(programs::name(word), "sh" | "bash" | "dash" | "zsh") && !word.starts_with('-')
}

/// For what cannot be split: every piece between operators counts as a command, and every place that is named anywhere
/// as something that a changing one may touch.
fn beyond_by_text(text: &str, place: &Place) -> Option<String> {
    let apart = |c: char| c.is_whitespace() || "\"'`;|&()<>=,".contains(c);
    let leaves = |token: &str| {
        let home = ["$HOME", "${HOME", "$OLDPWD"].iter().any(|name| token.starts_with(name));
        let up = token.split('/').any(|part| part == "..");
        // A pattern's or a value's front is not known: going up from there may lead anywhere.
        let somewhere = token.starts_with(['/', '~']) || up;
        let word = Word { text: token.to_owned(), glob_at: None };
        home || (up && token.contains('$')) || (somewhere && !is_scratch(token) && !place.may_change(&word))
    };
    let target = |rest: &str| {
        let rest = rest.trim_start_matches(['>', '|', '&', ' ', '\t', '"', '\'']);
        rest.split(apart).next().unwrap_or_default().to_owned()
    };
    let mut written = text.match_indices('>').map(|(at, _)| target(&text[at..]));
    if let Some(token) = written.find(|token| leaves(token)) {
        return Some(outside(&token));
    }
    let place_named = text.split(apart).find(|token| leaves(token));
    for piece in text.split(['\n', ';', '|', '&', '(', ')', '`', '{', '}']) {
        let tokens: Vec<&str> = piece.split(apart).filter(|token| !token.is_empty()).collect();
        let start = tokens.iter().position(|t| !programs::is_reserved(t)).unwrap_or(0);
        let Some((program, args)) = tokens.get(start..).and_then(<[_]>::split_first) else { continue };
        let words: Vec<Word> =
            tokens[start..].iter().map(|t| Word { text: (*t).to_owned(), glob_at: None }).collect();
        if harmless(&words) {
            continue;
        }
        // An assignment is apart from its value here, so the program may stand later.
        let assigned = piece.contains('=');
        let runs = programs::runs_anything(program) || assigned;
        let named = |test: fn(&str) -> bool| test(program) || (runs && args.iter().any(|arg| test(arg)));
        if named(programs::goes_beyond) {
            return Some(format!("it seems to run {}", tokens.join(" ")));
        }
        if let Some(why) = sends(&words) {
            return Some(why);
        }
        // Behind a substitution the program's name is not known.
        let moves = matches!(*program, "cd" | "pushd") || program.starts_with(['$', '-']);
        if let Some(token) = place_named
            && (moves || named(programs::changes) || changes(&words))
        {
            return Some(outside(token));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn what_seems_to_leave_the_workspace() {
        let place = Place::new(Path::new("/w"), &[], Path::new("/w"));
        for command in [
            "make && pytest -q",
            "cargo build --release 2>/dev/null | tail -5",
            "cargo test > out.txt 2>&1",
            "grep -rn sudo . | head",
            "grep -rn 'rm -rf /etc' src > found.txt",
            "rg 'git push' .",
            "git add -A && git commit -m 'no rm -rf in sudo'",
            "git stash push",
            "git commit -m 'fix: path=/x'",
            "curl -s 'http://localhost:80/?file=/x'",
            "rm -rf build target/*.o",
            "mkdir -p a/b && touch a/b/c && cd a/b && rm c",
            "echo x > /tmp/mycode-log",
            "sed -i '/old/d' src/a.rs",
            "sed -n '/x/p' f",
            "npm install && npm test",
            "python3 -c \"print('a b')\"",
            "gcc -I/usr/include a.c",
            "ls /usr/lib && cat /etc/hosts",
            "until test -e go; do sleep 0.01; done",
            "for f in *.c; do gcc -c \"$f\"; done",
            "for f in *.o; do rm \"$f\"; done",
            "x=$(git rev-parse HEAD); echo \"$x\" > rev.txt",
            "cat > f <<'EOF'\nsome text\nEOF",
            "env; cat .env",
            "FOO=1 make it",
            "sh check.sh",
            "find . -name '*.pyc' -delete",
            "find . -name '*.o' -exec rm {} +",
            "test -f a || touch a",
            "cat \"$HOME/.profile\"",
        ] {
            assert_eq!(beyond(command, &place), None, "{command}");
        }
        for command in [
            "sudo make install",
            "/usr/bin/sudo x",
            "env sudo x",
            "bash -c 'sudo x'",
            "rm -rf ../other",
            "rm -fr /var/x",
            "rm -rf /",
            "rm -rf \"$HOME\"",
            "rm -rf \"${HOME}/x\"",
            "rm -rf ~",
            "rm -rf .git",
            "echo x >/etc/y",
            "echo x>>../y",
            "echo $x >/etc/y",
            "echo x >.git/hooks/pre-commit",
            "X=/etc; rm -rf $X/y",
            "cp a /usr/local/bin",
            "cp -t/usr/local a",
            "dd if=a of=/dev/sda",
            "sed -i s/a/b/ ../f",
            "sort -o ../f g",
            "tar xf a.tar -C /opt",
            "make PREFIX=/opt install",
            "git -C ../other reset --hard",
            "git push",
            "git -c a=b push",
            "git config --global a b",
            "cargo publish",
            "cd .. && rm -rf other",
            "cd && rm -rf x",
            "cd /home/u && rm -rf x",
            "timeout 5 rm -rf ../x",
            "bash -c 'cd .. && rm -rf x'",
            "find .. -delete",
            "find /home/u -name x | xargs rm",
            "find .. -exec rm {} +",
            "for f in ../*; do rm \"$f\"; done",
            "(sudo x)",
            "$(echo rm) -rf ../x",
            "$RM -rf /x",
            "mkfs.ext4 disk",
        ] {
            assert!(beyond(command, &place).is_some(), "{command}");
        }
    }
}
