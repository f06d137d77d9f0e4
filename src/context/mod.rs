//! What is sent to the model: layers, history, compression, budget. Works on `model` data and knows no tool.

pub mod compress;
