"""Help, manual and completion say what there is, and nothing else."""
import os
import re
import subprocess

COMPLETION = {"bash": "halligan.bash", "zsh": "_halligan", "fish": "halligan.fish"}


def listed(text):
    """The first words of the indented lines of a help."""
    return [m.group(1) for m in re.finditer(r"^  ([a-z][\w-]*) +\S", text, re.M) if m.group(1) != "halligan"]


def nouns_and_commands(bench):
    text = bench.halligan("--help").out
    first, second = text.split("\n\n")[1:3]
    return listed(first), listed(second)


def verbs(bench):
    for noun in nouns_and_commands(bench)[0]:
        for verb in listed(bench.halligan(noun, "--help").out):
            yield noun, verb


def options(help_text):
    return re.findall(r"^  (?:-\w, |    )--([a-z-]+)", help_text, re.M)


def test_the_nouns_that_operators_expect(bench):
    nouns, commands = nouns_and_commands(bench)
    for noun in ["nodes", "roles", "deployments", "deployment-roles", "noderoles", "runs", "snapshots", "attribs",
                 "barclamps", "jigs", "hammers", "groups", "users", "tokens", "events", "barclamp"]:
        assert noun in nouns, nouns
    for command in ["wait", "inventory", "login", "logout", "completion"]:
        assert command in commands, commands


def test_every_verb_has_help(bench):
    seen = 0
    for noun, verb in verbs(bench):
        answer = bench.halligan(noun, verb, "--help")
        assert answer.status == 0 and answer.out.startswith(f"usage: halligan {noun} {verb}"), answer
        assert noun in ("barclamp", "image") or "url" in options(answer.out), answer
        seen += 1
    for command in nouns_and_commands(bench)[1]:
        assert bench.halligan(command, "--help").out.startswith(f"usage: halligan {command}")
    assert seen > 100, seen


def test_help_needs_no_daemon(bench):
    env = {"HALLIGAN_URL": "nonsense"}
    for words in [["--version"], ["--help"], ["nodes", "--help"], ["nodes", "list", "-h"], ["completion", "bash"]]:
        assert bench.halligan(*words, env=env).status == 0, words


def test_the_singular_of_a_noun_is_accepted(bench):
    assert bench.halligan("node", "list", "--help").out == bench.halligan("nodes", "list", "--help").out
    assert "check" in bench.halligan("barclamp", "--help").out
    for words, nearest in [(["ndoes"], '"nodes"'), (["deployment", "comit"], '"commit"'), (["nodes", "list", "--fliter", "a=b"], "--filter"),
                           (["lgoin"], '"login"')]:
        answer = bench.halligan(*words)
        assert answer.status == 2 and nearest in answer.err, (words, answer)


def test_the_manual_knows_every_noun_verb_option_and_exit_status(bench):
    with open(os.path.join(bench.root, "docs/man/halligan.1"), encoding="utf-8") as file:
        manual = file.read().replace("\\-", "-").replace('\\fR, \\fP', '", "')
    for noun, verb in verbs(bench):
        entry = re.search(rf"^\.TP\n\.B {noun}\n(.*?)(?=^\.TP|^\.SH)", manual, re.M | re.S)
        assert entry and re.search(rf"^\.BR? .*\b{verb}\b", entry.group(1), re.M), (noun, verb)
        for option in options(bench.halligan(noun, verb, "--help").out):
            assert f"--{option}" in manual, option
    with open(os.path.join(bench.root, "src/cli/args/noun.h"), encoding="utf-8") as file:
        codes = re.findall(r"CLI_\w+ = (\d),", file.read())
    exits = manual.split(".SH EXIT STATUS")[1].split(".SH")[0]
    assert len(codes) == 10 and re.findall(r"^\.B (\d)$", exits, re.M) == codes, codes


def test_the_manual_is_a_manual(bench):
    page = os.path.join(bench.root, "docs/man/halligan.1")
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page], capture_output=True, text=True,
                          timeout=60, check=False) if os.path.exists("/usr/bin/man") else None
    assert done is None or (done.returncode == 0 and not done.stderr), done.stderr


def test_shipped_completion_is_what_halligan_prints(bench):
    for shell, name in COMPLETION.items():
        with open(os.path.join(bench.root, "packaging/completion", name), encoding="utf-8") as file:
            assert file.read() == bench.halligan("completion", shell).out, \
                f"halligan completion {shell} > packaging/completion/{name}"
    assert bench.halligan("completion", "tcsh").status == 2
    assert bench.halligan("completion").status == 2


def complete(bench, *words, env=None):
    """What bash offers for the last word."""
    script = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_halligan
printf '%s\\n' "${COMPREPLY[@]}"
"""
    environment = bench.environment(**(env or {}))
    environment["PATH"] = bench.build + ":" + environment["PATH"]
    place = os.path.join(bench.root, "packaging/completion/halligan.bash")
    done = subprocess.run(["bash", "-c", script, "bash", place, "halligan", *words], cwd=bench.folder, env=environment,
                          capture_output=True, text=True, timeout=60, check=True)
    assert not done.stderr, done.stderr
    return done.stdout.split()


def test_bash_completes(bench):
    assert complete(bench, "dep") == ["deployments", "deployment-roles"]
    assert complete(bench, "nodes", "s") == ["show", "set"]
    assert complete(bench, "deployments", "commit", "x", "--p") == ["--plan"]
    assert complete(bench, "nodes", "list", "-o", "") == ["table", "json", "yaml"]
    assert complete(bench, "wait", "--t") == ["--timeout", "--token-file"]
    assert complete(bench, "barclamp", "c") == ["check"]
    bench.says("deployments", "create", "name=ta-one")
    assert complete(bench, "deployments", "show", "ta-", env=bench.credentials()) == ["ta-one"]
    assert complete(bench, "deployments", "show", "ta-", env={"HALLIGAN_URL": "http://127.0.0.1:1"}) == []
