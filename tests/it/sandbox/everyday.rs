//! The sandbox from the outside: everyday commands which must all work, and what it promises, each through `mycode sandbox`.
//! Where the kernel allows no walls at all they say so and are skipped.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;

use crate::support::answer::answer;
use crate::support::sandbox_world::{World, namespaces, running, walls};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

/// A program, which may be missing, and a line that needs it.
const EVERYDAY: &[(&str, &str)] = &[
    ("ls", "ls -la && ls -la src"),
    ("cat", "cat src/a.py > /dev/null 2>&1"),
    ("grep", "grep -rn 'rm -rf\\|return' src"),
    ("find", "find . -name '*.py' -newer /etc/hostname | head -3; find . -type f | wc -l"),
    ("sed", "sed -i 's/twice/double/' src/a.py && sed -i 's/double/twice/' src/a.py"),
    ("awk", "awk '{n++} END {print n > \"count.txt\"}' src/a.py && cat count.txt"),
    ("sort", "sort -o sorted.txt src/a.py && test -s sorted.txt"),
    ("mktemp", "f=$(mktemp) && echo x > $f && cat $f && d=$(mktemp -d) && touch $d/y"),
    ("bash", "cat > /tmp/a.sh <<'E'\necho from tmp\nE\nbash /tmp/a.sh | grep -q tmp"),
    ("bash", "diff <(sort src/a.py) <(sort src/a.py)"),
    ("bash", "echo a > /dev/stdout; echo b > /dev/stderr; echo c > /dev/fd/1"),
    ("bash", "mkfifo p && (echo x > p &) && cat p && rm p"),
    ("bash", "sleep 0.05 & wait && (exit 0)"),
    ("bash", "echo $$ > pid && kill -0 $(cat pid)"),
    ("bash", "ulimit -n && umask && id && whoami && hostname && uname -a"),
    (
        "bash",
        "touch .env.local .prettierrc README.md && mkdir -p .github/ISSUE_TEMPLATE && echo x > .github/CODEOWNERS",
    ),
    ("ps", "ps aux | grep -q bash"),
    ("tar", "tar czf src.tgz src && mkdir -p x && tar xzf src.tgz -C x && cmp src/a.py x/src/a.py"),
    ("cp", "cp -a src copy && mv copy moved && rm -r moved"),
    ("ln", "ln -s src link && ln src/a.py hard && rm link hard"),
    ("chmod", "printf '#!/bin/sh\\necho run\\n' > run.sh && chmod +x run.sh && ./run.sh"),
    ("xargs", "find src -type f | xargs -n1 -P4 wc -l"),
    ("tee", "echo x | tee a.txt b.txt >/dev/null && rm a.txt b.txt"),
    ("date", "date && TZ=Europe/Berlin date"),
    ("git", "git status --short && git log --oneline && git diff && git branch -a && git show --stat one"),
    (
        "git",
        "echo \"# y\" >> src/a.py && git add -A && git commit -qm second && git log --oneline | grep -q second",
    ),
    ("git", "git commit --allow-empty -qm third && git commit --amend --allow-empty -qm fourth"),
    (
        "git",
        "git checkout -qb topic && git commit --allow-empty -qm t && git checkout -q main && git merge -q topic",
    ),
    ("git", "echo z > z.txt && git stash -qu && git stash pop -q && rm z.txt"),
    ("git", "git worktree add -q wt && git -C wt status --short && git worktree remove wt"),
    ("git", "git tag two && git reset -q --hard HEAD && git reflog | head -2 && git gc -q"),
    (
        "git",
        "git rebase -q HEAD~1 && git cherry-pick --no-commit HEAD || git cherry-pick --abort; git clean -qfd",
    ),
    ("git", "mkdir fresh && cd fresh && git init -q && git commit --allow-empty -qm x && git log --oneline"),
    ("git", "git clone -q . /tmp/clone && git -C /tmp/clone log --oneline"),
    ("gcc", "printf 'int main(void){return 0;}' > m.c && gcc m.c -o m.out && ./m.out"),
    ("make", "printf 'all:\\n\\techo made > made.txt\\n' > Makefile && make -j4 && cat made.txt"),
    (
        "python3",
        "python3 -m unittest discover -s src; python3 -c 'import sys; sys.path.insert(0,\"src\"); import a; assert a.twice(2)==4'",
    ),
    (
        "python3",
        "python3 -c 'import multiprocessing as m\nif __name__==\"__main__\":\n p=m.Pool(2); print(p.map(abs,[-1,2])); p.close(); p.join()'",
    ),
    ("python3", "python3 -m venv --without-pip v && v/bin/python -c 'print(1)'"),
    (
        "python3",
        "python3 -c 'import sqlite3; c=sqlite3.connect(\"t.db\"); c.execute(\"create table t(x)\"); c.commit()'",
    ),
    (
        "python3",
        "python3 -c 'import tempfile,subprocess; subprocess.run([\"true\"],check=True); tempfile.TemporaryFile().write(b\"x\")'",
    ),
    (
        "python3",
        "python3 -c 'import threading,http.server as h,urllib.request as u\ns=h.HTTPServer((\"127.0.0.1\",0),h.SimpleHTTPRequestHandler)\nthreading.Thread(target=s.serve_forever,daemon=True).start()\nassert u.urlopen(\"http://localhost:%d/src/\"%s.server_port).status==200'",
    ),
    ("python3", "python3 -c 'import pty,os; os.close(pty.openpty()[0])'"),
    (
        "python3",
        "python3 -c 'import socket; a,b=socket.socketpair(); a.send(b\"x\"); s=socket.socket(1,1); s.bind(\"/tmp/s\"); s.listen()'",
    ),
    (
        "python3",
        "python3 -c 'from multiprocessing import shared_memory as s; m=s.SharedMemory(create=True,size=64); m.close(); m.unlink()'",
    ),
    (
        "node",
        "node -e 'require(\"fs\").writeFileSync(\"n.txt\",\"x\"); console.log(require(\"os\").cpus().length, require(\"os\").networkInterfaces())'",
    ),
    (
        "node",
        "node -e 'const c=require(\"child_process\").fork(\"-e\",[],{execArgv:[]}); c.kill(); new (require(\"worker_threads\").Worker)(\"1\",{eval:true})'",
    ),
    (
        "node",
        "node -e 'const s=require(\"http\").createServer((q,r)=>r.end(\"ok\")).listen(0,()=>fetch(\"http://127.0.0.1:\"+s.address().port).then(r=>r.text()).then(t=>{console.log(t);process.exit(t===\"ok\"?0:1)}))'",
    ),
    (
        "npm",
        "printf '{\"name\":\"p\",\"version\":\"1.0.0\",\"scripts\":{\"test\":\"node -e 1\"}}' > package.json && npm test --silent",
    ),
    (
        "cargo",
        "echo [workspace] > Cargo.toml; cargo init -q --vcs none --name demo --lib rs && cd rs && cargo test -q --offline",
    ),
    (
        "go",
        "mkdir -p g && cd g && printf 'package main\\nfunc main(){println(1)}\\n' > main.go && go run main.go",
    ),
    (
        "javac",
        "printf 'class M{public static void main(String[] a){System.out.println(1);}}' > M.java && javac M.java && java M",
    ),
    ("curl", "curl --version > /dev/null"),
    ("jq", "echo '{\"a\":1}' | jq .a"),
    // The leak check cannot trace here; the program must run all the same.
    (
        "gcc",
        "echo 'int main(void){return 0;}' > leak.c && { gcc -fsanitize=address leak.c -o leak 2>/dev/null || exit 0; } && ./leak",
    ),
    ("sh", "test \"$npm_config_fetch_retries\" = 0 && echo \"$LSAN_OPTIONS\" | grep -q detect_leaks=0"),
];

