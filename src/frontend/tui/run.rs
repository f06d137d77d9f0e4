//! The main loop: joins keys, agent events and the clock to the reducer, and draws. All waiting of the front
//! end happens here; when idle, nothing wakes up.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use crossterm::event::EventStream;
use futures_util::{Stream, StreamExt as _};
use ratatui::layout::Size;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::time::Instant;

use super::app::App;
use super::msg::{Cmd, Msg};
use crate::tui::effects;
use crate::tui::print_queue::PrintQueue;
use crate::tui::render::view::{self, Drawing};
use crate::tui::terminal::attention::Attention;
use crate::tui::terminal::background::{self, LateAnswer};
use crate::tui::terminal::paste_detector::PasteDetector;
use crate::tui::terminal::screen::Screen;
use crate::tui::terminal::setup::{self, Output};
use crate::tui::update::on_message::update;
use base::config::settings::ScreenSettings;
use base::process::{signals, task};
use base::protocol::event::{Event, Level, SessionInfo};
use base::protocol::op::{Control, Op, Quick};
use base::system::os::{self, Signal};

const FRAME: Duration = Duration::from_millis(16);
const BEAT: Duration = Duration::from_millis(100);
const DRAFT: Duration = Duration::from_millis(700);
const PANICKED: &str = "Internal error; its message is in the scrollback above. Please report it.";
/// Events processed before keys get a turn again.
const BATCH: usize = 64;
/// How long the width must stay the same before everything is rewrapped.
const SETTLED: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TuiOutcome {
    Quit,
    AgentGone,
    /// By a signal, or because the terminal is gone.
    Killed,
}

/// `Control::Shutdown` has been sent and the terminal is restored when it returns. Call [`setup::usable`] first.
pub async fn run(
    ops: UnboundedSender<Op>,
    events: UnboundedReceiver<Event>,
    initial_prompt: Option<String>,
    settings: ScreenSettings,
    pick_model: bool,
) -> io::Result<(TuiOutcome, Option<SessionInfo>)> {
    // Before querying the size, or a resize before the first key would be missed.
    let resized = signals::any([Signal::WINCH]);
    let greeting = setup::enter(settings.mouse)?;
    let _restore = Restore;
    let (columns, rows) = crossterm::terminal::size()?;
    let mut app = App::new(Default::default(), (columns, rows));
    app.set_look(background::look(settings.theme, greeting.background));
    if !greeting.typed.is_empty() {
        app.composer.paste(&greeting.typed);
    }
    let (done, results) = mpsc::unbounded_channel();
    app.composer.set_vim(settings.vim);
    let output = Output::new(greeting.speed);
    let size = Size::new(columns, rows);
    let screen = Screen::new(output.clone(), size, setup::breaks_lines_anew());
    let mut front = FrontEnd {
        app,
        screen,
        output,
        ops,
        start: Instant::now(),
        queue: PrintQueue::default(),
        shown: Drawing::default(),
        rewrap_at: None,
        complete_at: Instant::now(),
        typed: false,
        edited: None,
        attention: Attention::new(settings.notify, |name| std::env::var(name).ok()),
        settings,
        done,
        draft: Default::default(),
        draft_due: None,
        late_answer: LateAnswer::new(greeting.asked),
    };
    front.draw(false)?;
    front.app.picks_model = pick_model;
    let commands = front.app.begin(initial_prompt);
    front.execute(commands)?;
    let outcome = front.run(events, resized, results).await;
    front.keep_draft();
    // The engine may already be gone.
    let _ = front.ops.send(Control::Shutdown.into());
    // Write errors on a closed terminal must not hide why the interface ended.
    if matches!(outcome, Ok(TuiOutcome::Quit)) {
        let _ = front.draw_all();
    }
    let _ = front.screen.leave();
    let _ = front.output.send();
    setup::set_alternate(false);
    Ok((outcome?, front.app.session))
}

struct Restore;

impl Drop for Restore {
    fn drop(&mut self) {
        setup::leave();
    }
}

