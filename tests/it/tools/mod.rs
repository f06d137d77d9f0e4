//! The tools of the model, call by call.

mod arguments;
mod awareness;
mod bash;
mod files;
mod find;
mod interrupt;
mod jobs;
mod locate;
mod locate_hostile;
mod locate_languages;
mod locate_past;
mod locate_with;
mod near_paths;
mod observations;
mod pdf;
mod props;
mod read;
mod side_by_side;
