//! HTML to Markdown (with htmd): the main part of the page, with absolute links. Pages may be hostile, so
//! parse time, depth and number of children are limited.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use htmd::element_handler::{HandlerResult, Handlers};
use htmd::options::{BrStyle, BulletListMarker, HrStyle, Options};
use htmd::{Element, HtmlToMarkdown, Node};
use html5ever::tendril::TendrilSink;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{NodeData, RcDom};
use reqwest::Url;

use base::text::one_line;

const PARSE_TIME: Duration = Duration::from_secs(5);
const PORTION: usize = 16 * 1024;
/// Deeper elements and more children are left out.
const MAX_DEPTH: usize = 200;
const MAX_CHILDREN: usize = 20_000;
const MAX_COLUMNS: usize = 50;
const TITLE_CHARS: usize = 120;
/// A main part with less text isn't used.
const MAIN_CHARS: usize = 200;

const DROPPED: [&str; 17] = [
    "script", "style", "noscript", "template", "svg", "canvas", "iframe", "object", "embed", "audio",
    "video", "button", "input", "select", "textarea", "dialog", "link",
];
/// Parts around the main text; kept only if there is nothing else.
const FURNITURE: [&str; 3] = ["nav", "footer", "aside"];
const FURNITURE_ROLES: [&str; 4] = ["navigation", "banner", "contentinfo", "search"];

#[derive(Debug, Default)]
pub struct Markdown {
    pub title: Option<String>,
    pub text: String,
    pub note: Option<&'static str>,
}

pub fn from_html(html: &str, url: &Url) -> Markdown {
    let (document, whole) = parsed(html);
    let title =
        nodes(&document).find(|node| tag(node) == "title").map(|node| one_line(&text_of(&node), TITLE_CHARS));
    let base = nodes(&document).find(|node| tag(node) == "base").and_then(|node| attribute(&node, "href"));
    let base = base.and_then(|base| url.join(&base).ok()).unwrap_or_else(|| url.clone());
    tidy(&document, &base);
    let main = main_part(&document);
    if main.is_none() {
        remove(&document, &|node| is_furniture(node));
    }
    let mut text = written(main.as_ref().unwrap_or(&document));
    let mut note = (!whole).then_some("the page took too long to read: only its beginning is here");
    if text.trim().is_empty() {
        text.clear();
        note = note
            .or(Some("the page has no text; its content may be made by JavaScript, which does not run here"));
    }
    Markdown { title: title.filter(|title| !title.is_empty()), text, note }
}

fn parsed(html: &str) -> (Rc<Node>, bool) {
    let (begun, mut parser) = (Instant::now(), parse_document(RcDom::default(), ParseOpts::default()));
    let mut rest = html;
    while !rest.is_empty() && begun.elapsed() < PARSE_TIME {
        let (portion, next) = rest.split_at(rest.ceil_char_boundary(PORTION.min(rest.len())));
        parser.process(portion.into());
        rest = next;
    }
    (parser.finish().document, rest.is_empty())
}

/// Removes non-text and deeply nested elements, and makes links absolute.
fn tidy(document: &Rc<Node>, base: &Url) {
    let mut open = vec![(Rc::clone(document), 0)];
    while let Some((node, depth)) = open.pop() {
        let mut children = node.children.borrow_mut();
        children.truncate(if depth < MAX_DEPTH { MAX_CHILDREN } else { 0 });
        children.retain(|child| !is_dropped(child));
        open.extend(children.iter().map(|child| (Rc::clone(child), depth + 1)));
        drop(children);
        if let NodeData::Element { attrs, .. } = &node.data {
            let mut attrs = attrs.borrow_mut();
            attrs.retain(|attr| !attr.value.trim_start().starts_with("javascript:"));
            for attr in attrs.iter_mut() {
                if matches!(&*attr.name.local, "href" | "src")
                    && let Ok(whole) = base.join(attr.value.trim())
                {
                    attr.value = whole.as_str().into();
                }
            }
        }
    }
}