struct FrontEnd {
    app: App,
    screen: Screen<Output>,
    output: Output,
    ops: UnboundedSender<Op>,
    start: Instant,
    queue: PrintQueue,
    rewrap_at: Option<Instant>,
    shown: Drawing,
    /// When the connection has transmitted the last frames. Until then, a key changes only the composer.
    complete_at: Instant,
    typed: bool,
    edited: Option<Cmd>,
    attention: Attention,
    settings: ScreenSettings,
    done: UnboundedSender<Msg>,
    draft: (usize, String),
    draft_due: Option<Instant>,
    late_answer: LateAnswer,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Continue,
    Edit,
    Suspend,
    Quit,
}

impl FrontEnd {
    async fn run(
        &mut self,
        mut events: UnboundedReceiver<Event>,
        mut resized: impl Stream<Item = ()> + Unpin,
        mut results: UnboundedReceiver<Msg>,
    ) -> io::Result<TuiOutcome> {
        let mut keys = EventStream::new();
        let mut killed = setup::killed();
        let mut stop = signals::any([Signal::TSTP]);
        let mut continued = signals::any([Signal::CONT]);
        // Without a SIGHUP, the key reader would spin.
        let gone = os::input_hung_up();
        tokio::pin!(gone);
        let mut paste_detector = PasteDetector::default();
        let mut batch = Vec::with_capacity(BATCH);
        let mut last_frame = Instant::now();
        let mut next_beat = Instant::now();
        let mut dirty = false;
        // The signal caused by our own Ctrl-Z isn't a second request.
        let mut own_stop = false;
        let mut own_continue = false;
        loop {
            let ticking = self.app.needs_tick();
            let frame_at = if self.typed { last_frame + FRAME } else { self.complete_at };
            // Checked against the clock: timers don't fire while the loop is busy.
            if dirty && Instant::now() >= frame_at {
                dirty = !self.draw(self.typed)?;
                last_frame = Instant::now();
            }
            self.note_draft();
            let mut next = Next::Continue;
            // In this order (keys, frames, events), so that a flood of text can't delay typing.
            tokio::select! {
                biased;
                key = keys.next() => match key {
                    Some(Ok(event)) => {
                        let burst = paste_detector.gather(event, &mut keys).await;
                        self.typed = true;
                        let (events, background) = self.late_answer.filter(burst.events);
                        if let Some(background) = background {
                            self.handle(Msg::Background(background))?;
                        }
                        for msg in events.into_iter().filter_map(Msg::of) {
                            next = next.max(self.handle(msg)?);
                        }
                        setup::rearm_waiting_input();
                        if burst.ended {
                            return Ok(TuiOutcome::Killed);
                        }
                    }
                    Some(Err(_)) | None => return Ok(TuiOutcome::Killed),
                },
                // crossterm waits for input and resizes together and loses the input if both arrive at once, until the next key.
                Some(()) = resized.next() => os::report_input_again(),
                // Only wakes the loop; it draws at the top.
                () = tokio::time::sleep_until(frame_at), if dirty => continue,
                _ = tokio::time::sleep_until(next_beat), if ticking => {
                    next_beat = Instant::now() + BEAT;
                    next = self.handle(Msg::Tick)?;
                }
                () = tokio::time::sleep_until(self.rewrap_at.unwrap_or(last_frame)), if self.rewrap_at.is_some() && !dirty && !self.screen.is_covered() => {}
                () = tokio::time::sleep_until(self.draft_due.unwrap_or(last_frame)), if self.draft_due.is_some() => {
                    self.keep_draft();
                    continue;
                }
                Some(msg) = results.recv() => next = self.handle(msg)?,
                _ = killed.next() => {
                    // The open paragraph too. The terminal may be gone.
                    self.app.print_all();
                    let commands = self.app.take_commands();
                    let _ = self.execute(commands).and_then(|_| self.draw_all());
                    return Ok(TuiOutcome::Killed);
                }
                () = &mut gone => return Ok(TuiOutcome::Killed),
                // Its message stays in the scrollback.
                () = setup::given_back() => {
                    self.take_terminal()?;
                    self.tell(Level::Error, PANICKED)?;
                }
                Some(()) = stop.next() => {
                    if !std::mem::take(&mut own_stop) {
                        next = Next::Suspend;
                    }
                }
                Some(()) = continued.next() => {
                    if !std::mem::take(&mut own_continue) {
                        self.take_terminal()?;
                    }
                }
                count = events.recv_many(&mut batch, BATCH) => {
                    if count == 0 {
                        self.draw_all()?;
                        return Ok(TuiOutcome::AgentGone);
                    }
                    for event in batch.drain(..) {
                        next = next.max(self.handle(Msg::Event(Box::new(event)))?);
                    }
                }
            }
            match next {
                Next::Continue => {}
                Next::Quit => return Ok(TuiOutcome::Quit),
                Next::Suspend => {
                    (own_stop, own_continue) = (true, true);
                    self.suspend()?;
                }
                Next::Edit => {
                    // An active key reader would steal the editor's keys, and signals then aren't for us.
                    drop(keys);
                    self.edit().await?;
                    keys = EventStream::new();
                    killed = setup::killed();
                    stop = signals::any([Signal::TSTP]);
                }
            }
            dirty = true;
        }
    }

