//! The layers in wire order: L1, L2, L3, L4, L6, L5. The recap comes last because it is the one part that changes at
//! every step; nothing volatile may stand in front of stable bytes. Adding a layer is one line here.

use super::layer::Layer;
use super::layers::{l1_system, l2_law, l3_history, l4_question, l5_todo, l6_scratchpad};

pub const LAYERS: [&dyn Layer; 6] = [
    &l1_system::System,
    &l2_law::Law,
    &l3_history::History,
    &l4_question::Question,
    &l6_scratchpad::Scratchpad,
    &l5_todo::TodoRecap,
];
