//! The model's tools. `registry` lists them; `arguments` accepts calls as models make them.

pub mod agent_types;
pub mod api;
pub mod arguments;
pub mod check;
pub mod cx;
pub mod file;
pub mod find;
pub mod hook;
pub mod image_tray;
pub mod lsp;
pub mod mcp;
pub mod on_demand;
pub mod output;
pub mod own_agents;
pub mod own_commands;
pub mod paths;
pub mod pdf;
pub mod plan;
pub mod ports;
pub mod registry;
pub mod run;
pub mod skill;
pub mod sub_agent;
pub mod web;
