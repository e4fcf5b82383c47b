"""Every block of commands in the documents for users runs, in the state that a new user has.

The documents are README.md, docs/operating.md and docs/barclamp-guide.md. A fence is one of:

  ```sh        commands; all of a document run in one shell, in order, each must succeed
  ```text      right behind one of `sh`: what that one says (told.py); also ```json
  ```console   commands with a prompt and what they say; the guide's, which test_guide.py runs
  ```yaml ...  data; of the guide: files that are written
  ```          without a language: only behind a line <!-- not run: REASON -->, which also excepts any other

Where a page speaks of the service manager, of the user `halligan` or of paths of an installation, functions of the
shell do the same with a real daemon of the test: `systemctl` stops and starts it, `runuser` runs the command as it is.
"""
import os
import re
import socket
import subprocess
import time

import guide
import told
from bench import WAIT_S

DATA = {"yaml", "json", "text", "lua", "ini", "console"}
DOCUMENTS = ["README.md", "docs/operating.md", "docs/barclamp-guide.md"]
# More exceptions than these need a new number here, and with it a second thought.
EXCEPTIONS_MAX = {"README.md": 3, "docs/operating.md": 7, "docs/barclamp-guide.md": 0}

PRELUDE = """
systemctl() {
    case $1 in
    stop)
        kill -TERM "$(cat daemon.pid)"
        n=0
        while kill -0 "$(cat daemon.pid)" 2>/dev/null; do
            n=$((n + 1))
            [ $n -lt 600 ] || return 1
            sleep 0.1
        done ;;
    start)
        command halligand --config "$CONFIG" >>daemon.log 2>&1 &
        echo $! >daemon.pid
        n=0
        until [ -s "$DATA/listen" ]; do
            n=$((n + 1))
            [ $n -lt 600 ] || return 1
            sleep 0.1
        done ;;
    *) return 1 ;;
    esac
}
runuser() { shift 3; "$@"; }
halligand() { verb=$1; shift; command halligand "$verb" --config "$CONFIG" "$@"; }
systemctl start halligand
"""


def fences(text):
    """(line, language, marker, text) of each; the marker is the reason of an exception, or None."""
    marker, inside, found = None, None, []
    for number, line in enumerate(text.split("\n"), 1):
        if inside is not None:
            if line == "```":
                found.append((start, language, marker, "\n".join(inside)))
                marker, inside = None, None
            else:
                inside.append(line)
        elif line.startswith("```"):
            language, inside, start = line[3:], [], number
        elif line.strip():
            match = re.fullmatch(r"<!-- not run: (.*) -->", line.strip())
            marker = match.group(1) if match else None
    assert inside is None, "a fence has no end"
    return found


def complaints(text):
    """What is wrong with the fences of a document."""
    wrong = []
    for line, language, marker, body in fences(text):
        if marker is not None and len(marker) < 8:
            wrong.append(f"line {line}: an exception needs a reason")
        elif marker is None and language not in DATA | {"sh"}:
            wrong.append(f"line {line}: this block is not run; make it sh, or say why not:\n{body}")
    return wrong


def exceptions(text):
    return [marker for _, _, marker, _ in fences(text) if marker is not None]


def without_exceptions(text):
    """Blocks that are excepted are not commands for told.py either."""
    return re.sub(r"<!-- not run: .*? -->\n```\w*\n.*?\n```\n", "", text, flags=re.S)


def test_every_block_is_run_or_has_a_reason(bench):
    for name in DOCUMENTS:
        with open(os.path.join(bench.root, name), encoding="utf-8") as file:
            text = file.read()
        assert not complaints(text), (name, "\n".join(complaints(text)))
        assert len(exceptions(text)) <= EXCEPTIONS_MAX[name], (name, exceptions(text))


