//! The highlighted languages: one row each, found by fence name or file ending.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Code,
    Keys,
    Markup,
    Markdown,
    Diff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextForm {
    pub open: &'static str,
    pub close: &'static str,
    pub lines: bool,
    /// Backslashes aren't escapes.
    pub raw: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct CodeLanguage {
    pub names: &'static [&'static str],
    pub form: Form,
    pub comments: &'static [&'static str],
    pub block: Option<(&'static str, &'static str)>,
    /// Block comments nest.
    pub nested: bool,
    /// Longest first.
    pub texts: &'static [TextForm],
    /// Separated by spaces, as are `constants`.
    pub keywords: &'static str,
    pub constants: &'static str,
    /// Characters that start a special word, such as `@` of a decorator.
    pub sigils: &'static str,
    pub dashes: bool,
    /// A lone `'` doesn't start a string.
    pub ticks: bool,
    pub any_case: bool,
    pub capital_types: bool,
}

const fn text(open: &'static str, close: &'static str) -> TextForm {
    TextForm { open, close, lines: false, raw: false }
}

const fn long(open: &'static str, close: &'static str) -> TextForm {
    TextForm { open, close, lines: true, raw: false }
}

const fn raw(open: &'static str, close: &'static str) -> TextForm {
    TextForm { open, close, lines: true, raw: true }
}

const DOUBLE: TextForm = text("\"", "\"");
const SINGLE: TextForm = text("'", "'");
const BACK: TextForm = long("`", "`");

/// Defaults of C-like languages.
const CODE: CodeLanguage = CodeLanguage {
    names: &[],
    form: Form::Code,
    comments: &["//"],
    block: Some(("/*", "*/")),
    nested: false,
    texts: &[DOUBLE, SINGLE],
    keywords: "",
    constants: "NULL false nil null nullptr true undefined",
    sigils: "@",
    dashes: false,
    ticks: false,
    any_case: false,
    capital_types: true,
};

const KEYS: CodeLanguage = CodeLanguage {
    form: Form::Keys,
    comments: &["#"],
    block: None,
    constants: "false no null off on true yes",
    sigils: "",
    dashes: true,
    ..CODE
};

