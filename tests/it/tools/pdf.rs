//! PDF documents are read as text: by page, in limits, in a process of their own.

use std::time::Duration;

use guard::sandbox::launch;
use serde_json::json;

use crate::support::sandbox_world::running;
use crate::support::tools::{Bench, assert_error};

/// A document with these contents of pages, which `extra` may add objects to; readers make its table of objects anew.
fn document(pages: &[&[u8]], extra: &str) -> Vec<u8> {
    let kids: String = (0..pages.len()).map(|page| format!("{} 0 R ", 10 + page * 2)).collect();
    let mut bytes = format!(
        "%PDF-1.7\n%\0\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[{kids}]/Count {}/MediaBox[0 0 600 800]\
         /Resources<</Font<</F 3 0 R>>/XObject<</X 4 0 R>>>>>>\nendobj\n3 0 obj\n<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>\nendobj\n",
        pages.len()
    )
    .into_bytes();
    for (content, number) in pages.iter().zip((10..).step_by(2)) {
        let content_number = number + 1;
        let head = format!(
            "{number} 0 obj\n<</Type/Page/Parent 2 0 R/Contents {content_number} 0 R>>\nendobj\n{content_number} 0 obj\n<</Length {}>>\nstream\n",
            content.len()
        );
        bytes.extend([head.as_bytes(), content, b"\nendstream\nendobj\n"].concat());
    }
    bytes.extend(format!("{extra}trailer\n<</Root 1 0 R/Size 9999>>\n%%EOF\n").into_bytes());
    bytes
}

fn bench() -> Bench {
    launch::use_helper(env!("CARGO_BIN_EXE_mycode").into());
    Bench::new()
}

const HEADING: &[u8] = b"BT /F 12 Tf 1 0 0 1 50 700 Tm (Annual) Tj 1 0 0 1 120 700 Tm (report) Tj 1 0 0 1 50 680 Tm [(To)-600(tal: 7)] TJ ET";
/// Upwards along the left edge.
const TURNED: &[u8] = b"BT /F 12 Tf 0 1 -1 0 50 100 Tm (Sideways text) Tj ET";
const DRAWN: &[u8] = b"0 0 m 100 100 l S";

#[tokio::test]
async fn pages_as_text() {
    let bench = bench();
    bench.put("a.pdf", document(&[HEADING, DRAWN, TURNED], ""));
    let read = bench.read("a.pdf").await;
    let lines = "1\t--- page 1 of 3 ---\n2\tAnnual  report\n3\tTo tal: 7\n4\t--- page 2 of 3 (no text: an image or a drawing) ---\n\
                 5\t--- page 3 of 3 ---\n6\tSideways text";
    assert_eq!(read.body, lines);
    assert_eq!(read.text, "the text of a PDF document");
    let read = bench.call("Read", json!({"path": "a.pdf", "start_line": 2, "limit": 2})).await;
    assert_eq!(read.body, "2\tAnnual  report\n3\tTo tal: 7");
    assert_eq!(read.text, "the text of a PDF document; lines 2-3 of 6; continue with start_line=4");
    let edit = json!({"path": "a.pdf", "old_string": "Annual", "new_string": "Yearly"});
    assert_error(&bench.call("Edit", edit).await, "BINARY_FILE", "PDF document");
}

#[tokio::test]
async fn documents_that_cannot_be_read() {
    let bench = bench();
    bench.put("scan.pdf", document(&[DRAWN, DRAWN], ""));
    assert_error(&bench.read("scan.pdf").await, "BINARY_FILE", "none of its 2 pages has text");
    bench.put("cut.pdf", b"%PDF-1.7\n1 0 obj\n<</Type/Cat");
    assert_error(&bench.read("cut.pdf").await, "BINARY_FILE", "PDF document (28 B), not text; it is damaged");
    // A form that draws itself, and arrays in arrays.
    let endless = "4 0 obj\n<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 4 0 R>>>>/Length 5>>\nstream\n/X Do\nendstream\nendobj\n";
    let deep = [b"[".repeat(200_000), HEADING.to_vec()].concat();
    bench.put("endless.pdf", document(&[b"/X Do", &deep, HEADING], endless));
    assert!(bench.read("endless.pdf").await.body.contains("Annual  report"));
}

#[tokio::test]
async fn a_cancelled_reading_ends_its_process() {
    let bench = bench();
    // Forms that each draw the next one twenty times.
    let form = |(number, next): (u32, u32)| {
        let draw = "/X Do ".repeat(20);
        let head = format!(
            "{number} 0 obj\n<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X {next} 0 R>>>>"
        );
        format!("{head}/Length {}>>\nstream\n{draw}\nendstream\nendobj\n", draw.len())
    };
    let forms: String = [(4, 100)].into_iter().chain((100..109).map(|at| (at, at + 1))).map(form).collect();
    bench.put("long.pdf", document(&[b"/X Do"], &forms));
    let runs = || running(concat!(env!("CARGO_BIN_EXE_mycode"), " __pdf"));
    let stop = async {
        while !runs() {
            tokio::task::yield_now().await;
        }
        bench.cx.cancel.cancel();
        while runs() {
            tokio::task::yield_now().await;
        }
    };
    let both = async { tokio::join!(bench.read("long.pdf"), stop) };
    // Less than what a document is given.
    let (read, ()) = tokio::time::timeout(Duration::from_secs(10), both).await.unwrap();
    assert_error(&read, "INTERRUPTED", "");
}
