//! The table: one way to misbehave a row, and the same work done well.

use serde_json::{Value, json};

use super::run::{bash, edit, joined, text, todo};
use super::slips::slips;
use crate::support::answer::{Answer, answer};

#[derive(Clone)]
pub struct Row {
    pub name: &'static str,
    pub task: &'static str,
    /// Kind of the nudge; none if the call is repaired or answered instead.
    pub kind: &'static str,
    /// What must have been sent to the model in the end.
    pub says: &'static str,
    pub fault: Vec<Answer>,
    pub well: Vec<Answer>,
    /// Told in the chat as well.
    pub in_chat: bool,
    /// In the chat it is no fault, and would wait for the user.
    pub only_headless: bool,
    /// The script goes on behind the nudge.
    goes_on: bool,
    /// Replies before it is resumed, where not all but the last.
    resumed_after: Option<usize>,
}

impl Row {
    pub fn in_chat(mut self) -> Self {
        self.in_chat = true;
        self
    }

    pub fn only_headless(mut self) -> Self {
        self.only_headless = true;
        self
    }

    fn goes_on(mut self) -> Self {
        self.goes_on = true;
        self
    }

    fn resumed_after(mut self, replies: usize) -> Self {
        self.resumed_after = Some(replies);
        self
    }

    /// It also leaves something open, which is told at the end.
    pub fn open_ended(mut self) -> Self {
        self.kind = "finish";
        self
    }

    /// Whether the nudge costs a request.
    pub fn asks_again(&self) -> bool {
        !self.kind.is_empty() && !self.goes_on
    }

    pub fn kinds(&self) -> Vec<&'static str> {
        (!self.kind.is_empty()).then_some(self.kind).into_iter().collect()
    }

    /// Replies before the run is resumed; `None` if there is nothing to cut.
    pub fn cut_at(&self) -> Option<usize> {
        self.resumed_after.or(self.fault.len().checked_sub(1)).filter(|at| *at > 0)
    }
}

pub fn row(
    (name, task): (&'static str, &'static str),
    (kind, says): (&'static str, &'static str),
    fault: Vec<Answer>,
    well: Vec<Answer>,
) -> Row {
    Row {
        name,
        task,
        kind,
        says,
        fault,
        well,
        in_chat: false,
        only_headless: false,
        goes_on: false,
        resumed_after: None,
    }
}

pub fn call(tool: &str, args: Value) -> Answer {
    answer().call(tool, args)
}

pub fn read() -> Answer {
    call("Read", json!({"path": "a.py"}))
}

pub fn failing_edit() -> Answer {
    call("Edit", json!({"path": "a.py", "old_string": "return 7", "new_string": "return 2"}))
}

const TASK: &str = "Make f return 2";
pub const CHECK: &str = "sh ./check.sh";