def test_a_block_without_a_reason_is_noticed(bench):
    assert complaints("text\n\n```\nhalligan nodes list\n```\n")
    assert complaints("<!-- not run: no -->\n```sh\nfalse\n```\n")
    assert not complaints("<!-- not run: needs another machine -->\n```\nssh there\n```\n")
    assert complaints("<!-- not run: needs another machine -->\n\nwords\n\n```\nssh there\n```\n")
    bench.write("page.md", "```sh\nfalse\n```\n")
    try:
        told.check(bench.path("page.md"), bench.folder, bench.environment())
    except AssertionError:
        return
    raise AssertionError("a block that fails was not noticed")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_operating_from_the_first_start_to_the_move_to_postgresql(bench):
    """All blocks of docs/operating.md, with one daemon that is stopped, restored and started as they say."""
    port, data, config = free_port(), bench.path("data"), bench.path("etc/halligan.conf")
    backup = bench.path("backup")
    os.makedirs(backup)
    os.chmod(bench.folder, 0o711)  # a database server that is another user passes through it
    bench.write("etc/halligan.conf", f"data = {data}\nlisten = 127.0.0.1:{port}\ntest-jig = true\n"
                f"barclamps = {bench.root}/packaging/quickstart\nlog-level = warning\n")
    postgres = os.path.join(bench.root, "tools/postgres")
    cluster = bench.path("pg")
    url = subprocess.run([postgres, "start", cluster], capture_output=True, text=True, timeout=120, check=True).stdout.strip()
    with open(os.path.join(bench.root, "docs/operating.md"), encoding="utf-8") as file:
        text = without_exceptions(file.read())
    for word, place in [("/var/lib/halligan", data), ("http://127.0.0.1:3000", f"http://127.0.0.1:{port}"),
                        ("/etc/halligan/halligan.conf", config), ("/backup", backup), (" -o halligan -g halligan", ""),
                        (" -g halligan", ""), ("postgresql:///halligan?host=/run/postgresql", url)]:
        text = text.replace(word, place)
    first = text.index("```sh\n") + len("```sh\n")
    bench.write("page.md", text[:first] + PRELUDE + text[first:])
    environment = bench.environment(HALLIGAN_URL=f"http://127.0.0.1:{port}", CONFIG=config, DATA=data)
    environment["PATH"] = f"{bench.build}:{bench.root}/packaging:" + environment["PATH"]
    try:
        assert told.check(bench.path("page.md"), bench.folder, environment) >= 13
    finally:
        stop(bench.path("daemon.pid"))
        subprocess.run([postgres, "stop", cluster], capture_output=True, timeout=120, check=True)


GUIDE_PRELUDE = """
halligand() {
    command halligand --listen 127.0.0.1:$PORT --log-level warning "$@" >daemon.log 2>&1 &
    echo $! >daemon.pid
    n=0
    until [ -s "$DATA/listen" ]; do
        n=$((n + 1))
        [ $n -lt 600 ] || return 1
        sleep 0.1
    done
}
"""


def test_the_barclamp_of_the_guide_is_loaded_as_it_says(bench):
    """The blocks of docs/barclamp-guide.md that need a daemon; test_guide.py has the others."""
    port, data = free_port(), bench.path("data")
    guide.write_barclamp(bench.path("content"), "motd")
    with open(os.path.join(bench.root, "docs/barclamp-guide.md"), encoding="utf-8") as file:
        lines = without_exceptions(file.read()).split("\n")
    # A fence behind a path is a file, not a command.
    text = "".join(f"```sh\n{body}```\n" for path, language, body in guide.fences(lines) if language == "sh" and not path)
    for word, place in [("/tmp/halligan", data), ("127.0.0.1:3000", f"127.0.0.1:{port}")]:
        text = text.replace(word, place)
    first = text.index("```sh\n") + len("```sh\n")
    bench.write("page.md", text[:first] + GUIDE_PRELUDE + text[first:])
    environment = bench.environment(HALLIGAN=bench.root, PORT=str(port), DATA=data)
    environment["PATH"] = f"{bench.build}:" + environment["PATH"]
    try:
        said = dict((block.number, text) for block, text in
                    told.tell(bench.path("page.md"), bench.path("content"), environment))
        assert len(said) >= 2 and '"motd-banner"' not in said[0], said
        # What the last request of the page answers: both noderoles, one of them the banner's.
        assert said[1].count('"node_id"') >= 3 and '"message"' not in said[1], said[1]
    finally:
        stop(bench.path("content/daemon.pid"))


def stop(pid_file):
    if not os.path.exists(pid_file):
        return
    with open(pid_file, encoding="utf-8") as file:
        pid = int(file.read())
    try:
        os.kill(pid, 15)
        for _ in range(WAIT_S * 10):
            os.kill(pid, 0)
            time.sleep(0.1)
    except ProcessLookupError:
        pass
