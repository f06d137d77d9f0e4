//! A table of attacks on the sandbox, of which none may leave a trace, each through `mycode sandbox`.

use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::Command;

use crate::support::sandbox_world::{SECRET, World, running, walls};
use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

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
