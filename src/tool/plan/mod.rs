//! Tools that keep the thread: the todo list and questions to the user.

pub mod ask_user;
pub mod note;
pub mod recall;
pub mod todo;
pub mod todo_board;