    fn handle(&mut self, msg: Msg) -> io::Result<Next> {
        self.app.now = self.start.elapsed();
        let commands = update(&mut self.app, msg);
        self.execute(commands)
    }

    fn execute(&mut self, commands: Vec<Cmd>) -> io::Result<Next> {
        let mut next = Next::Continue;
        for command in commands {
            match command {
                Cmd::Send(op) => drop(self.ops.send(op)),
                Cmd::Print(entry) => {
                    if entry.is_interruption() && self.output.is_slow() {
                        let (width, rows) = (usize::from(self.app.size.0), usize::from(self.app.size.1));
                        self.queue.skip(rows, width, self.app.theme);
                    }
                    self.queue.push(entry);
                }
                Cmd::Withdraw(parts) => self.withdraw(parts)?,
                Cmd::ClearScreen { forget } => {
                    // First, so that pending pieces reach the scrollback.
                    self.draw_all()?;
                    self.screen.clear()?;
                    if forget {
                        self.queue.forget();
                    }
                }
                Cmd::Copy(text) => {
                    let is_set = |name: &str| std::env::var_os(name).is_some();
                    self.output.write_all(&effects::copying(&text, is_set))?;
                    self.beside(move || {
                        effects::copy_by_program(&text, is_set);
                        None
                    });
                }
                Cmd::KeepTheme(name) => {
                    let config = self.settings.config.clone();
                    self.beside(move || effects::keep_theme(&config, name));
                }
                Cmd::Suspend => next = next.max(Next::Suspend),
                Cmd::Edit(_) | Cmd::Compose(_) => {
                    self.edited = Some(command);
                    next = next.max(Next::Edit);
                }
                Cmd::PastePicture => {
                    let folder = self.settings.folder.clone();
                    self.beside(move || Some(Msg::Picture(effects::paste_picture(&folder))));
                }
                Cmd::CompleteShell(before) => {
                    let workspace = self.workspace();
                    self.beside(move || Some(effects::complete_shell(before, &workspace)));
                }
                Cmd::Quit => next = Next::Quit,
            }
        }
        Ok(next)
    }

    fn beside(&self, work: impl FnOnce() -> Option<Msg> + Send + 'static) {
        let done = self.done.clone();
        task::detached(move || work().map(|msg| done.send(msg)));
    }

    fn draw_all(&mut self) -> io::Result<()> {
        while !self.draw(false)? {}
        Ok(())
    }

