//! What a file is for, judged by its path and its first lines: source, test, documentation, or something that
//! nobody edits by hand.

use super::language::Language;

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePurpose {
    Source,
    Test,
    /// Documentation, change logs, prose.
    Document,
    /// Examples, demos, benchmarks, tutorials.
    Example,
    /// Settings, build files, data.
    Settings,
    /// Generated, vendored, locked or minified.
    Foreign,
}

impl FilePurpose {
    /// A number for the index.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The kind with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        use FilePurpose as K;
        [K::Source, K::Test, K::Document, K::Example, K::Settings, K::Foreign]
            .into_iter()
            .find(|kind| kind.code() == code)
    }

    /// By path and the beginning of the text.
    pub fn of(path: &str, language: Language, head: &str) -> Self {
        let lower = path.to_lowercase();
        let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
        let in_folder = |names: &[&str]| folders.split('/').any(|folder| names.contains(&folder));
        // A Python package may offer help for testing as a feature (`x/test/client.py`).
        let offers_testing = language == Language::Python
            && !folders.split('/').next().is_some_and(|first| TEST_FOLDERS.contains(&first))
            && !in_folder(&["tests", "testdata", "fixtures"]);
        let packed = matches!(language, Language::Script | Language::Data) && in_folder(&["dist"]);
        let specified =
            matches!(language, Language::Script | Language::Code) && in_folder(&["spec", "specs"]);
        if in_folder(FOREIGN_FOLDERS) || packed || is_locked(name) || is_generated(name, head) {
            Self::Foreign
        } else if specified
            || in_folder(TEST_FOLDERS) && !offers_testing
            || folders.split('/').any(is_test_folder)
            || is_test_name(name, path)
        {
            Self::Test
        } else if language == Language::Prose
            || in_folder(&["doc", "docs", "documentation", "changelog.d", "changes", "newsfragments"])
                && !language.is_code()
        {
            Self::Document
        } else if in_folder(EXAMPLE_FOLDERS) {
            Self::Example
        } else if in_folder(&["doc", "docs", "documentation"]) {
            Self::Document
        } else if language == Language::Data || is_build_file(name) {
            Self::Settings
        } else {
            Self::Source
        }
    }
}

const FOREIGN_FOLDERS: &[&str] = &[
    "vendor",
    "vendored",
    "_vendor",
    "node_modules",
    "third_party",
    "thirdparty",
    "third-party",
    "3rdparty",
    "extern",
    "externals",
    "bower_components",
    "site-packages",
    "_vendored",
    "contrib_libs",
];
const TEST_FOLDERS: &[&str] = &[
    "test",
    "tests",
    "testing",
    "testdata",
    "__tests__",
    "__mocks__",
    "fixtures",
    "e2e",
    "testsuite",
    "testcases",
    "test_data",
    "__snapshots__",
    "snapshots",
    "cypress",
];
const EXAMPLE_FOLDERS: &[&str] = &[
    "example",
    "examples",
    "demo",
    "demos",
    "sample",
    "samples",
    "tutorial",
    "tutorials",
    "bench",
    "benches",
    "benchmark",
    "benchmarks",
    "playground",
    "galleries",
    "gallery",
    "asv_bench",
    "website",
    "fuzz",
];

fn is_test_folder(folder: &str) -> bool {
    folder.starts_with("test_")
        || folder.ends_with("_test")
        || folder.ends_with("_tests")
        || folder.ends_with("-tests")
        || folder.ends_with("-test")
        || folder.starts_with("test-")
        || folder.starts_with("tests-")
}

fn is_test_name(name: &str, path: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    let original = path.rsplit('/').next().unwrap_or(path).split('.').next().unwrap_or("");
    stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || stem.ends_with("-test")
        || stem.ends_with("_spec")
        || ["test", "tests", "conftest"].contains(&stem)
        || [".test.", ".spec.", ".tests.", ".test-d."].iter().any(|mark| name.contains(mark))
        || original.ends_with("Test") && original.len() > 4
        || original.ends_with("Tests")
        || original.ends_with("Spec") && original.len() > 4
}

fn is_locked(name: &str) -> bool {
    [
        "package-lock.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "cargo.lock",
        "go.sum",
        "poetry.lock",
        "pipfile.lock",
        "composer.lock",
        "gemfile.lock",
        "uv.lock",
        "flake.lock",
        "bun.lockb",
    ]
    .contains(&name)
        || name.ends_with(".lock")
        || name.contains(".min.")
        || name.ends_with(".map")
        || name.ends_with(".snap")
        || name.ends_with(".bundle.js")
}

fn is_generated(name: &str, head: &str) -> bool {
    const NAMES: [&str; 8] =
        [".pb.go", "_pb2.py", ".pb.cc", ".pb.h", ".g.dart", "_generated.go", ".generated.", "zz_generated"];
    if NAMES.iter().any(|mark| name.contains(mark)) {
        return true;
    }
    let head = &head[..crate::base::text::floor_boundary(head, 600)];
    let lower = head.to_lowercase();
    [
        "do not edit",
        "do not modify by hand",
        "@generated",
        "autogenerated by",
        "automatically generated by",
        "generated by swig",
    ]
    .iter()
    .any(|mark| lower.contains(mark))
        && lower.contains("generated")
}

fn is_build_file(name: &str) -> bool {
    [
        "setup.py",
        "conf.py",
        "noxfile.py",
        "build.rs",
        "makefile",
        "cmakelists.txt",
        "gruntfile.js",
        "gulpfile.js",
    ]
    .contains(&name)
        || name.ends_with(".cmake")
        || name.contains(".config.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_say_what_a_file_is_for() {
        let kind = |path: &str| FilePurpose::of(path, Language::of(path), "");
        assert_eq!(kind("src/app/models.py"), FilePurpose::Source);
        assert_eq!(kind("tests/test_models.py"), FilePurpose::Test);
        assert_eq!(kind("pkg/server/server_test.go"), FilePurpose::Test);
        assert_eq!(kind("src/util.spec.ts"), FilePurpose::Test);
        assert_eq!(kind("core/src/test/java/a/FooTest.java"), FilePurpose::Test);
        assert_eq!(kind("src/contest.py"), FilePurpose::Source);
        assert_eq!(kind("src/latest.rs"), FilePurpose::Source);
        assert_eq!(kind("src/dist/component.rs"), FilePurpose::Source);
        assert_eq!(kind("dist/app.js"), FilePurpose::Foreign);
        assert_eq!(kind("pkg/spec/parse.go"), FilePurpose::Source);
        assert_eq!(kind("spec/parse_spec.rb"), FilePurpose::Test);
        assert_eq!(kind("web/test/client.py"), FilePurpose::Source);
        assert_eq!(kind("test/client.py"), FilePurpose::Test);
        assert_eq!(kind("docs/topics/db.txt"), FilePurpose::Document);
        assert_eq!(kind("CHANGES.rst"), FilePurpose::Document);
        assert_eq!(kind("examples/basic.rs"), FilePurpose::Example);
        assert_eq!(kind("vendor/github.com/x/y.go"), FilePurpose::Foreign);
        assert_eq!(kind("static/jquery.min.js"), FilePurpose::Foreign);
        assert_eq!(kind("Cargo.toml"), FilePurpose::Settings);
        let generated = "// Code generated by protoc-gen-go. DO NOT EDIT.\n";
        assert_eq!(FilePurpose::of("api/x.go", Language::Go, generated), FilePurpose::Foreign);
    }
}