#[test]
fn everyday_commands_work() {
    if !walls() {
        return;
    }
    let world = World::new();
    if !namespaces(&world) {
        eprintln!("SKIPPED: without namespaces there is no loopback and no private /tmp");
        return;
    }
    let (outside, mut broken, mut ran) = (world.fingerprint(false), Vec::new(), 0);
    for (program, line) in EVERYDAY {
        if !world
            .plain(&format!("{program} --version || {program} -version || command -v {program}"))
            .status
            .success()
        {
            eprintln!("not here: {program}");
            continue;
        }
        ran += 1;
        let output = world.run(&[], line);
        if !output.status.success() {
            broken.push(format!("{line}\n  {:?} {}{}", output.status, stdout(&output), stderr(&output)));
        }
        if stderr(&output).contains("protected") {
            broken.push(format!("{line}: {}", stderr(&output)));
        }
    }
    assert!(broken.is_empty(), "{} of {ran}:\n{}", broken.len(), broken.join("\n"));
    assert!(EVERYDAY.len() >= 40);
    // What they did reached nothing outside of the project.
    let same = |path: &Path| outside.get(path) == world.fingerprint(false).get(path);
    assert!(outside.keys().filter(|path| path.starts_with(&world.home)).all(|path| same(path)));
}

#[test]
fn read_only_changes_nothing() {
    if !walls() {
        return;
    }
    let world = World::new();
    let before = world.fingerprint(true);
    for line in [
        "echo x > new",
        "echo x >> src/a.py",
        "rm -rf src .git",
        "git commit --allow-empty -m x",
        "touch $HOME/x",
    ] {
        assert!(!world.run(&["--permission", "read-only"], line).status.success(), "{line}");
    }
    let looked =
        world.run(&["--permission", "read-only"], "git log --oneline && cat src/a.py && echo x > /tmp/x");
    assert!(looked.status.success(), "{}", stderr(&looked));
    assert_eq!(before, world.fingerprint(true));
}