    /// Returns whether everything is shown. `for_key`: the part above the composer may wait for the next frame.
    fn draw(&mut self, for_key: bool) -> io::Result<bool> {
        // Before each frame, because the resize signal may arrive later.
        let (columns, rows) = crossterm::terminal::size()?;
        let resized = (columns, rows) != self.app.size;
        if resized {
            if columns != self.app.size.0 && setup::clears_scrollback() {
                self.rewrap_at = Some(Instant::now() + SETTLED);
            }
            update(&mut self.app, Msg::Resize(columns, rows));
        }
        self.screen.resize(Size::new(columns, rows));
        let width = usize::from(columns);
        (self.app.slow, self.app.behind) = (self.output.is_slow(), self.queue.lines.len());
        let mut picture = view::picture(&self.app, width, usize::from(self.screen.room()));
        let due = self.rewrap_at.take_if(|at| Instant::now() >= *at && !picture.popup).is_some()
            && self.screen.is_torn();
        if self.app.shows_list() {
            // Keep the last printed lines visible.
            let free = usize::from(self.screen.room()).saturating_sub(picture.lines.len());
            let mut above = self.queue.last_lines(free, None, width, self.app.theme);
            let hidden = above.len().saturating_sub(free);
            picture.lines.splice(..0, above.drain(hidden..));
        }
        let covered = picture.popup || self.screen.is_covered();
        let same = !due && !resized && !covered && picture.foot == self.shown.foot;
        let waits = for_key && same && Instant::now() < self.complete_at;
        if waits {
            picture = picture.below(&self.shown);
        }
        if due {
            self.queue.render_anew(width, self.app.theme);
        } else if !waits {
            self.queue.render(width, self.app.theme);
        }
        let lines = if waits { Vec::new() } else { self.output.part(&mut self.queue.lines) };
        if due {
            self.screen.rewrap(lines, &picture)?;
        } else {
            self.screen.show(lines, &picture)?;
        }
        self.output.write_all(self.attention.news(&self.app).as_bytes())?;
        let pause = self.output.send()?;
        setup::set_alternate(picture.popup);
        let now = Instant::now();
        self.complete_at = match self.app.session {
            Some(_) if waits => self.complete_at + pause,
            Some(_) => now + pause,
            // The first prompt shouldn't wait for a frame.
            None => now,
        };
        self.shown = picture;
        self.typed = false;
        // Once more without what was still to come.
        Ok(!waits && self.queue.lines.is_empty() && self.app.behind == 0)
    }

    fn withdraw(&mut self, parts: usize) -> io::Result<()> {
        if !self.draw(false)? {
            return Ok(());
        }
        let (before, width) = (self.queue.kind_before(parts), usize::from(self.app.size.0));
        let lines = self.queue.last_lines(parts, before, width, self.app.theme);
        if self.screen.withdraw(&lines)? {
            self.queue.take_back(parts);
        }
        Ok(())
    }

    async fn edit(&mut self) -> io::Result<()> {
        let Some(edited) = self.edited.take() else { return Ok(()) };
        self.give_terminal()?;
        let outcome = match edited {
            Cmd::Edit(file) => effects::edit(&self.workspace().join(&file)).await,
            Cmd::Compose(text) => effects::compose(&self.settings.folder, &text).await.and_then(|text| {
                self.done.send(Msg::Edited(text)).map_err(|_| "The interface ended.".to_owned())
            }),
            _ => Ok(()),
        };
        self.take_terminal()?;
        outcome.or_else(|message| self.tell(Level::Warning, &message))
    }

    fn give_terminal(&mut self) -> io::Result<()> {
        self.screen.leave()?;
        self.output.send()?;
        setup::set_alternate(false);
        setup::leave();
        Ok(())
    }

    fn take_terminal(&mut self) -> io::Result<()> {
        setup::enter_again()?;
        self.attention.forget_title();
        self.screen.enter()
    }

    fn workspace(&self) -> PathBuf {
        self.app.session.as_ref().map(|info| PathBuf::from(&info.workspace)).unwrap_or_default()
    }

    fn note_draft(&mut self) {
        let (aside, text) = (self.app.aside(), self.app.composer.text());
        if aside == 0 && text.is_empty() && !self.draft.1.is_empty() {
            self.keep_draft();
        } else if (aside, text) != (self.draft.0, self.draft.1.as_str()) && self.draft_due.is_none() {
            self.draft_due = Some(Instant::now() + DRAFT);
        }
    }

    fn keep_draft(&mut self) {
        self.draft_due = None;
        let (aside, text) = (self.app.aside(), self.app.composer.text());
        if (aside, text) != (self.draft.0, self.draft.1.as_str()) {
            self.draft = (aside, text.to_owned());
            let _ = self.ops.send(Quick::SaveDraft { text: self.app.draft() }.into());
        }
    }

    fn tell(&mut self, level: Level, text: &str) -> io::Result<()> {
        self.app.notice(level, text);
        let commands = self.app.take_commands();
        self.execute(commands).map(drop)
    }

    fn suspend(&mut self) -> io::Result<()> {
        self.give_terminal()?;
        os::stop_group();
        self.take_terminal()
    }
}
