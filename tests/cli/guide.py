"""The barclamp guide as a list of steps: files to write and commands to run.

A file is a fence behind a line that is nothing but its path, bold and in backquotes. A command is a
line of a `console` fence that begins with "$ "; what follows it is what it must say.
"""
import os
import re

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "barclamp-guide.md")


def fences(lines):
    """(path or None, language, text) of each."""
    path, language, inside = None, None, None
    for line in lines:
        if inside is not None:
            if line == "```":
                yield path, language, "".join(inside)
                path, inside = None, None
            else:
                inside.append(line + "\n")
        elif line.startswith("```"):
            language, inside = line[3:], []
        elif line:
            match = re.fullmatch(r"\*\*`([\w./-]+)`\*\*", line)
            path = match.group(1) if match else None
    assert inside is None, "a fence of the guide has no end"


def commands(text):
    """(command, what it says) of each line with a prompt."""
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], ""])
        else:
            found[-1][1] += line + "\n"
    return found


def steps():
    """("file", path, text) and ("command", line, what it says), in the order of the guide."""
    with open(PATH, encoding="utf-8") as file:
        for path, language, text in fences(file.read().split("\n")):
            if path:
                yield "file", path, text
            elif language == "console":
                for line, said in commands(text):
                    yield "command", line, said


def write_file(folder, path, text):
    place = os.path.join(folder, path)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with open(place, "w", encoding="utf-8") as file:
        file.write(text)


def write_barclamp(folder, name):
    """Only the files of one barclamp of the guide."""
    for kind, path, text in steps():
        if kind == "file" and path.startswith(name + "/"):
            write_file(folder, path, text)
