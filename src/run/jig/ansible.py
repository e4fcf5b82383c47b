"""Callback plugin: records the result of each host for the result channel of the ansible jig.

Writes HALLIGAN_RESULT once, when the playbook ends: {HOST: {ok, changed, ..., message}}.
"""
import json
import os

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
    name: halligan
    type: aggregate
    short_description: per-host results into a file
    description: per-host results into a file
"""

MESSAGE_MAX = 2000


def clean(text):
    """Replace zero bytes and lone surrogates, which JSON documents must not contain."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "?")


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "halligan"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self):
        super().__init__()
        self.failures = {}

    def _record(self, result, kind):
        said = result._result
        text = said.get("msg") or said.get("stderr") or said.get("stdout") or "no message"
        if not isinstance(text, str):
            text = json.dumps(text, default=str)
        if said.get("censored"):
            text = "hidden by no_log"
        self.failures[result._host.get_name()] = {
            "kind": kind,
            "task": clean(result._task.get_name()),
            "message": clean(text)[:MESSAGE_MAX],
        }

    def v2_runner_on_failed(self, result, ignore_errors=False):
        if not ignore_errors:
            self._record(result, "failed")

    def v2_runner_on_unreachable(self, result):
        self._record(result, "unreachable")

    def v2_playbook_on_stats(self, stats):
        hosts = {}
        for host in sorted(stats.processed):
            counts = stats.summarize(host)
            counts["failed"] = counts.pop("failures")
            counts.update(self.failures.get(host, {}))
            hosts[host] = counts
        with open(os.environ["HALLIGAN_RESULT"], "w", encoding="utf-8") as file:
            json.dump(hosts, file, ensure_ascii=False)
