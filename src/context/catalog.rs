//! The layers in wire order: L1, L2, L3, L4, L6, L5. The recap comes last because it is the one part that changes at
//! every step; nothing volatile may stand in front of stable bytes. Adding a layer is one line here.

use super::layer::Layer;
use crate::context::layers::l1_system;
use crate::context::layers::l2_project_rules;
use crate::context::layers::l3_history;
use crate::context::layers::l4_question;
use crate::context::layers::l5_todo;
use crate::context::layers::l6_scratchpad;

pub const LAYERS: [&dyn Layer; 6] = [
    &l1_system::System,
    &l2_project_rules::ProjectRulesLayer,
    &l3_history::History,
    &l4_question::Question,
    &l6_scratchpad::Scratchpad,
    &l5_todo::TodoRecap,
];
