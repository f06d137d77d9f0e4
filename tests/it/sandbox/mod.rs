//! Commands confined: what works, what it must withstand, and git within it.

mod attacks;
mod everyday;
mod git;
mod guard;
mod home;
mod repositories;
mod repository_attacks;
mod without_namespaces;
