//! The real binary in a pseudo-terminal, and the screen that a user would see (vt100).
#![allow(dead_code)]

use std::io::{Read, Write};
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use super::emulator;
use super::server::FakeServer;
use super::workplace::Workplace;

/// Where the program asks for the cursor's place, and an answer.
const QUESTION: &[u8] = b"\x1b[6n";
const ANSWER: &[u8] = b"\x1b[0n\x1b[1;1R";

/// How long a test waits for something that must come; only ever reached by a failing test.
const PATIENCE: Duration = Duration::from_secs(60);

struct Shared {
    parser: Mutex<(vt100::Parser, Vec<u8>, bool)>,
    changed: Condvar,
}

/// A terminal with the program in it.
pub struct Screen {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    writer: Arc<Mutex<Box<dyn Write + Send>>>,
    shared: Arc<Shared>,
}

fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap()
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

impl Screen {
    /// Starts `mycode ARGS` in a terminal of that size.
    pub fn start(place: &Workplace, args: &[&str], columns: u16, rows: u16) -> Self {
        Self::start_with(place, args, (columns, rows), &[])
    }

    /// Starts the chat with this server.
    pub fn chat(place: &Workplace, server: &FakeServer, args: &[&str]) -> Self {
        let url = server.base_url();
        Self::start(place, &[&["--base-url", &url, "--model", "test-model"], args].concat(), 80, 24)
    }

    /// [`Self::start`] with variables of the environment.
    pub fn start_with(
        place: &Workplace,
        args: &[&str],
        (columns, rows): (u16, u16),
        vars: &[(&str, &str)],
    ) -> Self {
        Self::start_terminal(place, args, (columns, rows), vars, true)
    }

    /// A terminal that answers no question counts as a slow one.
    pub fn start_terminal(
        place: &Workplace,
        args: &[&str],
        (columns, rows): (u16, u16),
        vars: &[(&str, &str)],
        answers: bool,
    ) -> Self {
        let pair = native_pty_system().openpty(size(columns, rows)).unwrap();
        let template = place.command(args);
        let mut command = CommandBuilder::new(template.get_program());
        command.args(template.get_args());
        command.cwd(place.project());
        command.env_clear();
        for (name, value) in template.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        command.env("TERM", "xterm-256color");
        vars.iter().for_each(|(name, value)| command.env(name, value));
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let writer = Arc::new(Mutex::new(pair.master.take_writer().unwrap()));
        let answering = answers.then(|| Arc::clone(&writer));
        let parser = vt100::Parser::new(cells(rows), cells(columns), 1_000);
        let shared =
            Arc::new(Shared { parser: Mutex::new((parser, Vec::new(), false)), changed: Condvar::new() });
        let sink = Arc::clone(&shared);
        std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            loop {
                let read = reader.read(&mut buffer).unwrap_or(0);
                let mut state = sink.parser.lock().unwrap();
                state.0.process(&buffer[..read]);
                state.1.extend_from_slice(&buffer[..read]);
                state.2 = read == 0;
                sink.changed.notify_all();
                if let Some(writer) = &answering
                    && buffer[..read].windows(QUESTION.len()).any(|bytes| bytes == QUESTION)
                {
                    let _ = writer.lock().unwrap().write_all(ANSWER);
                }
                if read == 0 {
                    return;
                }
            }
        });
        Self { child, master: pair.master, writer, shared }
    }

    /// Types these bytes.
    pub fn keys(&mut self, keys: &str) {
        let mut writer = self.writer.lock().unwrap();
        writer.write_all(keys.as_bytes()).unwrap();
        writer.flush().unwrap();
    }

    /// Waits until the screen holds `text`, and gives the screen.
    pub fn wait(&self, text: &str) -> String {
        self.wait_for(text, |screen| screen.contains(text))
    }

    /// Waits until the screen pleases `wanted`.
    pub fn wait_for(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let mut state = self.shared.parser.lock().unwrap();
        loop {
            let contents = state.0.screen().contents();
            if wanted(&contents) {
                return contents;
            }
            let (next, timeout) = self.shared.changed.wait_timeout(state, PATIENCE).unwrap();
            state = next;
            assert!(!timeout.timed_out() && !state.2, "'{what}' never came; the screen:\n{contents}");
        }
    }

    /// Everything the program ever wrote.
    pub fn raw(&self) -> String {
        String::from_utf8_lossy(&self.shared.parser.lock().unwrap().1).into_owned()
    }

    /// Resizes the terminal.
    pub fn resize(&self, columns: u16, rows: u16) {
        self.shared.parser.lock().unwrap().0.screen_mut().set_size(cells(rows), cells(columns));
        self.master.resize(size(columns, rows)).unwrap();
    }

    /// All lines, from the oldest in the scrollback to the last on the screen.
    pub fn lines(&self) -> Vec<String> {
        emulator::lines(&mut self.shared.parser.lock().unwrap().0)
    }

    /// Column and row of the cursor, from 0.
    pub fn cursor(&self) -> (u16, u16) {
        let (row, column) = self.shared.parser.lock().unwrap().0.screen().cursor_position();
        (column, row)
    }

    pub fn process_id(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Waits for the end of the program and of what it wrote; the exit code.
    pub fn end(&mut self) -> u32 {
        let begun = std::time::Instant::now();
        loop {
            let (all_read, screen) = {
                let state = self.shared.parser.lock().unwrap();
                (state.2, state.0.screen().contents())
            };
            if let Some(status) = self.child.try_wait().unwrap().filter(|_| all_read) {
                return status.exit_code();
            }
            assert!(begun.elapsed() < PATIENCE, "the program did not end; the screen:\n{screen}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