/// Scripts and the like, hidden elements, images without a description, and dead links.
fn is_dropped(node: &Rc<Node>) -> bool {
    match &node.data {
        NodeData::Element { .. } => {}
        NodeData::Text { .. } | NodeData::Document => return false,
        _ => return true,
    }
    let has = |name: &str| attribute(node, name);
    let name = tag(node);
    DROPPED.contains(&name)
        || has("hidden").is_some()
        || has("aria-hidden").is_some_and(|value| value == "true")
        || name == "img"
            && (has("alt").is_none_or(|alt| alt.trim().is_empty())
                || has("src").is_none_or(|src| src.trim_start().starts_with("data:")))
        || name == "a"
            && text_of(node).trim_matches(['#', '¶', '§', '\u{200b}', ' ']).is_empty()
            && nodes(node).all(|inner| tag(&inner) != "img")
}

fn is_furniture(node: &Rc<Node>) -> bool {
    FURNITURE.contains(&tag(node))
        || attribute(node, "role").is_some_and(|role| FURNITURE_ROLES.contains(&role.as_str()))
}

fn main_part(document: &Rc<Node>) -> Option<Rc<Node>> {
    let is_main =
        |node: &Rc<Node>| tag(node) == "main" || attribute(node, "role").is_some_and(|role| role == "main");
    let only_article = || {
        let mut articles = nodes(document).filter(|node| tag(node) == "article");
        articles.next().filter(|_| articles.next().is_none())
    };
    let found = nodes(document).find(is_main).or_else(only_article)?;
    remove(&found, &|node| matches!(tag(node), "nav" | "footer"));
    (text_of(&found).trim().chars().count() >= MAIN_CHARS).then_some(found)
}

fn remove(top: &Rc<Node>, unwanted: &dyn Fn(&Rc<Node>) -> bool) {
    for node in nodes(top) {
        node.children.borrow_mut().retain(|child| !unwanted(child));
    }
}

fn written(node: &Rc<Node>) -> String {
    let options = Options {
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        bullet_list_marker: BulletListMarker::Dash,
        hr_style: HrStyle::Dashes,
        br_style: BrStyle::Backslash,
        ..Options::default()
    };
    let skipped = vec!["head", "title"];
    let writer = HtmlToMarkdown::builder()
        .options(options)
        .skip_tags(skipped)
        .add_handler(vec!["table"], table)
        .build();
    // In a tree of its own, because headings and lists depend on their context.
    let root = Node::new(NodeData::Document);
    root.children.borrow_mut().push(Rc::clone(node));
    writer.tree_to_markdown(&root)
}

/// The library's table conversion drops row headers, and the rows of tables without a header.
fn table(handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
    let (mut rows, mut caption): (Vec<Vec<String>>, String) = (Vec::new(), String::new());
    let mut open = vec![Rc::clone(element.node)];
    while let Some(node) = open.pop() {
        match tag(&node) {
            "tr" => rows.push(cells(handlers, &node)),
            "caption" => caption = on_one_row(&handlers.walk_children(&node).content),
            _ => open.extend(node.children.borrow().iter().rev().map(Rc::clone)),
        }
    }
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    if columns < 2 || is_layout(element.node) {
        return Some(format!("\n\n{}\n\n", handlers.walk_children(element.node).content.trim()).into());
    }
    rows.retain(|row| row.iter().any(|cell| !cell.is_empty()));
    let mut text = format!("\n\n{caption}\n\n");
    for (at, mut row) in rows.into_iter().enumerate() {
        row.resize(columns, String::new());
        text.push_str(&format!("| {} |\n", row.join(" | ")));
        if at == 0 {
            text.push_str(&format!("|{}\n", " - |".repeat(columns)));
        }
    }
    Some(format!("{text}\n").into())
}

/// A cell that spans several columns is written to the first one.
fn cells(handlers: &dyn Handlers, row: &Rc<Node>) -> Vec<String> {
    let mut cells = Vec::new();
    for cell in row.children.borrow().iter().filter(|cell| matches!(tag(cell), "td" | "th")) {
        cells.push(on_one_row(&handlers.walk_children(cell).content));
        let columns = attribute(cell, "colspan").and_then(|columns| columns.trim().parse().ok()).unwrap_or(1);
        cells.resize(cells.len() + columns.clamp(1, MAX_COLUMNS) - 1, String::new());
    }
    cells
}