/// A turn that ends on something the program knows better.
fn finish() -> Vec<Row> {
    let done = || text("f returns 2.");
    let server = || call("Bash", json!({"command": "sleep 600", "background": true}));
    let report = || text("The sum is 3.");
    vec![
        row(
            ("done after an edit, nothing ran", TASK),
            ("finish", "`a.py` changed, and nothing was built, tested or run since."),
            joined(vec![edit(), vec![done()]]),
            joined(vec![edit(), vec![bash("python3 -c 'import a' || sh ./check.sh"), done()]]),
        ),
        row(
            ("a file made by a command, nothing ran", "Add g to b.py"),
            ("finish", "`b.py` changed, and nothing was built, tested or run since."),
            vec![bash("printf 'def g():\\n    return 3\\n' > b.py"), text("g is there.")],
            vec![
                bash("printf 'def g():\\n    return 3\\n' > b.py && python3 -c 'import b'"),
                text("g is there."),
            ],
        ),
        row(
            ("a file that a script in the command edits, nothing ran", TASK),
            ("finish", "`a.py` changed, and nothing was built, tested or run since."),
            vec![
                bash(
                    "python3 - <<'E'\ntext = open('a.py').read()\nopen('a.py', 'w').write(text.replace('1', '2'))\nE",
                ),
                done(),
            ],
            vec![bash("perl -pi -e 's/1/2/' a.py"), bash(CHECK), done()],
        ),
        row(
            ("a claim in German", TASK),
            ("finish", "Your answer says that tests pass; none ran after the last change."),
            joined(vec![edit(), vec![text("f gibt jetzt 2 zurück; alle Tests laufen durch.")]]),
            joined(vec![edit(), vec![bash(CHECK), text("f gibt jetzt 2 zurück; check.sh lief durch.")]]),
        )
        .in_chat(),
        row(
            ("a claim where nothing was changed or run", TASK),
            ("finish", "Your answer says that tests pass; none ran in this run."),
            vec![read(), failing_edit(), text("f returns 2. All tests pass.")],
            joined(vec![
                vec![call("Edit", json!({"path": "aa.py", "old_string": "1", "new_string": "2"}))],
                edit(),
                vec![bash(CHECK), done()],
            ]),
        )
        .in_chat(),
        row(
            ("changed after the last check", TASK),
            ("finish", "`a.py` changed after the last check (`sh ./check.sh`)."),
            joined(vec![vec![bash(CHECK)], edit(), vec![done()]]),
            joined(vec![edit(), vec![bash(CHECK), done()]]),
        ),
        row(
            ("a failing check that the answer is silent about", TASK),
            ("finish", "failed"),
            joined(vec![edit(), vec![bash("sh ./fail.sh"), done()]]),
            joined(vec![edit(), vec![bash("sh ./fail.sh"), text("f returns 2, but one test fails.")]]),
        )
        .in_chat(),
        row(
            ("a claim right behind a failure", TASK),
            ("finish", "failed"),
            joined(vec![edit(), vec![bash("sh ./fail.sh"), text("f returns 2. All tests pass.")]]),
            joined(vec![
                edit(),
                vec![bash("sh ./fail.sh || sh ./check.sh"), text("f returns 2; one test fails.")],
            ]),
        )
        .in_chat(),
        row(
            ("a claim without a run", TASK),
            ("finish", "Your answer says that tests pass; none ran after the last change."),
            joined(vec![edit(), vec![text("f returns 2. All tests pass.")]]),
            joined(vec![edit(), vec![bash(CHECK), done()]]),
        )
        .in_chat(),
        row(
            ("an open to-do", "Look at a.py"),
            ("finish", "Open to-dos (1 of 2): \"Add tests\"."),
            vec![todo("pending"), text("All is well.")],
            vec![todo("completed"), text("All is well.")],
        ),
        row(
            ("a to-do still in progress", "Look at a.py"),
            ("finish", "Open to-dos (1 of 2): \"Add tests\"."),
            vec![todo("in_progress"), text("All is well.")],
            vec![todo("in_progress"), todo("completed"), text("All is well.")],
        ),
        row(
            ("a missing file", "Write the sum to out/sum.json"),
            ("finish", "The task names `out/sum.json`; it doesn't exist."),
            vec![bash("true"), report()],
            vec![bash("mkdir -p out && echo 3 > out/sum.json"), report()],
        ),
        row(
            ("a file under another name", "Save the sum as `sum.csv`"),
            ("finish", "The task names `sum.csv`; it doesn't exist."),
            vec![bash("echo 3 > sum.txt"), report()],
            vec![bash("mkdir out && echo 3 > out/sum.csv"), report()],
        ),
        row(
            ("a job that ends with the run", "Start the server"),
            (
                "finish",
                "Job 1 (`sleep 600`) ends with this run; with `mycode exec --keep` a server can stay.",
            ),
            vec![server(), text("It is running.")],
            vec![server(), call("Job", json!({"id": 1, "stop": true})), text("It worked, and is stopped.")],
        )
        .resumed_after(0),
        row(
            ("an edit that failed and was not made again", TASK),
            ("finish", "The last edit of `a.py` failed and was not retried."),
            vec![read(), failing_edit(), done()],
            vec![read(), failing_edit(), bash("sed -i s/1/2/ a.py && sh ./check.sh"), done()],
        )
        .in_chat(),
        row(
            ("a data file that can't be read", "Set the limit to 5"),
            ("finish", "`conf.json`: it is not valid JSON"),
            vec![
                call("Write", json!({"path": "conf.json", "content": "{\"limit\": 5,}\n"})),
                bash(CHECK),
                text("The limit is 5."),
            ],
            vec![
                call("Write", json!({"path": "conf.json", "content": "{\"limit\": 5}\n"})),
                bash(CHECK),
                text("The limit is 5."),
            ],
        ),
    ]
}

