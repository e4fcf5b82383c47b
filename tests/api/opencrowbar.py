"""Clients as they were written for OpenCrowbar in 2015. Standard library and curl only.

They know nothing of this project: HTTP digest, the paths of /api/v2 with a slash at the end where
people wrote one, bodies as forms or JSON, names where ids could be, a Content-Type on requests that
have no body. What works for them worked then.

Machine     what runs on a machine that boots: curl, forms, one process for each request
Console     the command line: JSON, a keep-alive connection, ids out of earlier answers; all the
            challenges of an answer are read as one line, as the library of its language does
Daily       scripts with a session: urllib, and the last challenge for as long as it is good
"""
import hashlib
import http.client
import json
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request

PATIENCE_S = 60


class Answer:
    """`type` is the part before the first semicolon of the Content-Type."""

    def __init__(self, status, text, type_):
        self.status, self.text, self.type = status, text, (type_ or "").split(";")[0]

    def json(self):
        return json.loads(self.text)

    def __repr__(self):
        return f"{self.status} {self.text[:500]}"


class Machine:
    """`curl -g --digest -u NAME:PASSWORD -X VERB URL -d key=value ...`"""

    def __init__(self, url, user, password):
        self.web = url.rstrip("/")
        self.key = f"{user}:{password}"
        self.program = shutil.which("curl")
        assert self.program, "curl is needed"

    def ask(self, verb, path, **fields):
        command = [self.program, "-s", "-S", "-g", "--max-time", str(PATIENCE_S)]
        command += ["--digest", "-u", self.key, "-X", verb]
        command += ["-w", "\n%{http_code} %{content_type}"]
        for name, value in fields.items():
            command += ["-d", f"{name}={value}"]
        ran = subprocess.run(
            command + [f"{self.web}/api/v2/{path}"],
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE_S,
            env={"PATH": os.environ["PATH"]},
        )
        assert ran.returncode == 0, ran.stderr
        text, _, told = ran.stdout.rpartition("\n")
        status, _, type_ = told.partition(" ")
        return Answer(int(status), text, type_)

    def status(self, path):
        """`curl -o /dev/null -w %{http_code}`"""
        return self.ask("GET", path).status


def md5(text):
    return hashlib.md5(text.encode()).hexdigest()


class Console:
    def __init__(self, url, user, password, attributes=None):
        parts = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(
            parts.hostname, parts.port, timeout=PATIENCE_S
        )
        self.user, self.password = user, password
        self.attributes = attributes
        self.asked = 0

    def close(self):
        self.connection.close()

    def authorization(self, challenges, verb, uri):
        """The challenges as one line; a name that comes twice keeps its last value."""
        line = re.match(r"(\w+) (.*)", ", ".join(challenges))
        assert line and line.group(1) == "Digest", challenges
        told = dict(re.findall(r'(\w+)="(.*?)"', line.group(2)))
        algorithm = re.search(r'algorithm="?(.*?)"?([, ]|$)', line.group(2))
        assert not algorithm or algorithm.group(1).upper() == "MD5", challenges
        self.asked += 1
        count, cnonce = f"{self.asked:08x}", md5(f"{self.asked}:{uri}")
        secret = md5(f"{self.user}:{told['realm']}:{self.password}")
        proof = md5(
            f"{secret}:{told['nonce']}:{count}:{cnonce}:{told['qop']}:" + md5(f"{verb}:{uri}")
        )
        words = [
            f'Digest username="{self.user}"',
            f'realm="{told["realm"]}"',
            "algorithm=MD5",
            f"qop={told['qop']}",
            f'uri="{uri}"',
            f'nonce="{told["nonce"]}"',
            f"nc={count}",
            f'cnonce="{cnonce}"',
            f'response="{proof}"',
        ]
        if "opaque" in told:
            words.append(f'opaque="{told["opaque"]}"')
        return ", ".join(words)

    def once(self, verb, uri, data, headers):
        self.connection.request(verb, uri, body=data, headers=headers)
        answer = self.connection.getresponse()
        return answer, answer.read().decode()

    def ask(self, verb, path, data=None):
        uri = "/" + path
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if self.attributes:
            headers["x-return-attributes"] = json.dumps(self.attributes)
        body = None if data is None else json.dumps(data)
        answer, text = self.once(verb, uri, body, headers)
        challenges = answer.headers.get_all("WWW-Authenticate")
        if challenges:
            headers["Authorization"] = self.authorization(challenges, verb, uri)
            answer, text = self.once(verb, uri, body, headers)
        return Answer(answer.status, text, answer.headers["Content-Type"])

    def must(self, verb, path, data=None):
        """As the command line does: an object, or the end."""
        answer = self.ask(verb, "api/v2/" + path, data)
        assert answer.status < 300, (verb, path, data, answer)
        return answer.json()

    # what its commands do

    def find(self, kind, name):
        return self.must("GET", f"{kind}/{name}")

    def list(self, kind):
        return self.must("GET", kind)

    def create(self, kind, **fields):
        return self.must("POST", kind, fields)

    def update(self, kind, thing, **fields):
        return self.must("PUT", f"{kind}/{thing['id']}", fields)

    def tell(self, kind, thing, verb):
        return self.must("PUT", f"{kind}/{thing['id']}/{verb}")

    def destroy(self, kind, thing):
        return self.must("DELETE", f"{kind}/{thing['id']}")

    def bind(self, role, node):
        return self.must("POST", "node_roles", {"node_id": node["id"], "role_id": role["id"]})

    def get_attrib(self, kind, thing, attrib):
        return self.must("GET", f"{kind}/{thing['id']}/attribs/{attrib['id']}")

    def set_attrib(self, kind, thing, attrib, value):
        path = f"{kind}/{thing['id']}/attribs/{attrib['id']}"
        return self.must("PUT", path, {"value": value})


class Daily:
    def __init__(self, url, user, password):
        self.web = url.rstrip("/")
        known = urllib.request.HTTPPasswordMgr()
        known.add_password("Crowbar", self.web, user, password)
        self.opener = urllib.request.build_opener(urllib.request.HTTPDigestAuthHandler(known))

    def ask(self, verb, path, fields=None, form=False):
        data, headers = None, {"Accept": "application/json"}
        if fields is not None and form:
            data = urllib.parse.urlencode(fields).encode()
        elif fields is not None:
            data = json.dumps(fields).encode()
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self.web + path, data, headers, method=verb)
        try:
            with self.opener.open(request, timeout=PATIENCE_S) as answer:
                return Answer(answer.status, answer.read().decode(), answer.headers["Content-Type"])
        except urllib.error.HTTPError as refused:
            return Answer(refused.code, refused.read().decode(), refused.headers["Content-Type"])
        except ValueError:  # too many refusals
            return Answer(401, "", "")