fn on_one_row(text: &str) -> String {
    let plain = text.replace("\\\n", "\n").replace('|', "\\|");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_layout(table: &Rc<Node>) -> bool {
    const PARTS: [&str; 9] = ["table", "h1", "h2", "h3", "h4", "pre", "form", "article", "section"];
    let holds = |parts: &[&str]| nodes(table).skip(1).any(|node| parts.contains(&tag(&node)));
    holds(&["table"]) || !holds(&["th"]) && holds(&PARTS)
}

/// `top` and all nodes below it, in document order.
fn nodes(top: &Rc<Node>) -> impl Iterator<Item = Rc<Node>> + use<> {
    let mut open = vec![Rc::clone(top)];
    std::iter::from_fn(move || {
        let node = open.pop()?;
        open.extend(node.children.borrow().iter().rev().map(Rc::clone));
        Some(node)
    })
}

fn text_of(node: &Rc<Node>) -> String {
    let mut text = String::new();
    for node in nodes(node) {
        if let NodeData::Text { contents } = &node.data {
            text.push_str(&RefCell::borrow(contents));
        }
    }
    text
}

fn tag(node: &Rc<Node>) -> &str {
    match &node.data {
        NodeData::Element { name, .. } => &name.local,
        _ => "",
    }
}

fn attribute(node: &Rc<Node>, wanted: &str) -> Option<String> {
    let NodeData::Element { attrs, .. } = &node.data else { return None };
    let attrs = attrs.borrow();
    attrs.iter().find(|attr| &*attr.name.local == wanted).map(|attr| attr.value.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(html: &str) -> Markdown {
        from_html(html, &Url::parse("https://example.org/docs/a.html").unwrap())
    }

    #[test]
    fn a_page_of_documentation() {
        let filler = "Enough words that this is taken for the content of the page. ".repeat(4);
        let page = read(&format!(
            "<!doctype html><head><title> A  title </title><style>p {{}}</style></head><body>\
             <header><nav><a href=/>Home</a></nav></header>\
             <main><nav>On this page</nav><h1>Install<a class=anchor href=#install>#</a></h1>\
             <p>{filler}Run <code>cargo add x</code>, see <a href='../guide?a=1#b'>the guide</a>.</p>\
             <pre><code class=language-rust>fn main() {{\n    let x = 1;\n}}</code></pre>\
             <ul><li>one</li><li>two <b>bold</b></li></ul><img src=p.png alt=Picture><img src=pixel.gif>\
             <table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>\
             <button>Copy</button><script>alert(1)</script></main><footer>Imprint</footer></body>"
        ));
        assert_eq!(page.title.as_deref(), Some("A title"));
        insta::assert_snapshot!(page.text.replace(&filler, "… "), @r"
        # Install

        … Run `cargo add x`, see [the guide](https://example.org/guide?a=1#b).

        ```rust
        fn main() {
            let x = 1;
        }
        ```

        - one
        - two **bold**

        ![Picture](https://example.org/docs/p.png)

        | A | B |
        | - | - |
        | 1 | 2 |
        ");
    }

    #[test]
    fn tables_keep_all_their_cells() {
        let page = read(
            "<table><caption>Facts</caption><tr><th colspan=2>Box</th></tr><tr><th>Key</th><td>a<br>b|c</td></tr></table>\
             <table><tr><td>1<td>2<tr><td><ul><li>x<li>y</ul><td></table>\
             <table><tr><td><h1>Page</h1><p>One.<p>Two.<td>Side</table>",
        );
        insta::assert_snapshot!(page.text, @r"
        Facts

        | Box |  |
        | - | - |
        | Key | a b\|c |

        | 1 | 2 |
        | - | - |
        | - x - y |  |

        # Page

        One.

        Two.

        Side
        ");
    }

    #[test]
    fn pages_without_a_main_part() {
        let page = read("<nav>menu</nav><p>Hello <a href='javascript:x()'>you</a></p><footer>f</footer>");
        assert_eq!(page.text, "Hello you");
        let empty = read("<div id=root></div><script src=app.js></script>");
        assert!(empty.text.is_empty() && empty.note.unwrap().contains("JavaScript"));
        assert!(read("").note.is_some());
    }

    #[test]
    fn pages_that_are_made_to_be_hard() {
        let deep = "<div>".repeat(10_000) + "deep";
        assert!(!read(&deep).text.contains("deep"));
        let wide = "<b>x</b>".repeat(30_000);
        assert!(read(&wide).text.len() < 30_000);
        let table = "<table>".repeat(1_000);
        read(&table);
        read(&"<a href=x>".repeat(1_000));
        read(&"<li><ul>".repeat(1_000));
        read("<?xml version='1.0'?><!-- -- --><p>\u{0}</p></br></p><svg><p>x");
    }
}
