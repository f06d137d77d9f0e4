//! Tools for planning and memory: the todo list, questions to the user, notes, recall.

pub mod ask_user;
pub mod note;
pub mod recall;
pub mod skill;
pub mod task;
pub mod todo;
pub mod todo_board;
