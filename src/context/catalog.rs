//! The layers in wire order: L1, L2, L3, L4, L6; a todo recap (L5) sits among the messages where the list
//! changed. Volatile text never precedes stable bytes. Adding a layer is one line here.

use super::layer::Layer;
use crate::layers::{l1_system, l2_project_rules, l3_history};

pub const LAYERS: [Layer; 5] = [
    l1_system::render,
    l2_project_rules::render,
    l3_history::past,
    l3_history::question,
    l3_history::scratchpad,
];
