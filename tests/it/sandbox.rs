//! The sandbox from the outside: a table of attacks of which none may leave a trace, and a table of everyday commands which
//! must all work, each through `mycode sandbox`. Where the kernel allows no walls at all they say so and are skipped.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

/// Stands in every secret; must never be seen.
const SECRET: &str = "TOP-SECRET-7241";

/// A project, a home with secrets, and a folder that is neither; not in `/tmp`, of which the sandbox has its own.
struct World {
    _dir: TempDir,
    project: PathBuf,
    home: PathBuf,
    outside: PathBuf,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let top = dir.path().canonicalize().unwrap();
        let world = Self {
            project: top.join("project"),
            home: top.join("home"),
            outside: top.join("outside"),
            _dir: dir,
        };
        for folder in [".git/hooks", ".vscode", "src"] {
            fs::create_dir_all(world.project.join(folder)).unwrap();
        }
        for folder in [
            ".ssh",
            ".aws",
            ".config/gh",
            ".config/google-chrome/Default",
            ".docker",
            ".local/share/keyrings",
        ] {
            fs::create_dir_all(world.home.join(folder)).unwrap();
        }
        fs::create_dir_all(world.outside.join("state")).unwrap();
        for (name, text) in [
            (".ssh/id_rsa", SECRET),
            (".aws/credentials", SECRET),
            (".config/gh/hosts.yml", SECRET),
            (".config/google-chrome/Default/Cookies", SECRET),
            (".docker/config.json", SECRET),
            (".local/share/keyrings/login.keyring", SECRET),
            (".netrc", SECRET),
            (".npmrc", SECRET),
            (".git-credentials", SECRET),
            (".bash_history", SECRET),
            (".bashrc", "# mine\n"),
            (".gitconfig", "[user]\n\tname = A\n\temail = a@b.c\n[safe]\n\tdirectory = *\n"),
        ] {
            fs::write(world.home.join(name), text).unwrap();
        }
        fs::write(world.outside.join("file"), "mine\n").unwrap();
        fs::write(world.outside.join("state/key"), SECRET).unwrap();
        symlink(&world.outside, world.project.join("way_out")).unwrap();
        fs::write(world.project.join(".vscode/settings.json"), "{}\n").unwrap();
        fs::write(world.project.join("CODE_LAW.md"), "# rules\n").unwrap();
        fs::write(world.project.join(".gitignore"), "way_out\n*.o\n").unwrap();
        fs::write(world.project.join("src/a.py"), "def twice(x):\n    return 2 * x\n").unwrap();
        fs::remove_dir_all(world.project.join(".git")).unwrap();
        let made = world.plain("git init -q -b main && git add -A && git commit -qm first && git tag one");
        assert!(made.status.success(), "{}", stderr(&made));
        world
    }

    fn start(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(&self.project).env_clear().stdin(Stdio::null());
        for name in ["PATH", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "JAVA_HOME"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        // The toolchains of the machine stay where they are, whatever the home.
        if let Some(home) = std::env::home_dir() {
            for (name, folder) in
                [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv")]
            {
                if home.join(folder).is_dir() && std::env::var_os(name).is_none() {
                    command.env(name, home.join(folder));
                }
            }
        }
        command
            .env("HOME", &self.home)
            .env("MYCODE_HOME", self.outside.join("state"))
            .env("OUT", &self.outside)
            .env("LANG", "C.UTF-8")
            .env("OPENAI_API_KEY", SECRET)
            .env("DATABASE_URL", format!("postgres://me:{SECRET}@host/db"))
            .env("AWS_ACCESS_KEY_ID", SECRET);
        command
    }

    fn plain(&self, line: &str) -> Output {
        self.start("bash", &["-c", line]).output().unwrap()
    }

    fn sandbox(&self, flags: &[&str], line: &str) -> Command {
        let mut args = vec!["sandbox"];
        args.extend(flags);
        args.extend(["--", line]);
        self.start(env!("CARGO_BIN_EXE_mycode"), &args)
    }

    fn run(&self, flags: &[&str], line: &str) -> Output {
        self.sandbox(flags, line).output().unwrap()
    }

    /// Everything that no command may change, by path.
    fn fingerprint(&self, with_project: bool) -> BTreeMap<PathBuf, Vec<u8>> {
        let protected =
            [".git/hooks", ".git/config", ".vscode", "CODE_LAW.md", ".mycode", ".github", ".mcp.json"];
        let mut roots = vec![self.home.clone(), self.outside.clone()];
        if with_project {
            roots.push(self.project.clone());
        } else {
            roots.extend(protected.iter().map(|name| self.project.join(name)));
        }
        let entries = roots.iter().flat_map(|root| walkdir::WalkDir::new(root).into_iter().flatten());
        // Ours: what the program itself writes around a command.
        let state = self.outside.join("state/state");
        let ours = [state.join("private"), state.join("set-aside"), state.join("build-caches")];
        let theirs = entries.filter(|entry| {
            entry.path() != state && !ours.iter().any(|folder| entry.path().starts_with(folder))
        });
        theirs.map(|entry| (entry.path().to_owned(), fs::read(entry.path()).unwrap_or_default())).collect()
    }
}

/// Whether this machine can confine at all; says so when not.
fn walls() -> bool {
    let world = World::new();
    let tried = world.run(&[], "true");
    if tried.status.code() == Some(3) {
        eprintln!("SKIPPED: the kernel allows no sandbox here: {}", stderr(&tried));
        return false;
    }
    assert!(tried.status.success(), "{}", stderr(&tried));
    true
}

/// Whether there are namespaces, which some promises need.
fn namespaces(world: &World) -> bool {
    stdout(&world.run(&[], "readlink /proc/self/ns/net"))
        != stdout(&world.plain("readlink /proc/self/ns/net"))
}

const ATTACKS: &[(&str, &str)] = &[
    // Writing outside.
    ("absolute path", "echo x > $OUT/new"),
    ("overwrite", "echo x > $OUT/file"),
    ("append", "echo x >> $OUT/file"),
    ("truncate", "truncate -s 0 $OUT/file"),
    ("through a link in the project", "echo x > way_out/file"),
    ("through a new link", "ln -s $OUT esc; echo x > esc/file; rm esc"),
    ("dots", "echo x > ../outside/file"),
    ("hard link", "ln $OUT/file hard && echo x > hard"),
    ("hard link into a kept folder", "ln $OUT/file .git/hard && echo x > .git/hard"),
    ("rename away", "mv $OUT/file ."),
    ("delete", "rm -rf $OUT/file $OUT"),
    ("change mode", "chmod 777 $OUT/file $OUT"),
    ("change times", "touch $OUT/file"),
    ("new folder", "mkdir $OUT/dir"),
    ("proc root", "echo x > /proc/self/root$OUT/file"),
    ("proc root of the first", "echo x > /proc/1/root$OUT/file"),
    ("proc cwd", "echo x > /proc/1/cwd/../outside/file"),
    ("parents of processes", "for p in /proc/[0-9]*; do echo x > $p/root$OUT/file; done"),
    ("open folder", "exec 9<$OUT; echo x > /proc/self/fd/9/file"),
    ("python", "python3 -c \"open('$OUT/file','w').write('x')\""),
    ("install", "install -m 755 /bin/true $OUT/true"),
    ("tar", "tar cf - src | tar xf - -C $OUT"),
    ("dd", "dd if=/dev/zero of=$OUT/file bs=1 count=1"),
    ("setuid shell", "cp /bin/bash b; chmod u+s b; ./b -p -c 'echo x > $OUT/file'"),
    // Mounts and namespaces.
    ("remount", "mount -o remount,rw /; mount -o remount,rw $OUT; echo x > $OUT/file"),
    ("bind", "mkdir -p m; mount --bind $OUT m && echo x > m/file"),
    ("unmount", "umount -l $HOME/.ssh; cat $HOME/.ssh/id_rsa"),
    ("unshare", "unshare -Urm sh -c 'mount -o remount,rw /; echo x > $OUT/file'"),
    ("unshare and unmount", "unshare -Um --map-root-user sh -c 'umount $HOME/.ssh; cat $HOME/.ssh/*'"),
    ("nsenter", "nsenter -t 1 -m sh -c 'cat $HOME/.ssh/id_rsa'"),
    ("chroot", "chroot / sh -c 'echo x > $OUT/file'"),
    (
        "clone with namespaces",
        "python3 -c \"import ctypes;l=ctypes.CDLL(None);print(l.unshare(0x10000000|0x20000));open('$OUT/file','w')\"",
    ),
    (
        "new mount calls",
        "python3 -c \"import ctypes;l=ctypes.CDLL(None);f=l.syscall(428,-100,b'$OUT',1);print(f);l.syscall(429,f,b'',-100,b'src',4);open('src/file','w')\"; rm -f src/file; cat src/state/key",
    ),
    // Secrets.
    ("ssh key", "cat $HOME/.ssh/id_rsa"),
    ("cloud key", "cat $HOME/.aws/credentials"),
    ("all of home", "grep -rs . $HOME"),
    ("token of gh", "cat $HOME/.config/gh/hosts.yml"),
    ("browser", "cat $HOME/.config/google-chrome/Default/Cookies"),
    ("keyring", "cat $HOME/.local/share/keyrings/*"),
    ("netrc", "cat $HOME/.netrc $HOME/.npmrc $HOME/.git-credentials $HOME/.docker/config.json"),
    ("history", "cat $HOME/.bash_history"),
    ("our own state", "cat $OUT/state/key"),
    ("through a link", "ln -s $HOME/.ssh s; cat s/id_rsa; rm s"),
    ("through proc", "cat /proc/1/root$HOME/.ssh/id_rsa /proc/self/root$HOME/.ssh/id_rsa"),
    ("hard link to a secret", "ln $HOME/.ssh/id_rsa k; cat k"),
    ("copy", "cp -r $HOME/.ssh here; cat here/*"),
    ("environment", "env; cat /proc/self/environ /proc/1/environ; cat /proc/[0-9]*/environ"),
    ("shadow", "test -s /etc/shadow && cat /etc/shadow && echo TOP-SECRET-7241"),
    // Staying.
    ("bashrc", "echo evil >> $HOME/.bashrc"),
    ("profile", "echo evil > $HOME/.profile; echo evil > $HOME/.zshrc"),
    (
        "systemd user unit",
        "mkdir -p $HOME/.config/systemd/user; echo evil > $HOME/.config/systemd/user/e.service",
    ),
    ("autostart", "mkdir -p $HOME/.config/autostart && echo evil > $HOME/.config/autostart/e.desktop"),
    ("crontab", "echo '* * * * * evil' | crontab -; mkdir -p $HOME/cron && echo evil > $HOME/cron/x"),
    ("authorized keys", "echo evil >> $HOME/.ssh/authorized_keys"),
    ("path", "mkdir -p $HOME/.local/bin; echo evil > $HOME/.local/bin/git"),
    ("git hook", "echo evil > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit"),
    ("git config", "git config core.fsmonitor ./evil"),
    ("git config by hand", "echo '[core]' >> .git/config"),
    ("global git config", "git config --global core.pager evil"),
    ("git folder moved", "mv .git .g && mkdir .git && cp -r .g/* .git && echo '[alias]' >> .git/config"),
    ("hooks moved", "mv .git/hooks .git/h; mkdir .git/hooks; echo evil > .git/hooks/post-checkout"),
    ("git folder led away", "echo elsewhere > .git/commondir"),
    ("our folder, absent", "mkdir .mycode; echo evil > .mycode/config.toml"),
    ("our folder by link", "mkdir e; echo evil > e/config.toml; ln -s e .mycode"),
    ("our folder by rename", "mkdir e2; echo evil > e2/config.toml; mv e2 .mycode"),
    ("rules file", "echo evil >> CODE_LAW.md"),
    ("rules file replaced", "rm CODE_LAW.md; mv src/a.py CODE_LAW.md"),
    ("rules file, absent, other case", "echo evil > Agents.MD; echo evil > claude.md"),
    ("editor", "echo evil > .vscode/tasks.json; echo evil > .vscode/settings.json"),
    ("editor moved", "mv .vscode .v; mkdir .vscode; echo evil > .vscode/settings.json"),
    ("servers, absent", "echo evil > .mcp.json"),
    // The machine and its other processes.
    (
        "settings of the kernel",
        "echo x > /proc/sys/kernel/core_pattern; echo 1 > /proc/sys/vm/drop_caches && echo TOP-SECRET-7241",
    ),
    ("sysrq", "echo h > /proc/sysrq-trigger && echo TOP-SECRET-7241"),
    ("device node", "mknod sda b 8 0 && echo TOP-SECRET-7241; mknod mem c 1 1 && echo TOP-SECRET-7241"),
    ("disks", "head -c 1 /dev/vda && echo TOP-SECRET-7241; head -c 1 /dev/sda && echo TOP-SECRET-7241"),
    ("memory", "head -c 1 /dev/mem && echo TOP-SECRET-7241; head -c 1 /dev/kmsg && echo TOP-SECRET-7241"),
    ("agent's number", "kill -0 $AGENT && echo TOP-SECRET-7241; kill -9 $AGENT"),
    ("everybody", "kill -9 -1"),
    (
        "ptrace",
        "python3 -c \"import ctypes,os;l=ctypes.CDLL(None,use_errno=True);print('TOP-SECRET-7241' if l.ptrace(16,1,0,0)==0 else 'no')\"",
    ),
    (
        "memory of another",
        "python3 -c \"import ctypes;l=ctypes.CDLL(None);print('TOP-SECRET-7241' if l.syscall(310,1,0,0,0,0,0)==0 else 'no')\"",
    ),
    (
        "io_uring",
        "python3 -c \"import ctypes;l=ctypes.CDLL(None);b=(ctypes.c_char*256)();print('TOP-SECRET-7241' if l.syscall(425,4,b)>=0 else 'no')\"",
    ),
    (
        "keyring of the kernel",
        "python3 -c \"import ctypes;l=ctypes.CDLL(None);print('TOP-SECRET-7241' if l.syscall(248,b'user',b'k',b'v',1,-3)>=0 else 'no')\"",
    ),
    (
        "bpf",
        "python3 -c \"import ctypes;l=ctypes.CDLL(None);b=(ctypes.c_char*128)();print('TOP-SECRET-7241' if l.syscall(321,0,b,128)>=0 else 'no')\"",
    ),
    (
        "typing into a terminal",
        "python3 -c \"import os,fcntl;m,s=os.openpty();fcntl.ioctl(s,0x5412,b'x');print('TOP-SECRET-7241')\"",
    ),
    ("the terminal", "echo x > /dev/tty && echo TOP-SECRET-7241"),
    ("others' terminals", "for t in /dev/pts/[0-9]*; do echo x > $t && echo TOP-SECRET-7241; done"),
    ("capabilities", "grep -q 'CapEff:.*[1-9a-f]' /proc/self/status && echo TOP-SECRET-7241"),
    ("new privileges", "grep -q 'NoNewPrivs:.*0' /proc/self/status && echo TOP-SECRET-7241"),
    ("odd socket families", "python3 -c \"import socket;socket.socket(40,1,0);print('TOP-SECRET-7241')\""),
    // The network.
    ("host's loopback", "exec 3<>/dev/tcp/127.0.0.1/$PORT && echo TOP-SECRET-7241"),
    ("host's loopback, six", "exec 3<>/dev/tcp/::1/$PORT && echo TOP-SECRET-7241"),
    ("the internet", "exec 3<>/dev/tcp/1.1.1.1/53 && echo TOP-SECRET-7241"),
    (
        "datagrams",
        "python3 -c \"import socket;s=socket.socket(2,2);s.connect(('1.1.1.1',53));print('TOP-SECRET-7241')\"",
    ),
    (
        "socket file",
        "python3 -c \"import socket,os;s=socket.socket(1,1);s.connect(os.environ['SOCK']);print('TOP-SECRET-7241')\"",
    ),
    (
        "abstract socket",
        "python3 -c \"import socket;s=socket.socket(1,1);s.connect('\\0mycode-test-$PORT');print('TOP-SECRET-7241')\"",
    ),
    (
        "container engine",
        "test -S /run/docker.sock && echo TOP-SECRET-7241; test -S /var/run/docker.sock && echo TOP-SECRET-7241",
    ),
    // Outliving the call.
    ("background", "sleep 724101 & disown"),
    ("nohup", "nohup sleep 724101 >/dev/null 2>&1 &"),
    ("own session", "setsid sleep 724101 >/dev/null 2>&1 &"),
    ("forked twice", "(setsid sh -c 'sleep 724101 & exit' >/dev/null 2>&1 &)"),
    ("deaf to signals", "(trap '' HUP TERM INT; setsid sleep 724101) >/dev/null 2>&1 &"),
];

#[test]
fn attacks() {
    if !walls() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let mut agent = Command::new("sleep").arg("724199").spawn().unwrap();
    let socket = tempfile::tempdir().unwrap();
    let socket = socket.path().join("s");
    let _unix = UnixListener::bind(&socket).unwrap();
    let name = std::os::unix::net::SocketAddr::from_abstract_name_of(&port);
    let _abstract = UnixListener::bind_addr(&name).unwrap();
    let mut world = World::new();
    let mut broken = Vec::new();
    for (title, line) in ATTACKS {
        let before = world.fingerprint(false);
        let output = world
            .sandbox(&[], line)
            .env("PORT", &port)
            .env("AGENT", agent.id().to_string())
            .env("SOCK", &socket)
            .output()
            .unwrap();
        let mut wrong =
            |what: &str| broken.push(format!("{title}: {what}\n  {}{}", stdout(&output), stderr(&output)));
        if stdout(&output).contains(SECRET) || stderr(&output).contains(SECRET) {
            wrong("a secret was seen, or what is forbidden worked");
        }
        let after = world.fingerprint(false);
        if before != after {
            wrong("something was changed");
        }
        if listener.accept().is_ok() {
            wrong("the host was reached");
        }
        if running("sleep 724101") {
            wrong("a process is left");
        }
        if agent.try_wait().unwrap().is_some() {
            wrong("a process outside was ended");
            agent = Command::new("sleep").arg("724199").spawn().unwrap();
        }
        if before != after {
            world = World::new();
        }
    }
    agent.kill().unwrap();
    let _ = agent.wait();
    assert!(broken.is_empty(), "{} of {}:\n{}", broken.len(), ATTACKS.len(), broken.join("\n"));
    assert!(ATTACKS.len() >= 60);
}

trait AbstractName {
    fn from_abstract_name_of(port: &str) -> std::os::unix::net::SocketAddr;
}

impl AbstractName for std::os::unix::net::SocketAddr {
    fn from_abstract_name_of(port: &str) -> Self {
        use std::os::linux::net::SocketAddrExt;
        Self::from_abstract_name(format!("mycode-test-{port}")).unwrap()
    }
}

fn running(command: &str) -> bool {
    let lines = fs::read_dir("/proc").unwrap().flatten().map(|entry| fs::read(entry.path().join("cmdline")));
    lines
        .flatten()
        .any(|line| String::from_utf8_lossy(&line).trim_end_matches('\0').replace('\0', " ") == command)
}

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
    ("cargo", "cargo init -q --vcs none --name demo --lib rs && cd rs && cargo test -q --offline"),
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
    assert!(stdout(&answer).contains("a loopback of its own"), "{} {}", stdout(&answer), stderr(&answer));
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
    // In `/tmp`, which is another one inside.
    let dir = tempfile::tempdir().unwrap();
    let done = world.sandbox(&[], "echo x > y; cat y; ls ..").current_dir(dir.path()).output().unwrap();
    assert!(stdout(&done).starts_with("x\n") && dir.path().join("y").exists(), "{}", stderr(&done));
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