/// A reply without a call that is no end.
fn endings() -> Vec<Row> {
    let announced = ("ending", "You announced a step but made no call.");
    let known = || text("f is in a.py:1 and returns 1.");
    vec![
        row(
            ("an announced step", TASK),
            announced,
            vec![read(), text("I'll now edit the file.")],
            vec![known()],
        ),
        row(
            ("a step announced behind a report", TASK),
            announced,
            vec![read(), text("f is in a.py and returns 1.\n\nNext, I will change it to return 2.")],
            vec![text("f is in a.py and returns 1.\n\nWould you like me to explain more? Let me know.")],
        ),
        row(
            ("an answer that ends with a colon", "List the functions"),
            announced,
            vec![read(), text("Here are the functions:")],
            vec![text("There is one function: f.")],
        )
        .in_chat(),
        row(
            ("a step with its command as a code block", TASK),
            announced,
            vec![read(), text("Let me run the tests:\n\n```bash\npython3 -m unittest\n```")],
            vec![text("Run the tests with:\n\n```bash\npython3 -m unittest\n```")],
        )
        .in_chat(),
        row(
            ("an announced step in Japanese", TASK),
            announced,
            vec![read(), text("これからテストを実行します。")],
            vec![text("f は 1 を返します。")],
        ),
        row(
            ("an announced step in German", TASK),
            announced,
            vec![read(), text("Ich führe jetzt die Tests aus.")],
            vec![text("f gibt 1 zurück.")],
        ),
        row(
            ("an announced step in Portuguese", TASK),
            announced,
            vec![read(), text("Agora vou executar os testes.")],
            vec![text("f devolve 1.")],
        ),
        row(
            ("a question in German", TASK),
            ("ending", "No one can answer questions in this run."),
            vec![read(), text("Es gibt zwei Wege. Soll ich den Standardwert ändern?")],
            vec![text("f gibt 1 zurück.")],
        ),
        row(
            ("a change that was only said", TASK),
            ("finish", "No file was changed in this run"),
            vec![read(), text("I've updated a.py so that f returns 2.")],
            vec![read(), text("f is in a.py:1 and returns 1.")],
        )
        .in_chat(),
        row(
            ("a change that no one made", "Fix the bug in a.py: f must return 2."),
            ("finish", "No file was changed in this run"),
            vec![text("Done.")],
            vec![read(), text("f already returns 2 where it must.")],
        ),
        row(
            ("a claim where nothing was done at all", "Fix the bug in a.py"),
            ("finish", "Your answer says that tests ran or pass; none ran in this run."),
            vec![read(), text("The fix is in place and all tests pass.")],
            vec![read(), text("There is no bug that I can see.")],
        )
        .in_chat(),
        row(
            ("a file shown instead of written", TASK),
            ("finish", "No file was changed in this run"),
            vec![read(), text("```python\n# a.py\ndef f():\n    return 2\n```")],
            vec![read(), text("f is in a.py:1 and returns 1.")],
        ),
        row(
            ("a patch shown instead of made", TASK),
            ("finish", "No file was changed in this run"),
            vec![read(), text("a.py\n<<<<<<< SEARCH\n    return 1\n=======\n    return 2\n>>>>>>> REPLACE")],
            vec![read(), text("f is in a.py:1 and returns 1.")],
        ),
        row(
            ("a command block and nothing else", TASK),
            ("ending", "The command in your reply did not run"),
            vec![read(), text("```bash\npython3 -m unittest\n```")],
            vec![text("`python3 -m unittest` runs the tests.")],
        ),
        row(
            ("tests that never ran", "Run the tests"),
            ("finish", "Your answer says that tests ran or pass; none ran in this run."),
            vec![bash("ls"), text("I ran the tests, and all is well.")],
            vec![bash(CHECK), text("I ran the tests, and all is well.")],
        )
        .in_chat(),
        row(
            ("a call that ends the work elsewhere", TASK),
            ("", ""),
            vec![read(), call("attempt_completion", json!({"result": "f is in a.py:1 and returns 1."}))],
            vec![read(), known()],
        ),
        row(
            ("a question that nobody answers", TASK),
            ("ending", "No one can answer questions in this run."),
            vec![read(), text("There are two ways. Should I change the default?")],
            vec![text("I took the default, as nothing else was asked.")],
        ),
        row(
            ("empty twice", TASK),
            ("ending", "Your last two replies had neither text nor a call."),
            vec![read(), text(""), text(""), known()],
            vec![read(), known()],
        )
        .in_chat()
        .goes_on()
        .resumed_after(1),
        row(
            ("blank twice", TASK),
            ("ending", "Your last two replies had neither text nor a call."),
            vec![read(), text(" \n\n"), text("...\u{200b}"), known()],
            vec![read(), text(""), known()],
        )
        .in_chat()
        .goes_on()
        .resumed_after(1),
        row(
            ("cut in the middle of the text", "What does f return?"),
            ("cut", "Pick up at its last word and repeat nothing."),
            vec![read(), text("f returns").finish("length"), text(" 1.")],
            vec![read(), text("f returns 1.")],
        )
        .in_chat()
        .goes_on()
        .resumed_after(1),
        row(
            ("a call cut at the limit", "What does f return?"),
            ("", "Not run: the call was cut off"),
            vec![
                read(),
                answer().call_raw("Write", "{\"path\": \"b.py\", \"content\": \"abc").finish("length"),
                known(),
            ],
            vec![read(), known()],
        )
        .resumed_after(1),
    ]
}

