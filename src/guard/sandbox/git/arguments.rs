//! The words of a git command line: git's own options, the subcommand, its options and words.

use base::search::words::listed;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitArguments {
    /// Options before the subcommand, such as `-C x`.
    pub own: Vec<String>,
    pub sub: String,
    pub rest: Vec<String>,
}

/// git's own options whose value is the next word.
pub const OWN_VALUED: &str =
    "-C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix --attr-source";

/// Options of subcommands whose value is the next word.
const VALUED: &str = include_str!("valued.txt");

impl GitArguments {
    /// `args` are without the program; `None` if there is no subcommand.
    pub fn read(args: &[String]) -> Option<Self> {
        let mut at = 0;
        while let Some(arg) = args.get(at).filter(|arg| arg.starts_with('-')) {
            at += 1 + usize::from(listed(OWN_VALUED, arg));
        }
        let sub = args.get(at)?;
        Some(Self { own: args[..at].to_vec(), sub: sub.clone(), rest: args[at + 1..].to_vec() })
    }

    /// The subcommand's words before `--`, without options and their values.
    pub fn words(&self) -> Vec<&str> {
        let mut rows = VALUED.lines().filter_map(|row| row.split_once(' '));
        let valued = rows.find(|(sub, _)| *sub == self.sub).map_or("", |(_, options)| options);
        let mut words = Vec::new();
        let mut rest = self.rest.iter().map(String::as_str).take_while(|arg| *arg != "--");
        while let Some(arg) = rest.next() {
            if arg == "-" || !arg.starts_with('-') {
                words.push(arg);
            } else if listed(valued, arg) {
                rest.next();
            }
        }
        words
    }

    pub fn paths(&self) -> Option<&[String]> {
        self.rest.iter().position(|arg| arg == "--").map(|at| &self.rest[at + 1..])
    }

    pub fn named(&self) -> Vec<&str> {
        let paths = self.paths().unwrap_or_default();
        self.words().into_iter().chain(paths.iter().map(String::as_str)).collect()
    }

    /// Whether one of these options is given, including abbreviated, with a value, or as letters in a bundle.
    pub fn has(&self, names: &str) -> bool {
        self.rest.iter().take_while(|arg| *arg != "--").any(|arg| {
            let plain = arg.split_once('=').map_or(arg.as_str(), |(name, _)| name);
            names.split(' ').any(|name| match name.strip_prefix("--") {
                Some(_) => plain.len() > 3 && name.starts_with(plain),
                None => {
                    arg.starts_with('-')
                        && !arg.starts_with("--")
                        && name.len() == 2
                        && arg[1..].contains(&name[1..])
                }
            })
        })
    }

    pub fn value(&self, names: &str) -> Option<&str> {
        self.rest.iter().enumerate().take_while(|(_, arg)| *arg != "--").find_map(|(at, arg)| {
            let name = names.split(' ').find(|name| arg.starts_with(name))?;
            let joined = &arg[name.len()..];
            match joined.strip_prefix('=').unwrap_or(joined) {
                "" => self.rest.get(at + 1).map(String::as_str),
                value => Some(value),
            }
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(line: &str) -> GitArguments {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        GitArguments::read(&words).unwrap()
    }

    #[test]
    fn options_and_words() {
        let found = read("-C a -c x=y switch -c new --force main");
        assert_eq!((found.own.len(), found.sub.as_str()), (4, "switch"));
        assert_eq!(found.words(), ["main"]);
        assert!(found.has("-f --force") && !found.has("-d --detach"));
        let found = read("rebase --onto=x -q a b");
        assert_eq!((found.value("--onto"), found.words()), (Some("x"), vec!["a", "b"]));
        let found = read("checkout -fq - -- a b");
        assert!(found.has("-f") && found.words() == ["-"] && found.paths().unwrap().len() == 2);
        assert_eq!(read("restore -sHEAD a").value("-s --source"), Some("HEAD"));
    }
}
