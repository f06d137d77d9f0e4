//! The checks in the order of the report.

use futures_util::future::BoxFuture;

use super::findings::Findings;
use super::{folders, model, own, web};

pub enum Check {
    /// Looks only at this machine.
    Local(fn(&mut Findings<'_>)),
    /// Asks a server.
    Asking(for<'f, 'a> fn(&'f mut Findings<'a>) -> BoxFuture<'f, ()>),
}

pub const CHECKS: &[Check] = &[
    Check::Local(folders::check),
    Check::Local(own::check_rules),
    Check::Local(own::check_skills),
    Check::Local(own::check_hooks),
    Check::Local(folders::check_sandbox),
    Check::Local(own::check_mcp),
    Check::Local(own::check_language_servers),
    Check::Asking(|findings| Box::pin(model::check(findings))),
    Check::Local(web::check),
    Check::Local(folders::check_notices),
];
