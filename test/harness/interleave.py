"""Prints a psql script with a run of the reaper after every statement.

usage: interleave.py FILE

The run is a statement of the same session, so it also sees what an open transaction has not committed yet, which
no reaper in another session could. Scripts that the file includes with \\i are interleaved too.

Left alone are the data of COPY, the statements that begin a transaction or set its characteristics (which must come
before any query), and the part of a file between the comments

    -- reaper: off
    -- reaper: on

for tests whose subject is an overdue hold that nobody has released yet.
"""
import re
import sys

PROLOGUE = r"""
SET client_min_messages = warning;
CREATE SCHEMA reaper;
GRANT USAGE ON SCHEMA reaper TO PUBLIC;
-- Runs with the privileges of its owner and finds the extension wherever it lives by now, so that a test may set
-- any role and search path, and move or drop the extension.
CREATE FUNCTION reaper.run() RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $run$
DECLARE
    home text;
    answer text;
BEGIN
    SELECT quote_ident(n.nspname) INTO home
    FROM pg_extension e
    JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
    JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
    JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE e.extname = 'reservation' AND p.proname = 'hold_reap';
    IF home IS NULL AND EXISTS (SELECT FROM pg_extension WHERE extname = 'reservation') THEN
        RAISE 'the extension has no hold_reap';
    ELSIF home IS NULL OR current_setting('transaction_read_only')::boolean THEN
        RETURN 'not run';
    END IF;
    EXECUTE format('SELECT %s.hold_reap()', home) INTO answer;
    RETURN answer;
END
$run$;
RESET client_min_messages;
"""
RUN = "\nSELECT reaper.run() AS reaper_run \\gset\n"

TOKEN = re.compile(r"""
    (?P<comment>--[^\n]*)
  | (?P<block>/\*)
  | (?P<escape>\b[eE]'(?:[^'\\]|\\.|'')*')
  | (?P<string>'(?:[^']|'')*')
  | (?P<name>"(?:[^"]|"")*")
  | (?P<dollar>(?<![\w$])\$(?P<tag>[^\W\d]\w*)?\$.*?\$(?(tag)(?P=tag))\$)
  | (?P<meta>\\[^;:][^\n]*)
  | (?P<word>[^\W\d][\w$]*)
  | (?P<other>.)
""", re.VERBOSE | re.DOTALL)
SENDS = re.compile(r"\\(g|gx|gset|gexec|gdesc|crosstabview|watch)\b")
INCLUDE = re.compile(r"\\(?:i|include)\s+'?([^\s':]+)'?\s*$")
MARK = re.compile(r"--\s*reaper:\s*(on|off)\s*$")
NO_RUN_AFTER = re.compile(r"(BEGIN|START TRANSACTION|SET TRANSACTION|SET SESSION CHARACTERISTICS)\b")


def block_comment_end(text, start):
    """Block comments nest."""
    depth = 0
    for edge in re.compile(r"/\*|\*/").finditer(text, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    return len(text)


class Statement:
    """What has been read of the statement at hand."""

    def __init__(self):
        self.words = []
        self.parentheses = 0
        self.blocks = 0  # BEGIN ATOMIC ... END and CASE ... END in the body of an SQL function
        self.started = False

    def add(self, kind, token):
        self.started = True
        if kind == "word":
            word = token.upper()
            self.words.append(word)
            if self.words[0] == "CREATE" and {"FUNCTION", "PROCEDURE"} & set(self.words[1:4]):
                if word == "ATOMIC" or (word == "CASE" and self.blocks):
                    self.blocks += 1
                elif word == "END" and self.blocks:
                    self.blocks -= 1
        elif token == "(":
            self.parentheses += 1
        elif token == ")":
            self.parentheses -= 1

    def ends_at_semicolon(self):
        return self.parentheses <= 0 and self.blocks == 0

    def copies_from_client(self):
        return self.words[:1] == ["COPY"] and "STDIN" in self.words

    def allows_run(self):
        return NO_RUN_AFTER.match(" ".join(self.words)) is None


def interleave(text, out):
    """Writes text with the runs; returns (statements followed by a run, statements in exempt parts)."""
    statement, exempt, position, followed, exempted = Statement(), False, 0, 0, 0

    def end():
        nonlocal statement, followed, exempted
        if exempt:
            exempted += 1
        elif statement.allows_run():
            out.append(RUN)
            followed += 1
        statement = Statement()

    while position < len(text):
        match = TOKEN.match(text, position)
        kind, token, position = match.lastgroup, match.group(), match.end()
        if kind == "tag":
            kind = "dollar"
        if kind == "comment":
            mark = MARK.match(token)
            if mark:
                exempt = mark.group(1) == "off"
        elif kind == "block":
            position = block_comment_end(text, match.start())
            token = text[match.start():position]
        elif kind == "meta":
            include = INCLUDE.match(token)
            if include and not statement.started:
                with open(include.group(1), encoding="utf-8") as file:
                    inner = interleave(file.read(), out)
                followed, exempted = followed + inner[0], exempted + inner[1]
                continue
            if statement.started and SENDS.search(token):
                out.append(token)
                end()
                continue
        elif token == ";" and statement.ends_at_semicolon():
            out.append(token)
            if statement.copies_from_client():
                data_end = re.compile(r"^\\\.$\n?", re.MULTILINE).search(text, position)
                out.append(text[position:data_end.end()])
                position = data_end.end()
            if statement.started:
                end()
            continue
        elif not token.isspace():
            statement.add(kind, token)
        out.append(token)
    return followed, exempted


def main():
    path = sys.argv[1]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    out = [PROLOGUE]
    followed, exempted = interleave(text, out)
    sys.stdout.write("".join(out))
    print(f"{path}: the reaper runs after {followed} statements, {exempted} are exempt", file=sys.stderr)


if __name__ == "__main__":
    main()
