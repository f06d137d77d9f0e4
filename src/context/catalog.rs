//! The layers in wire order: L1, L2, L3, L4, L6, L5. The recap comes last because it is the one part that changes at
//! every step; nothing volatile may stand in front of stable bytes. Adding a layer is one line here.

use super::layer::Layer;
use crate::context::layers::{l1_system, l2_project_rules, l3_history, l5_todo};

pub const LAYERS: [Layer; 6] = [
    l1_system::render,
    l2_project_rules::render,
    l3_history::past,
    l3_history::question,
    l3_history::scratchpad,
    l5_todo::render,
];