pub const ALL: &[CodeLanguage] = &[
    CodeLanguage {
        names: &["rust", "rs"],
        nested: true,
        texts: &[raw("r##\"", "\"##"), raw("r#\"", "\"#"), raw("r\"", "\""), long("\"", "\""), SINGLE],
        keywords: "Self as async await bool break char const continue crate dyn else enum extern f32 f64 fn for \
            i128 i16 i32 i64 i8 if impl in isize let loop match mod move mut pub ref return self static str \
            struct super trait type u128 u16 u32 u64 u8 union unsafe use usize where while yield",
        sigils: "",
        ticks: true,
        ..CODE
    },
    CodeLanguage {
        names: &["python", "py", "python3", "pyi"],
        comments: &["#"],
        block: None,
        texts: &[long("\"\"\"", "\"\"\""), long("'''", "'''"), DOUBLE, SINGLE],
        keywords: "and as assert async await break case class continue def del elif else except finally for from \
            global if import in is lambda match nonlocal not or pass raise return self try while with yield",
        constants: "False None True",
        ..CODE
    },
    CodeLanguage {
        names: &["javascript", "js", "jsx", "mjs", "cjs", "node", "typescript", "ts", "tsx", "mts"],
        texts: &[BACK, DOUBLE, SINGLE],
        keywords: "abstract any as async await boolean break case catch class const continue debugger declare \
            default delete do else enum export extends finally for from function get if implements import in \
            instanceof interface keyof let namespace never new number of private protected public readonly \
            return satisfies set static string super switch this throw try type typeof unknown var void \
            while with yield",
        ..CODE
    },
    CodeLanguage {
        names: &["go", "golang"],
        texts: &[raw("`", "`"), DOUBLE, SINGLE],
        keywords: "any bool break byte case chan const continue default defer else error fallthrough float32 \
            float64 for func go goto if import int int32 int64 interface map package range return rune \
            select string struct switch type uint uint32 uint64 var",
        sigils: "",
        ..CODE
    },
    CodeLanguage {
        names: &["java"],
        texts: &[long("\"\"\"", "\"\"\""), DOUBLE, SINGLE],
        keywords: "abstract assert boolean break byte case catch char class const continue default do double else \
            enum extends final finally float for if implements import instanceof int interface long native \
            new package permits private protected public record return sealed short static super switch \
            synchronized this throw throws transient try var void volatile while yield",
        ..CODE
    },
    CodeLanguage {
        names: &["c", "h", "cpp", "c++", "cc", "cxx", "hpp", "hh", "hxx", "objc", "m"],
        keywords: "alignas auto bool break case catch char class co_await co_return concept const consteval \
            constexpr continue decltype default delete do double else enum explicit extern final float for \
            friend goto if inline int long mutable namespace new noexcept operator override private \
            protected public register requires return short signed size_t sizeof static static_cast struct \
            switch template this throw try typedef typename union unsigned using virtual void volatile while",
        sigils: "#",
        ..CODE
    },
    CodeLanguage {
        names: &["csharp", "cs", "c#"],
        texts: &[raw("@\"", "\""), DOUBLE, SINGLE],
        keywords: "abstract as async await base bool break byte case catch char class const continue decimal \
            default delegate do double else enum event explicit extern finally fixed float for foreach get \
            goto if implicit in init int interface internal is lock long namespace new object operator out \
            override params partial private protected public readonly record ref return sealed set short \
            sizeof static string struct switch this throw try typeof uint ulong unchecked unsafe using var \
            virtual void volatile when where while with yield",
        sigils: "#",
        ..CODE
    },
    CodeLanguage {
        names: &["ruby", "rb", "rake", "gemfile"],
        comments: &["#"],
        block: None,
        keywords: "alias and attr_accessor attr_reader begin break case class def do else elsif end ensure extend \
            for if in include lambda loop module next not or private proc protected public raise redo \
            require require_relative rescue retry return self super then undef unless until when while yield",
        ..CODE
    },
    CodeLanguage {
        names: &["php"],
        comments: &["//", "#"],
        keywords: "abstract array as break case catch class clone const continue declare default do echo else \
            elseif empty enum extends final finally fn for foreach function global if implements include \
            instanceof interface isset match namespace new private protected public readonly require \
            require_once return self static string switch this throw trait try unset use var void while \
            yield",
        sigils: "$",
        ..CODE
    },
    CodeLanguage {
        names: &["shell", "sh", "bash", "zsh", "ksh", "fish", "console", "shellsession"],
        comments: &["#"],
        block: None,
        texts: &[long("\"", "\""), raw("'", "'")],
        keywords: "alias break case cd continue declare do done echo elif else end esac eval exec exit export fi \
            for function if in local readonly return select set shift source test then trap unset until \
            while",
        constants: "false true",
        sigils: "$",
        dashes: true,
        capital_types: false,
        ..CODE
    },
    CodeLanguage {
        names: &["kotlin", "kt", "kts", "scala", "groovy", "gradle"],
        nested: true,
        texts: &[raw("\"\"\"", "\"\"\""), DOUBLE, SINGLE],
        keywords: "abstract as break by case catch class companion const constructor continue data def do else enum \
            extends final finally for fun given if import in init inline interface internal is lateinit lazy \
            match new object open operator out override package private protected public return sealed super \
            suspend this throw trait try type val var when where while with yield",
        ..CODE
    },
    CodeLanguage {
        names: &["swift", "dart"],
        nested: true,
        texts: &[long("\"\"\"", "\"\"\""), DOUBLE, SINGLE],
        keywords: "actor as associatedtype async await break case catch class continue default defer deinit do else \
            enum extends extension fallthrough fileprivate final for func guard if implements import in init \
            inout internal is late let mutating new open override private protocol public repeat required \
            return self static struct super switch this throw throws try typealias var void weak where while",
        ..CODE
    },
    CodeLanguage {
        names: &["lua"],
        comments: &["--"],
        block: Some(("--[[", "]]")),
        texts: &[raw("[[", "]]"), DOUBLE, SINGLE],
        keywords: "and break do else elseif end for function goto if in local not or repeat return then until while",
        ..CODE
    },
    CodeLanguage {
        names: &["zig"],
        block: None,
        keywords: "and bool break catch comptime const continue defer else enum errdefer error export extern fn for \
            if inline null or orelse pub return struct switch test try union unreachable usize var void \
            while",
        ..CODE
    },
    CodeLanguage {
        names: &["sql", "psql", "mysql", "sqlite"],
        comments: &["--"],
        keywords: "add all alter and as asc begin between by case check column commit constraint create cross \
            default delete desc distinct drop else end exists foreign from full function group having if in \
            index inner insert int integer into is join key left like limit not offset on or order outer \
            primary references returning right rollback select set table text then union unique update using \
            values varchar view when where with",
        any_case: true,
        capital_types: false,
        ..CODE
    },
    CodeLanguage {
        names: &["dockerfile", "docker", "containerfile"],
        comments: &["#"],
        block: None,
        texts: &[DOUBLE, SINGLE],
        keywords: "add arg as cmd copy entrypoint env expose from healthcheck label run shell stopsignal user \
            volume workdir",
        sigils: "$",
        dashes: true,
        any_case: true,
        capital_types: false,
        ..CODE
    },
    CodeLanguage {
        names: &["makefile", "make", "mk", "cmake", "nix", "hcl", "tf", "terraform"],
        comments: &["#"],
        block: None,
        keywords: "and data else endforeach endfunction endif export foreach function if ifdef ifeq ifndef ifneq in \
            include inherit let locals module output provider rec resource set then variable with",
        sigils: "$",
        dashes: true,
        capital_types: false,
        ..CODE
    },
    CodeLanguage {
        names: &["json", "jsonc", "json5", "jsonl", "geojson"],
        comments: &["//"],
        texts: &[DOUBLE],
        dashes: false,
        ..KEYS
    },
    CodeLanguage { names: &["yaml", "yml"], ..KEYS },
    CodeLanguage {
        names: &["toml", "ini", "cfg", "conf", "properties", "editorconfig", "env"],
        texts: &[long("\"\"\"", "\"\"\""), raw("'''", "'''"), DOUBLE, SINGLE],
        comments: &["#", ";"],
        ..KEYS
    },
    CodeLanguage {
        names: &["css", "scss", "sass", "less"],
        comments: &["//"],
        block: Some(("/*", "*/")),
        constants: "auto inherit none",
        sigils: "@$#.",
        ..KEYS
    },
    CodeLanguage {
        names: &["html", "htm", "xml", "svg", "vue", "svelte", "xhtml", "plist"],
        form: Form::Markup,
        comments: &[],
        block: Some(("<!--", "-->")),
        texts: &[raw("\"", "\""), raw("'", "'")],
        ..CODE
    },
    CodeLanguage { names: &["markdown", "md", "mdx"], form: Form::Markdown, ..CODE },
    CodeLanguage { names: &["diff", "patch"], form: Form::Diff, ..CODE },
];

