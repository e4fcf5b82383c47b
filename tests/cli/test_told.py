"""Commands in documents are run against a daemon, and their output is compared with the document."""
import os

import told
from daemon import Daemon


def check(bench, page, more):
    """How many blocks it has. `more` gives the environment that it needs besides."""
    daemon = Daemon(bench.build, barclamps=os.path.join(bench.root, "packaging", "quickstart"), has_admin_node=True)
    try:
        daemon.start()
        environment = bench.environment(HALLIGAN_URL=daemon.url, **more(daemon))
        environment["PATH"] = bench.build + ":" + environment["PATH"]
        count = told.check(os.path.join(bench.root, page), bench.folder, environment)
        assert daemon.stop() == 0, daemon.read("stderr")
        return count
    finally:
        daemon.close()


def test_every_request_of_the_page_about_the_api_is_answered_as_it_says(bench):
    told.every_call_is_run(os.path.join(bench.root, "docs", "api.md"))
    assert check(bench, "docs/api.md", lambda daemon: {"HALLIGAN_PASSWORD": daemon.password}) >= 15


def test_a_page_that_promises_something_else_is_noticed(bench):
    bench.write("page.md", "```sh\necho one; echo '{\"a\": 1}'\n```\n```json\n  one {\"a\": ...}\n```\n")
    assert told.check(bench.path("page.md"), bench.folder, bench.environment()) == 1
    for said, why in (("```text\ntwo\n```", "and not"), ("```json\none {\"a\": 2}\n```", "and not"), ("```text\none\n```", "and not")):
        bench.write("page.md", f"```sh\necho one; echo '{{\"a\": 1}}'\n```\n{said}\n")
        try:
            told.check(bench.path("page.md"), bench.folder, bench.environment())
        except AssertionError as noticed:
            assert why in str(noticed), noticed
        else:
            raise AssertionError("the difference was not detected")
    bench.write("page.md", "```sh\necho one\nfalse\n```\n")
    try:
        told.check(bench.path("page.md"), bench.folder, bench.environment())
    except AssertionError as noticed:
        assert "ends with 1" in str(noticed) and "one" in str(noticed), noticed
    else:
        raise AssertionError("the difference was not detected")