#[test]
fn exit_codes_and_arguments() {
    if !walls() {
        return;
    }
    let world = World::new();
    assert_eq!(world.run(&[], "exit 42").status.code(), Some(42));
    assert_eq!(world.run(&[], "kill -9 $$").status.code(), Some(137));
    let mut words =
        world.start(env!("CARGO_BIN_EXE_mycode"), &["sandbox", "--", "printf", "%s|", "a b", "$HOME", "*"]);
    assert_eq!(stdout(&words.output().unwrap()), "a b|$HOME|*|");
    assert_eq!(stdout(&world.run(&["--permission", "full"], "cat $OUT/file")), "mine\n");
    let missing = world
        .start(env!("CARGO_BIN_EXE_mycode"), &["sandbox", "--", "no-such-program", "x"])
        .output()
        .unwrap();
    assert!(
        !missing.status.success() && stderr(&missing).contains("no-such-program"),
        "{}",
        stderr(&missing)
    );
    // Nothing of it stays behind.
    let left = fs::read_dir(std::env::temp_dir()).unwrap().flatten().map(|entry| entry.file_name());
    let mut child = world.sandbox(&[], "exit 0").stdout(Stdio::piped()).spawn().unwrap();
    let id = child.id();
    child.stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap();
    assert!(child.wait().unwrap().success());
    let ours = format!("mycode-{id}-");
    assert!(left.into_iter().all(|name| !name.to_string_lossy().starts_with(&ours)));
}

#[test]
fn network_access() {
    if !walls() {
        return;
    }
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let line = "exec 3<>/dev/tcp/127.0.0.1/$PORT";
    assert!(world.sandbox(&["--network"], line).env("PORT", &port).status().unwrap().success());
    assert!(!world.sandbox(&[], line).env("PORT", &port).output().unwrap().status.success());
    // The model is told that it is the sandbox, and what to do.
    fs::write(world.project.join("check.sh"), format!("exec 3<>/dev/tcp/127.0.0.1/{port}\n")).unwrap();
    let tool = ["tool", "--permission", "auto", "Bash", "--args", "{\"command\": \"bash check.sh\"}"];
    let answer = world.start(env!("CARGO_BIN_EXE_mycode"), &tool).output().unwrap();
    assert!(stdout(&answer).contains("a loopback of their own"), "{} {}", stdout(&answer), stderr(&answer));
}

#[test]
fn folders_of_any_shape() {
    if !walls() {
        return;
    }
    let world = World::new();
    // A subfolder of a repository commits to it; its settings stay.
    fs::create_dir(world.project.join("packages")).unwrap();
    let mut inside = world
        .sandbox(&[], "echo x > f && git add f && git commit -qm sub && ! git config a.b c && ! touch ../g");
    let done = inside.current_dir(world.project.join("packages")).output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    // A linked worktree.
    assert!(world.plain("git worktree add -q ../tree").status.success());
    let tree = world.project.with_file_name("tree");
    let mut inside =
        world.sandbox(&[], "echo x > h && git add h && git commit -qm tree && ! git config a.b c");
    let done = inside.current_dir(&tree).output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    // Odd bytes, and a home that is the workspace: its secrets stay hidden.
    use std::os::unix::ffi::OsStringExt;
    let odd = world.outside.join(std::ffi::OsString::from_vec(b"o \xff'\"\n:,\\d".to_vec()));
    fs::create_dir(&odd).unwrap();
    let done = world.sandbox(&[], "echo x > y && cat y").current_dir(&odd).output().unwrap();
    assert_eq!(stdout(&done), "x\n", "{}", stderr(&done));
    let line = "echo x > free; cat .ssh/id_rsa .netrc; echo evil >> .bashrc; echo evil > .profile; mkdir -p .ssh; cat free";
    let done = world.sandbox(&[], line).current_dir(&world.home).output().unwrap();
    assert_eq!(stdout(&done), "x\n", "{}", stderr(&done));
    assert_eq!(fs::read_to_string(world.home.join(".bashrc")).unwrap(), "# mine\n");
    assert!(!world.home.join(".profile").exists() && world.home.join(".ssh/id_rsa").exists());
    // In folders that the sandbox replaces.
    let memory = tempfile::tempdir_in("/dev/shm");
    for dir in memory.into_iter().chain(tempfile::tempdir()) {
        let done = world.sandbox(&[], "echo x > y; cat y; ls ..").current_dir(dir.path()).output().unwrap();
        assert!(stdout(&done).starts_with("x\n") && dir.path().join("y").exists(), "{}", stderr(&done));
    }
}