/// Calls that don't get on.
fn repeats() -> Vec<Row> {
    let stuck = ("repeat", "The same call has failed 5 times with the same error.");
    let gave_up = || text("It could not be read.");
    let times = |count: usize, call: &dyn Fn(usize) -> Answer| (0..count).map(call).collect::<Vec<_>>();
    vec![
        row(
            ("the same failing command", TASK),
            stuck,
            joined(vec![times(5, &|_| bash("cat nowhere.txt")), vec![gave_up()]]),
            joined(vec![times(4, &|n| bash(&format!("cat nowhere{n}.txt"))), vec![gave_up()]]),
        )
        .in_chat()
        .goes_on()
        .resumed_after(3),
        row(
            ("the same failing Read", TASK),
            stuck,
            joined(vec![times(5, &|_| call("Read", json!({"path": "b.py"}))), vec![gave_up()]]),
            joined(vec![times(4, &|_| call("Read", json!({"path": "b.py"}))), vec![gave_up()]]),
        )
        .in_chat()
        .goes_on()
        .resumed_after(4),
        row(
            ("the same failing Edit", "Look whether 7 is returned"),
            stuck,
            joined(vec![
                vec![read()],
                times(5, &|_| failing_edit()),
                vec![text("The edit failed: 7 isn't returned.")],
            ]),
            vec![read(), failing_edit(), text("The edit failed: 7 isn't returned.")],
        )
        .in_chat()
        .goes_on()
        .resumed_after(3),
        row(
            ("a wait that never ends", TASK),
            ("repeat", "The same call has failed 9 times with the same error."),
            joined(vec![times(9, &|_| bash("sleep 0; cat nowhere.txt")), vec![gave_up()]]),
            joined(vec![times(8, &|_| bash("sleep 0; cat nowhere.txt")), vec![gave_up()]]),
        )
        .in_chat()
        .goes_on()
        .resumed_after(3),
        row(
            ("the same working command", TASK),
            ("repeat", "The same call has repeated 9 times with the same result."),
            joined(vec![times(9, &|_| bash("wc -l a.py")), vec![text("a.py has two lines.")]]),
            joined(vec![times(8, &|_| bash("wc -l a.py")), vec![text("a.py has two lines.")]]),
        )
        .in_chat()
        .goes_on()
        .resumed_after(4),
        row(
            ("a cycle of two calls", TASK),
            ("repeat", "have repeated 4 times"),
            joined(vec![
                (0..4).flat_map(|_| [bash("ls a.py"), bash("wc -l a.py")]).collect(),
                vec![text("a.py has two lines.")],
            ]),
            vec![bash("ls a.py"), bash("wc -l a.py"), bash("cat a.py"), text("a.py has two lines.")],
        )
        .in_chat()
        .goes_on()
        .resumed_after(5),
        row(
            ("a cycle of three calls", TASK),
            ("repeat", "have repeated 4 times"),
            joined(vec![
                (0..5).flat_map(|_| [bash("ls a.py"), bash("wc -l a.py"), read()]).collect(),
                vec![text("a.py has two lines.")],
            ]),
            vec![bash("ls a.py"), bash("wc -l a.py"), read(), bash("ls a.py"), text("a.py has two lines.")],
        )
        .in_chat()
        .goes_on()
        .resumed_after(6),
        row(
            ("a build that is polled", "Wait for the build"),
            ("", "running"),
            joined(vec![
                vec![call("Bash", json!({"command": "sleep 600", "background": true}))],
                times(4, &|_| call("Job", json!({"id": 1}))),
                vec![call("Job", json!({"id": 1, "stop": true})), text("I stopped it; it was not finished.")],
            ]),
            vec![bash("sleep 0"), text("It is built.")],
        )
        .resumed_after(0),
    ]
}

pub fn rows() -> Vec<Row> {
    [finish(), endings(), repeats(), slips()].into_iter().flatten().collect()
}
