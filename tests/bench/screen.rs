//! What the screen costs: coloring code while it streams, a diff, opening and searching a session of a million tokens.

use std::sync::Arc;

use base::model::item::{Item, ItemId, UserMessage};
use context::session::effective::EffectiveSession;
use context::session::log::SessionLog;
use context::session::record::{ItemRecord, Record};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use divan::{Bencher, black_box};
use frontend::tui::pager::cell;
use frontend::tui::pager::state::{Pager, PagerKind};
use frontend::tui::render::markdown;
use frontend::tui::render::theme::Theme;
use frontend::tui::transcript::diff;

fn code(bytes: usize) -> String {
    include_str!("hot.rs").chars().cycle().take(bytes).collect()
}

/// A block as it is drawn with each frame while it streams.
#[divan::bench]
fn code_block_4kb(bencher: Bencher) {
    let text = format!("```rust\n{}\n```", code(4 << 10));
    bencher.bench(|| markdown::render(black_box(&text), 100, Theme::new(true)).len());
}

#[divan::bench]
fn code_block_4kb_baseline_without_a_language(bencher: Bencher) {
    let text = format!("```\n{}\n```", code(4 << 10));
    bencher.bench(|| markdown::render(black_box(&text), 100, Theme::new(true)).len());
}

#[divan::bench]
fn code_block_one_line_of_64kb(bencher: Bencher) {
    let text = format!("```js\n{}\n```", code(64 << 10).replace('\n', " "));
    bencher.bench(|| markdown::render(black_box(&text), 100, Theme::new(true)).len());
}

#[divan::bench]
fn diff_1000_lines(bencher: Bencher) {
    let lines: String =
        (0..500).map(|n| format!("-let value_{n} = {n};\n+let value_{n} = {};\n", n + 1)).collect();
    let text = format!("+++ b/a.rs\n@@ -1,500 +1,500 @@\n{lines}");
    bencher.bench(|| diff::render(black_box(&text), 160, usize::MAX, Theme::new(true)).len());
}

/// About a million tokens in 4,000 items.
fn million_tokens() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let mut log = SessionLog::create(dir.path(), "long", dir.path(), |_| ()).unwrap();
    for n in 0..4_000_u64 {
        let text = format!("item {n}: {}", "some words of an answer, ".repeat(40));
        let item = if n % 8 == 0 { Item::User(UserMessage::new(&text)) } else { Item::assistant(text) };
        log.append(&Record::Item(ItemRecord { id: ItemId(n + 1), ms: 1, tokens: 250, item: Arc::new(item) }))
            .unwrap();
    }
    let path = log.path().to_owned();
    (dir, path)
}

fn opened(log: &std::path::Path) -> Pager {
    let session = EffectiveSession::read(log).unwrap();
    let items: Vec<(ItemId, Arc<Item>)> = session.items().map(|(id, item)| (id, Arc::clone(item))).collect();
    let mut pager = Pager::new(PagerKind::Transcript);
    pager.arrange((200, 50), Theme::new(true));
    pager.fill(cell::of_items(&items));
    pager.arrange((200, 50), Theme::new(true));
    pager
}

#[divan::bench]
fn transcript_of_1m_tokens_opened(bencher: Bencher) {
    let (_dir, log) = million_tokens();
    bencher.bench(|| opened(black_box(&log)).lines(200, 48, Theme::new(true)).len());
}

#[divan::bench]
fn transcript_of_1m_tokens_opened_baseline_file_read(bencher: Bencher) {
    let (_dir, log) = million_tokens();
    bencher.bench(|| std::fs::read(black_box(&log)).unwrap().len());
}

/// What is looked for stands nowhere: every cell is searched.
#[divan::bench]
fn transcript_of_1m_tokens_searched(bencher: Bencher) {
    let (_dir, log) = million_tokens();
    let mut pager = opened(&log);
    bencher.bench_local(|| {
        for code in "/nowhere".chars().map(KeyCode::Char).chain([KeyCode::Enter]) {
            pager.key(KeyEvent::new(code, KeyModifiers::NONE));
        }
    });
}

#[divan::bench]
fn transcript_of_1m_tokens_page_up(bencher: Bencher) {
    let (_dir, log) = million_tokens();
    let mut pager = opened(&log);
    bencher.bench_local(|| {
        pager.key(KeyEvent::new(KeyCode::PageUp, KeyModifiers::NONE));
        pager.arrange((200, 50), Theme::new(true));
    });
}
