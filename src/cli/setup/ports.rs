//! What the command line does for an agent.

use crate::cli::each::own_tree;
use agent::deps::Ports;
use records::export::write;

pub const PORTS: Ports = Ports { exporter: write::by_ending, trees: own_tree::of_agent };
