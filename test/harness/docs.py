"""Runs the SQL of a Markdown file and compares its output with the file.

usage: docs.py FILE TALLY

The convention is described in CONTRIBUTING.md. Every block is one test; the last line of TALLY gets "passed failed".
"""
import difflib
import os
import re
import subprocess
import sys

FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,})(?P<info>[^`]*)$")
HIDDEN = re.compile(r"^<!-- sql\s*$")
ERROR = re.compile(r"^(ERROR|FATAL|PANIC):  ", re.MULTILINE)
COMMENT = re.compile(r"--[^\n]*$")
QUOTED = re.compile(r"'[^']*'|\$(\w*)\$.*?\$\1\$|--[^\n]*|/\*.*?\*/", re.DOTALL)
COMMAND = re.compile(r"\\[^;:\s][^\n]*\n\s*\S")
TIME_LIMIT = 240


class Block:
    """SQL of the document, where it begins, and the output that it must have (None: any without an error)."""

    def __init__(self, line, sql, visible):
        self.line, self.sql, self.output, self.visible = line, sql, None, visible


def fenced(lines):
    """Yields (info, number of the line after the opening one, text, first line after the block)."""
    at = 0
    while at < len(lines):
        opening, at = lines[at], at + 1
        match, hidden = FENCE.match(opening), HIDDEN.match(opening)
        if not match and not hidden:
            continue
        start, indent = at, len(match["indent"]) if match else 0
        closing = re.compile(r" *" + match["fence"] + r"`*\s*$" if match else r"-->\s*$")
        while at < len(lines) and not closing.match(lines[at]):
            at += 1
        if at == len(lines):
            sys.exit(f"the block that begins at line {start} has no end")
        text = "\n".join(line[indent:] if not line[:indent].strip() else line for line in lines[start:at])
        at += 1
        yield (match["info"].split() or [""])[0] if match else "sql", start + 1, text, at


def blocks_of(lines):
    blocks, end_of_sql = [], None
    for info, line, text, after in fenced(lines):
        if info == "sql":
            blocks.append(Block(line, text, visible="```" in lines[line - 2]))
            end_of_sql = after
        else:
            adjacent = end_of_sql is not None and not "".join(lines[end_of_sql:line - 2]).strip()
            if info == "text" and adjacent:
                blocks[-1].output = text
            end_of_sql = None
    return blocks


def is_complete(sql):
    """Whether the last line sends the statement: psql would silently carry an unfinished one into the next block."""
    last = [COMMENT.sub("", line).strip() for line in sql.splitlines()]
    last = ([line for line in last if line] or [""])[-1]
    return last.endswith(";") or "\\" in last


def can_be_pasted(sql):
    """Whether no text follows a psql command: a terminal pastes the block as one line, all of it the command's."""
    return not COMMAND.search(QUOTED.sub("''", sql))


def run(blocks):
    """The output of each block: one session, messages where they appear; None for a block that did not end."""
    script = "".join(f"\\echo <<begin {i}>>\n{block.sql}\n\\echo <<end {i}>>\n" for i, block in enumerate(blocks))
    environment = dict(os.environ, PGTZ="UTC", PGDATESTYLE="ISO", PGCLIENTENCODING="UTF8")
    done = subprocess.run(["psql", "-qX", "-P", "pager=off"], input=script, text=True, encoding="utf-8",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, timeout=TIME_LIMIT,
                          check=False)
    outputs = []
    for i in range(len(blocks)):
        found = re.search(rf"<<begin {i}>>\n(.*?)<<end {i}>>\n", done.stdout, re.DOTALL)
        outputs.append(found and found[1])
    return outputs, done.stdout


def plain(text):
    """Without blanks at the ends of lines and blank lines at both ends."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n").splitlines()


def problem_of(block, output):
    if not is_complete(block.sql):
        return "its last statement has no end"
    if block.visible and not can_be_pasted(block.sql):
        return "a command of psql stands before its last line"
    if output is None:
        return "it did not end: an open quote, or a lost connection"
    if block.output is None:
        return "it raises an error:\n" + output if ERROR.search(output) else None
    expected, found = plain(block.output), plain(output)
    if expected == found:
        return None
    return "its output differs:\n" + "\n".join(
        difflib.unified_diff(expected, found, "in the document", "by the server", lineterm="", n=9))


def main():
    path, tally = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        blocks = blocks_of(file.read().splitlines())
    outputs, everything = run(blocks)
    failed = 0
    for block, output in zip(blocks, outputs):
        problem = problem_of(block, output)
        if problem:
            failed += 1
            print(f"{path}:{block.line}: {problem}")
    if None in outputs:
        print(everything[-4000:])
    print(f"{path:<40} {len(blocks) - failed} of {len(blocks)}")
    with open(tally, "a", encoding="utf-8") as file:
        file.write(f"{len(blocks) - failed} {failed}\n")


if __name__ == "__main__":
    main()