/// Inside of our own sandbox no namespace can be made: what is left are the layers of a plain container.
#[test]
fn landlock_and_seccomp_alone() {
    if !walls() {
        return;
    }
    let world = World::new();
    if !namespaces(&world) {
        eprintln!("SKIPPED: this machine has no namespaces, so the other tests are this one");
        return;
    }
    // In the workspace, because a checkout below `/tmp` can't be seen inside.
    let us = world.project.join("mycode");
    fs::copy(env!("CARGO_BIN_EXE_mycode"), &us).unwrap();
    let us = us.display();
    let nested = |line: &str| {
        let quoted = line.replace('\'', "'\\''");
        world.run(&[], &format!("mkdir -p deep; touch deep/.mcp.json; cd deep && {us} sandbox -- '{quoted}'"))
    };
    let doctor = world.run(&[], &format!("{us} doctor; true"));
    let said = stdout(&doctor);
    assert!(said.contains("namespaces") && said.contains("missing"), "{said}");
    let landlock = said.lines().any(|line| line.contains("landlock") && line.contains("available"));
    if !landlock {
        assert_eq!(nested("true").status.code(), Some(3));
        eprintln!("SKIPPED: no Landlock here");
        return;
    }
    let works = nested("echo x > y && cat y ../src/a.py && t=$(mktemp) && echo z > $t && rm y");
    assert!(works.status.success(), "{}", stderr(&works));
    for line in [
        "echo x > ../outside_of_deep",
        "echo x > /tmp/x",
        "echo x > .mcp.json && cat .mcp.json | grep -q nothing",
        "exec 3<>/dev/tcp/127.0.0.1/1",
        "python3 -c 'import socket; socket.socket(2,1)'",
        "kill -0 1",
    ] {
        assert!(!nested(line).status.success(), "{line}");
    }
    assert!(!world.project.join("outside_of_deep").exists());
    let undone =
        nested("mkdir .mycode; echo evil > .mycode/config.toml; echo evil > .mcp.json; sleep 724102 & ");
    assert!(stderr(&undone).contains("protected"), "{}", stderr(&undone));
    assert!(!world.project.join("deep/.mycode").exists());
    assert_eq!(fs::read(world.project.join("deep/.mcp.json")).unwrap(), b"");
    assert!(!running("sleep 724102"));
}

/// What a killed session left goes when the next one begins; what is in use, or somebody else's, stays.
#[test]
fn unused_private_folders_are_removed() {
    let world = World::new();
    if !walls() {
        return;
    }
    let temporary = world.outside.join("temporary");
    fs::create_dir(&temporary).unwrap();
    for (name, file) in [("mycode-1-dead", "lock"), ("mycode-2-used", "lock"), ("mycode-3-other", "notes")] {
        fs::create_dir_all(temporary.join(name).join("tmp")).unwrap();
        fs::write(temporary.join(name).join(file), "").unwrap();
    }
    let used = fs::File::open(temporary.join("mycode-2-used/lock")).unwrap();
    used.lock().unwrap();
    let output = world.sandbox(&[], "echo hi").env("TMPDIR", &temporary).output().unwrap();
    assert_eq!(stdout(&output), "hi\n", "{}", stderr(&output));
    let mut left: Vec<String> = fs::read_dir(&temporary)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["mycode-2-used", "mycode-3-other"]);
}

#[test]
fn a_private_folder_never_lies_in_the_workspace() {
    let world = World::new();
    if !walls() {
        return;
    }
    let temporary = world.project.join("temporary");
    fs::create_dir(&temporary).unwrap();
    let line = "echo x > /tmp/mine; ls temporary";
    let output = world.sandbox(&[], line).env("TMPDIR", &temporary).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
}

#[test]
fn a_server_in_the_background_is_reached_by_the_next_call() {
    let world = World::new();
    if !walls() || !namespaces(&world) {
        return;
    }
    let place = Workplace::new();
    let serve = "python3 -c \"
import socket
server = socket.create_server(('127.0.0.1', 18765))
print('ready', flush=True)
server.accept()[0].send(b'from the job')\"";
    let ask = "exec 3<>/dev/tcp/127.0.0.1/18765; cat <&3";
    let server = FakeServer::start(vec![
        answer().call("Bash", json!({"command": serve, "background": true})).into(),
        answer().call("Bash", json!({"command": ask})).into(),
        answer().text("Done.").into(),
    ]);
    place.exec(&server.base_url(), &["--permission", "auto", "ask it"]);
    let requests = server.requests();
    assert!(requests[1].raw.contains("stop it with Job"), "{}", requests[1].raw);
    assert!(requests[2].raw.contains("from the job"), "{}", requests[2].raw);
}