/// Finds a language by fence info (`rust`, `js title=x`, `{.python}`).
pub fn find(name: &str) -> Option<&'static CodeLanguage> {
    let name = name.trim_start_matches(['{', '.', ' ']);
    let end = name.find(|c: char| c.is_whitespace() || ",{}:".contains(c)).unwrap_or(name.len());
    let name = name[..end].to_ascii_lowercase();
    ALL.iter().find(|language| language.names.contains(&name.as_str()))
}

pub fn of_path(path: &str) -> Option<&'static CodeLanguage> {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    find(file.rsplit('.').next().unwrap_or(file)).or_else(|| find(file.split('.').next().unwrap_or(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_paths() {
        let named = |found: Option<&CodeLanguage>| found.map(|language| language.names[0]);
        assert_eq!(named(find("rust,ignore")), Some("rust"));
        assert_eq!(named(find("TSX")), Some("javascript"));
        assert_eq!(named(find("{.python}")), Some("python"));
        assert_eq!(named(find("")), None);
        assert_eq!(named(of_path("a/b.rs")), Some("rust"));
        assert_eq!(named(of_path("a/Dockerfile")), Some("dockerfile"));
        assert_eq!(named(of_path("Makefile.in")), Some("makefile"));
        assert_eq!(named(of_path("LICENSE")), None);
    }
}
