//! Whatever stands in a session log, a stream of events or a command's output: the readers never panic, and what is whole
//! in it is read whole.

use std::sync::Arc;

use base::model::item::{Item, ItemId};
use base::sanitize;
use context::session::reader;
use context::session::record::{ItemRecord, Record};
use proptest::prelude::*;
use provider::wire::sse::{SseEvent, SseParser};

fn cases(count: u32) -> ProptestConfig {
    ProptestConfig { cases: count, failure_persistence: None, ..ProptestConfig::default() }
}

/// Texts that tempt a line reader: separators that are none, quotes, the beginnings of records.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,20}",
        Just("\u{2028}\u{2029}\u{85}\u{b}\u{c}".to_owned()),
        Just("line\nline\r\nline\0".to_owned()),
        Just(r#"{"item":{"id":1,"ms":0,"tokens":1,"item":{}}}"#.to_owned()),
        Just(r#"\"}}{"rewind":{"to":1}}"#.to_owned()),
        (0_usize..200_000).prop_map(|length| "x".repeat(length)),
    ]
}

fn records() -> impl Strategy<Value = Record> {
    prop_oneof![
        (1_u64..99, texts()).prop_map(|(id, text)| Record::Item(ItemRecord {
            id: ItemId(id),
            ms: 1,
            tokens: 1,
            item: Arc::new(Item::assistant(text)),
        })),
        (1_u64..99).prop_map(|id| Record::Rewind { to: ItemId(id) }),
        (0_u32..9).prop_map(|rewind| Record::Revive { rewind }),
        (texts(), texts()).prop_map(|(provider, model)| Record::Model { provider, model }),
    ]
}

/// What may stand between good lines.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)]
enum Junk {
    /// A whole line of anything.
    Line(Vec<u8>),
    /// The beginning of a record, glued to what follows.
    Torn(Record, prop::sample::Index),
}

fn junk() -> impl Strategy<Value = Option<Junk>> {
    let bytes = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        (0_usize..5_000).prop_map(|length| vec![0; length]),
        Just(br#"{"item":{"id":"#.to_vec()),
        Just(b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[".repeat(400)),
    ];
    prop_oneof![
        3 => Just(None),
        2 => bytes.prop_map(|bytes| Some(Junk::Line(bytes.into_iter().filter(|byte| *byte != b'\n').collect()))),
        1 => (records(), any::<prop::sample::Index>()).prop_map(|(record, at)| Some(Junk::Torn(record, at))),
    ]
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn no_whole_line_of_a_log_is_lost(parts in prop::collection::vec((junk(), records()), 0..12), tail in texts()) {
        let mut bytes = Vec::new();
        let mut good = Vec::new();
        for (junk, record) in parts {
            match junk {
                Some(Junk::Line(line)) => {
                    bytes.extend(line);
                    bytes.push(b'\n');
                }
                Some(Junk::Torn(record, at)) => {
                    let line = serde_json::to_vec(&record).unwrap();
                    // Torn before its text could hold what looks like a record of its own.
                    bytes.extend(&line[..at.index(line.len().min(20))]);
                }
                None => {}
            }
            bytes.extend(serde_json::to_vec(&record).unwrap());
            bytes.push(b'\n');
            good.push(record);
        }
        bytes.extend(tail.as_bytes());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        std::fs::write(&path, &bytes).unwrap();
        let read = reader::read(&path).unwrap();
        let mut rest = read.records.iter();
        for record in &good {
            prop_assert!(rest.any(|found| found == record), "lost {:?} of {}", record, String::from_utf8_lossy(&bytes));
        }
        // Looking for one item takes the same damage.
        for id in 1..5 {
            let _ = reader::find_item(&path, ItemId(id)).unwrap();
        }
    }

    #[test]
    fn any_bytes_are_a_log(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        std::fs::write(&path, &bytes).unwrap();
        reader::read(&path).unwrap();
        reader::find_item(&path, ItemId(1)).unwrap();
    }
}

fn events_of(portions: &[&[u8]]) -> Vec<SseEvent> {
    let (mut parser, mut events) = (SseParser::default(), Vec::new());
    for portion in portions {
        parser.push(portion, &mut events).unwrap();
    }
    parser.finish(&mut events);
    events
}

proptest! {
    #![proptest_config(cases(256))]

    /// Comments, unknown fields and garbage between events take none of them away.
    #[test]
    fn whole_events_survive_what_stands_between(
        parts in prop::collection::vec(("[a-z]{0,6}", prop::collection::vec("[^\r\n\u{feff}]{0,12}", 1..4), "[^\r\n:]{0,9}", 0_usize..3), 1..8),
    ) {
        const ENDS: [&str; 3] = ["\n", "\r\n", "\r"];
        let (mut stream, mut wanted) = (String::new(), Vec::new());
        for (name, data, noise, end) in &parts {
            let end = ENDS[*end];
            stream.push_str(&format!(": {noise}{end}id: {noise}{end}x{noise}: y{end}event: {name}{end}"));
            for line in data {
                stream.push_str(&format!("data: {line}{end}"));
            }
            stream.push_str(end);
            wanted.push(SseEvent { name: name.clone(), data: data.join("\n") });
        }
        prop_assert_eq!(events_of(&[stream.as_bytes()]), wanted);
    }

    /// Between whole escape sequences all text stays, and nothing of the sequences does.
    #[test]
    fn text_between_sequences_stays(parts in prop::collection::vec(("[a-zA-Z0-9 é日;\\[\\]\n\t]{0,12}", 0_usize..9, "[0-9;]{0,6}"), 0..10)) {
        let (mut raw, mut plain) = (String::new(), String::new());
        for (text, kind, inner) in &parts {
            raw.push_str(text);
            plain.push_str(text);
            raw.push_str(&match kind {
                0 => format!("\u{1b}[{inner}m"),
                1 => format!("\u{1b}]0;{inner}\u{7}"),
                2 => format!("\u{1b}]52;c;{inner}\u{1b}\\"),
                3 => format!("\u{1b}P{inner}\u{1b}\\"),
                4 => format!("\u{9b}{inner}H"),
                5 => "\u{1b}(B".to_owned(),
                6 => format!("\u{1b}[?{inner}h"),
                7 => format!("\u{1b}_{inner}\u{9c}"),
                _ => "\u{1b}c".to_owned(),
            });
        }
        prop_assert_eq!(sanitize::clean(&raw), plain);
    }

    #[test]
    fn no_bytes_of_a_command_steer_the_terminal(bytes in prop::collection::vec(prop_oneof![Just(0x1b_u8), Just(b'['), Just(b']'), Just(7), any::<u8>()], 0..80)) {
        let text = String::from_utf8_lossy(&bytes);
        let clean = sanitize::clean(&text);
        let steers = |c: char| c.is_control() && c != '\n' && c != '\t';
        prop_assert!(!clean.chars().any(steers), "{:?}", clean);
        prop_assert_eq!(sanitize::clean(&clean), clean.as_ref());
    }
}
