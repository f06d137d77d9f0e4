//! Keys of the user's own in `config.toml`.

use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;

fn chat(config: &str) -> (Workplace, Screen, FakeServer) {
    let server = FakeServer::start(vec![]);
    let place = Workplace::new();
    place.file("CODE_LAW.md", "Be kind.\n");
    std::fs::write(place.home().join("config.toml"), config).unwrap();
    let screen = Screen::start(&place, &["--base-url", &server.base_url(), "--model", "test-model"], 100, 30);
    (place, screen, server)
}

#[test]
fn remapped_keys_and_what_is_wrong_with_some() {
    let (_place, mut screen, _server) = chat(
        "[keys]\ncut-to-end = \"ctrl-u\"\ncut-to-start = \"alt-u\"\nquit = \"ctrl-q\"\nundoo = \"f2\"\nsend = \"x\"\n",
    );
    screen.wait("line 5: 'undoo' is not an action for a key. Did you mean `undo`?");
    screen.wait("line 6: 'x' is typed as text");
    // The legacy encoding of Alt is Esc before the key.
    screen.keys("one two\u{1}\u{15}left\u{1b}uright");
    screen.wait_for("the remapped keys", |screen| screen.contains("› right") && !screen.contains("two"));
    screen.keys("\u{5}\u{1b}u\u{11}");
    assert_eq!(screen.end(), 0);
}

#[test]
fn a_project_sets_no_keys() {
    let server = FakeServer::start(vec![]);
    let place = Workplace::new();
    place.file("CODE_LAW.md", "Be kind.\n").file(".mycode/config.toml", "[keys]\nquit = \"none\"\n");
    let url = server.base_url();
    let mut screen =
        Screen::start(&place, &["--trust", "--base-url", &url, "--model", "test-model"], 100, 30);
    screen.wait("[keys] only works in your own config file");
    screen.keys("\u{4}");
    assert_eq!(screen.end(), 0);
}
