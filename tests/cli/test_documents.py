"""Which fences of the documents for users run; pages.py has the rules.

README.md, docs/operating.md, docs/power.md, docs/jigs.md and docs/networks.md run on a machine of their own (tests/journeys/test_pages.py), the
barclamp guide here and in test_guide.py.
"""
import os
import socket
import time

import guide
import pages
import told
from bench import WAIT_S

# The commands that are not run, of each document.
EXCEPTIONS = {
    "README.md": ["./test"],
    "docs/operating.md": [],
    "docs/power.md": [],
    "docs/jigs.md": [],
    "docs/networks.md": [],
    "docs/barclamp-guide.md": [],
}


def commands(fence):
    return [line.partition("#")[0].strip() for line in fence.text.splitlines()]


def test_every_block_is_run_or_has_a_reason(bench):
    for name, excepted in EXCEPTIONS.items():
        with open(os.path.join(bench.root, name), encoding="utf-8") as file:
            text = file.read()
        assert not pages.complaints(text), (name, "\n".join(pages.complaints(text)))
        assert [line for fence in pages.exceptions(text) for line in commands(fence)] == excepted, name


def test_a_block_without_a_reason_is_noticed(bench):
    assert pages.complaints("text\n\n```\nhalligan nodes list\n```\n")
    assert pages.complaints("```text\nhalligan nodes list\n```\n")
    assert pages.complaints("```ini\n$ halligand\n```\n")
    assert pages.complaints("```bash\nls\n```\n")
    assert pages.complaints("<!-- not run: needs another machine -->\n```\nssh there\n```\n")
    assert pages.complaints("<!-- not run: no -->\n```sh\nfalse\n```\n")
    assert pages.complaints("<!-- stays in the foreground -->\n```ini\na = b\n```\n")
    assert not pages.complaints("<!-- not run: needs another machine -->\n```sh\nssh there\n```\n")
    assert not pages.complaints("```sh\nls\n```\n```text\na file\n```\n")
    # A marker counts for the fence right behind it.
    assert len(pages.exceptions("<!-- not run: needs another machine -->\n\nwords\n\n```sh\nls\n```\n")) == 0
    assert "false" in pages.session("<!-- not run: needs another machine -->\n\nwords\n\n```sh\nfalse\n```\n")
    assert "false" not in pages.session("<!-- not run: needs another machine -->\n```sh\nfalse\n```\n")
    bench.write("page.md", pages.session("```sh\nfalse\n```\n"))
    try:
        told.check(bench.path("page.md"), bench.folder, bench.environment())
    except AssertionError:
        return
    raise AssertionError("a block that fails was not noticed")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


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
        lines = file.read().split("\n")
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
