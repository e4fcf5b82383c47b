"""A document whose `sh` fences are one long session: what is run, and what it must say.

A fence of `json` or `text` right behind one of `sh` is what that one says. `...` in it is anything;
in `json` blanks do not count.
"""
import os
import re
import subprocess

from guide import fences

END = "-- end of block {} --"


class Block:
    def __init__(self, number, script):
        self.number = number
        self.script = script
        self.said = None  # no output is expected
        self.language = None


def blocks(path):
    found, last = [], None
    with open(path, encoding="utf-8") as file:
        for _, language, text in fences(file.read().split("\n")):
            if language == "sh":
                last = Block(len(found), text)
                found.append(last)
            elif last and language in ("json", "text"):
                last.said, last.language, last = text, language, None
            else:
                last = None
    return found


def pattern(text, language):
    """What was promised, as a regular expression."""
    if language == "json":
        text = re.sub(r"\s", "", text)
    parts = [re.escape(part) for part in text.strip().split("...")]
    return re.compile(".*?".join(parts), re.DOTALL)


def keeps_promise(block, said):
    if block.said is None:
        return True
    said = re.sub(r"\s", "", said) if block.language == "json" else said.replace("\r", "")
    return bool(pattern(block.said, block.language).fullmatch(said.strip()))


def tell(path, folder, environment, timeout=120, shell=("sh", "-c")):
    """Runs it all in one shell; (block, what it said) of each. A command that fails ends it. The script is the last
    argument of `shell`."""
    all_blocks = blocks(path)
    script = "set -eu\n" + "".join(b.script + f'\necho "\n{END.format(b.number)}"\n' for b in all_blocks)
    done = subprocess.run([*shell, script], cwd=folder, env=environment, timeout=timeout, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    rest = done.stdout
    for block in all_blocks:
        said, end, rest = rest.partition("\n" + END.format(block.number) + "\n")
        assert end, f"this ends with {done.returncode}\n{block.script}\nand says\n{said}"
        yield block, said


def check(path, folder, environment, **how):
    """How many blocks there are; fails at the first that says something else than is promised."""
    count = 0
    for block, said in tell(path, folder, environment, **how):
        assert keeps_promise(block, said), f"this\n{block.script}\nsays\n{said}\nand not\n{block.said}"
        count += 1
    return count


def every_call_is_run(path):
    """Lines with curl or halligan outside of `sh` fences would not be tested."""
    with open(path, encoding="utf-8") as file:
        for _, language, text in fences(file.read().split("\n")):
            if language != "sh":
                assert not re.search(r"^\s*(\$ )?(curl|halligan) ", text, re.MULTILINE), text
