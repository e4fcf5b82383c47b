"""The fences of a document for users, and the session that they are.

  ```sh        commands; all of a document run in one shell, in order, each must succeed
  ```console   commands with a prompt and what they print; those of the guide, which test_guide.py runs
  ```text      right behind one of `sh`: what that one prints (told.py); also ```json
  ```ini       lines of /etc/halligan/halligan.conf, which `halligand --check-config` reads
  ```nginx     lines of a `location` of nginx, which `nginx -t` reads
  ```yaml ...  data

A fence of any language behind a line that is nothing but a path, bold and in backquotes, is a file of that name.

A line <!-- stays in the foreground --> in front of a fence of `sh`: its last command does not end. It is started in the
background, the session goes on when port 3000 answers. A line <!-- not run: REASON --> excepts a fence. A fence without
a language is wrong.
"""
import posixpath
import re

RUN = {"sh", "console"}
CHECKED = {"ini", "nginx"}
DATA = {"yaml", "json", "text", "lua", "puppet"}
COMMAND = re.compile(r"^\s*(\$ |#? ?(sudo |runuser |systemctl |halligand? |curl |meson |createdb |createuser |ssh))", re.MULTILINE)
MARKER = re.compile(r"<!-- (not run: .*|stays in the foreground) -->")
PATH = re.compile(r"\*\*`([\w./-]+)`\*\*")
FOREGROUND = "stays in the foreground"


class Fence:
    def __init__(self, line, language, marker, path):
        self.line = line
        self.path = path  # of a file, or None
        self.language = language
        self.marker = marker
        self.text = ""

    @property
    def reason(self):
        """Why it is not run, or None."""
        return self.marker[len("not run: "):] if self.marker and self.marker.startswith("not run: ") else None


def fences(text):
    marker, path, inside, found = None, None, None, []
    for number, line in enumerate(text.split("\n"), 1):
        if inside is not None:
            if line == "```":
                found.append(inside)
                marker, path, inside = None, None, None
            else:
                inside.text += line + "\n"
        elif line.startswith("```"):
            inside = Fence(number, line[3:], marker, path)
        elif line.strip():
            match = MARKER.fullmatch(line.strip())
            marker = match.group(1) if match else None
            match = PATH.fullmatch(line)
            path = match.group(1) if match else None
    assert inside is None, "a fence has no end"
    return found


def complaints(text):
    """What is wrong with the fences of a document."""
    wrong = []
    for fence in fences(text):
        if fence.language not in RUN | CHECKED | DATA:
            wrong.append(f"line {fence.line}: a fence of language \"{fence.language}\" is neither run nor checked:\n{fence.text}")
        elif fence.reason is not None and len(fence.reason) < 8:
            wrong.append(f"line {fence.line}: an exception needs a reason")
        elif fence.marker == FOREGROUND and fence.language != "sh":
            wrong.append(f"line {fence.line}: only a fence of sh can stay in the foreground")
        elif fence.language in CHECKED | {"text"} and COMMAND.search(fence.text):
            wrong.append(f"line {fence.line}: this fence has a command, and is not run:\n{fence.text}")
    return wrong


def exceptions(text):
    """The fences of commands that are not run."""
    return [fence for fence in fences(text) if fence.reason is not None]


def quoted(text):
    return f"<<'END-OF-LINES'\n{text}END-OF-LINES\n"


BACKGROUND = """{before}{last} >foreground.log 2>&1 </dev/null &
echo $! >foreground.pid
n=0
until curl -s -o foreground.out http://127.0.0.1:3000/healthz; do
    n=$((n + 1))
    [ $n -lt 600 ] || {{ cat foreground.log; exit 1; }}
    sleep 0.1
done
kill -0 "$(cat foreground.pid)" || {{ cat foreground.log; exit 1; }}
"""
INI = """install -m 640 -g halligan /etc/halligan/halligan.conf /run/checked.conf
{change}runuser -u halligan -- halligand --check-config --config /run/checked.conf
"""
NGINX = """cat >/run/checked.lines {lines}
cat >/run/checked.nginx <<'END'
events {{}}
http {{ server {{ listen 127.0.0.1:8080; location / {{ proxy_pass http://127.0.0.1:3000; include /run/checked.lines; }} }} }}
END
nginx -t -c /run/checked.nginx
"""


def change(path, lines):
    """Commands that put lines of a configuration in place of those with the same keys."""
    keys = "|".join(line.split(" = ")[0] for line in lines.splitlines())
    return f"sed -E -i '/^({keys}) = /d' {path}\ncat >>{path} {quoted(lines)}"


def session(text):
    """The document as told.py runs it: every fence that is run or checked is one of `sh`; the others of data follow."""
    parts = []
    for fence in fences(text):
        if fence.reason is not None or fence.language == "console":
            continue
        language, body = fence.language, fence.text
        if fence.path:
            language, body = "sh", f"mkdir -p {posixpath.dirname(fence.path)}\ncat >{fence.path} {quoted(body)}"
        elif fence.marker == FOREGROUND:
            before, last = re.fullmatch(r"((?:.*\n)*?)((?:.*\\\n)*.*)\n", body).groups()
            body = BACKGROUND.format(before=before, last=last)
        elif language in CHECKED:
            body = (INI.format(change=change("/run/checked.conf", body)) if language == "ini"
                    else NGINX.format(lines=quoted(body)))
            language = "sh"
        parts.append(f"```{language}\n{body}```\n")
    return "".join(parts)
