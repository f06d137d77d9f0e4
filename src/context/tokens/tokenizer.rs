//! Exact counts for models with a public tokenizer. Its tables take a third of a second and some 46 MB to
//! load, so only commands that examine a stored session use it; the running agent estimates and calibrates.

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};

use flate2::read::ZlibDecoder;
use rustc_hash::FxHashMap;
use tiktoken_rs::{CoreBPE, O200K_BASE_PAT_STR, Rank};

use super::estimate::estimate;

/// In bytes. The cost grows faster than the length, and a million blanks overflow the stack of the regex engine.
const PIECE_BYTES: usize = 4 << 10;

/// Bytes counted at most; a longer text is judged by evenly spaced samples of this total size.
const COUNTED_BYTES: usize = 256 << 10;

/// o200k, the tokenizer of these models.
const O200K: [&str; 10] =
    ["gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "gpt-oss", "o1", "o3", "o4", "chatgpt", "codex"];

/// Tokens of o200k by rank, each after a byte with its length, compressed (zlib): 1 MB instead of the crate's 3.6 MB.
/// Made from the table of tiktoken-rs 0.12.1, with which a test compares it.
const O200K_TOKENS: &[u8] = include_bytes!("o200k.zlib");

pub struct Tokenizer(CoreBPE);

impl Tokenizer {
    /// The tokenizer of a model; `None` if it isn't public. Blocks while it loads the tables.
    pub fn of_model(model: &str) -> Option<Self> {
        is_public(model).then(o200k)?.map(Self)
    }

    /// Tokens of `text`, by samples if it has over 256 KiB; estimated if the tokenizer fails.
    pub fn count(&self, text: &str) -> u32 {
        self.counted(text).unwrap_or_else(|| estimate(text))
    }

    fn counted(&self, text: &str) -> Option<u32> {
        let pieces = pieces(text);
        let every = text.len().div_ceil(COUNTED_BYTES).max(1);
        let mut bytes = 0u64;
        let mut tokens = 0u64;
        for piece in pieces.iter().step_by(every) {
            // The tokenizer panics if its regex engine fails.
            tokens += catch_unwind(AssertUnwindSafe(|| self.0.count_ordinary(piece))).ok()? as u64;
            bytes += piece.len() as u64;
        }
        if every > 1 && bytes > 0 {
            tokens = (u128::from(tokens) * text.len() as u128 / u128::from(bytes)) as u64;
        }
        Some(u32::try_from(tokens).unwrap_or(u32::MAX))
    }
}

fn o200k() -> Option<CoreBPE> {
    let mut bytes = Vec::new();
    ZlibDecoder::new(O200K_TOKENS).read_to_end(&mut bytes).ok()?;
    let mut ranks = FxHashMap::default();
    let mut rest = bytes.as_slice();
    while let [length, tail @ ..] = rest {
        let (token, tail) = tail.split_at_checked(usize::from(*length))?;
        ranks.insert(token.to_vec(), Rank::try_from(ranks.len()).ok()?);
        rest = tail;
    }
    CoreBPE::new(ranks, FxHashMap::default(), O200K_BASE_PAT_STR).ok()
}

/// By the model's name, ignoring a vendor prefix.
fn is_public(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    O200K.iter().any(|prefix| name.starts_with(prefix))
}

/// Splits a text into pieces of limited size, at a line or a blank if possible, since tokens rarely span those.
fn pieces(whole: &str) -> Vec<&str> {
    let mut pieces = Vec::with_capacity(whole.len() / PIECE_BYTES + 1);
    let mut rest = whole;
    while rest.len() > PIECE_BYTES {
        let limit = rest.floor_char_boundary(PIECE_BYTES);
        let late = rest.floor_char_boundary(PIECE_BYTES / 2);
        let cut = rest.as_bytes()[late..limit]
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map(|at| late + at + 1)
            .or_else(|| {
                rest.as_bytes()[late..limit].iter().rposition(|byte| *byte == b' ').map(|at| late + at)
            })
            .unwrap_or(limit);
        let (piece, tail) = rest.split_at(cut);
        pieces.push(piece);
        rest = tail;
    }
    pieces.push(rest);
    pieces
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_public_tokenizers_are_named() {
        assert!(is_public("gpt-5-mini") && is_public("openai/gpt-4o"));
        assert!(!is_public("gpt-4-turbo"), "its tables would weigh 1.7 MB for a model of 2023");
        assert!(!is_public("claude-sonnet-4-5") && !is_public("qwen3-coder"));
    }

    #[test]
    fn the_tokens_are_those_of_the_crate() {
        let crates = tiktoken_rs::o200k_base().unwrap();
        let ours = o200k().unwrap();
        for rank in 0..199_998 {
            assert_eq!(ours.decode_bytes(&[rank]).ok(), crates.decode_bytes(&[rank]).ok(), "{rank}");
        }
        assert!(ours.decode_bytes(&[199_998]).is_err());
    }

    #[test]
    fn pieces_are_the_text() {
        for text in ["", "short", &"word ".repeat(9_000), &"漢字".repeat(9_000), &"x".repeat(20_000)] {
            assert_eq!(pieces(text).concat(), text);
            assert!(pieces(text).iter().all(|piece| piece.len() <= PIECE_BYTES));
        }
    }

    #[test]
    fn adversarial_text_is_counted_in_bounded_pieces() {
        let tokenizer = Tokenizer::of_model("gpt-5").unwrap();
        let code = "fn main() { println!(\"hello, {}\", name); }\n".repeat(1_000);
        let exact = tiktoken_rs::o200k_base().unwrap().count_ordinary(&code) as f64;
        let counted = f64::from(tokenizer.count(&code));
        assert!((counted / exact - 1.0).abs() < 0.01, "{counted} of {exact}");
        for letter in [" ", "\t", "a", "漢", "\u{200b}"] {
            let text = letter.repeat((1 << 20) / letter.len());
            assert!(tokenizer.count(&text) > 1_000, "{letter:?}");
        }
    }
}
