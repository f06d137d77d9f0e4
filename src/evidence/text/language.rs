//! A file's language, by its name.

use base::search::words::listed;

/// Languages whose definitions are recognized; everything else is text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::FromRepr)]
#[repr(u8)]
pub enum FileLanguage {
    Python,
    Rust,
    Go,
    Script,
    /// Java, Kotlin, Scala, C#: classes with methods after modifiers.
    Java,
    C,
    /// Code in another language: Ruby, PHP, shell and others.
    Code,
    Prose,
    Data,
}

const ENDINGS: &[(FileLanguage, &str)] = &[
    (FileLanguage::Python, "py pyi pyx pxd pyw"),
    (FileLanguage::Rust, "rs"),
    (FileLanguage::Go, "go"),
    (FileLanguage::Script, "ts tsx js jsx mjs cjs mts cts vue svelte"),
    (FileLanguage::Java, "java kt kts scala cs groovy"),
    (FileLanguage::C, "c h cc cpp cxx hpp hh hxx inl ipp tcc cu cuh m mm"),
    (
        FileLanguage::Code,
        "rb php sh bash zsh pl pm lua swift r jl ex exs erl hs ml mli clj dart zig nim d f90 f el lisp scm vim \
         sql s asm y l proto cmake ps1 tcl awk m4 gradle v sv vhd td lark g4 pest jsonnet tf nix",
    ),
    (FileLanguage::Prose, "md markdown rst txt adoc tex texi org rdoc pod"),
];

impl FileLanguage {
    pub fn of(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_lowercase();
        match ENDINGS.iter().find(|(_, endings)| !ending.is_empty() && listed(endings, &ending)) {
            Some((language, _)) => *language,
            None if listed("Makefile Dockerfile Rakefile Jenkinsfile", name) => Self::Code,
            None if ending.is_empty() => Self::Prose,
            None => Self::Data,
        }
    }

    pub fn is_code(self) -> bool {
        !matches!(self, Self::Prose | Self::Data)
    }
}
