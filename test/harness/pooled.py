"""Runs a pgTAP script as one transaction through a pooler, and undoes it.

usage: pooled.py FILE, with the pooler's directory in POOLER

A pooler in transaction mode gives every transaction another server connection, so what a script sets or prepares is
there until its transaction ends. BEGIN, COMMIT and ROLLBACK in the script become savepoints. Every statement is sent as
a prepared one where the pooler has them. Of psql's commands those are known that the scripts use.
"""
import os
import re
import sys

import psycopg

from interleave import INCLUDE, SENDS, TOKEN, Statement, block_comment_end

BOUNDS = {"BEGIN": "SAVEPOINT script", "BEGIN READ ONLY": "SAVEPOINT script; SET TRANSACTION READ ONLY",
          "COMMIT": "RELEASE script", "ROLLBACK": "ROLLBACK TO script; RELEASE script"}
COPY = re.compile(r"(COPY [^;']+ FROM stdin);\n(.*?)^\\\.\n", re.MULTILINE | re.DOTALL)
SET_LOCAL = re.compile(r"SET LOCAL (\w+)")


def tokens(text):
    """(kind, token) of a script and of those that it includes."""
    position = 0
    while position < len(text):
        copy = COPY.match(text, position)
        if copy:
            position = copy.end()
            yield "copy", copy
            continue
        match = TOKEN.match(text, position)
        kind, token, position = match.lastgroup, match.group(), match.end()
        if kind == "block":
            position = block_comment_end(text, match.start())
        elif kind == "meta" and INCLUDE.match(token):
            with open(INCLUDE.match(token).group(1), encoding="utf-8") as file:
                yield from tokens(file.read())
        elif kind != "comment":
            yield "dollar" if kind == "tag" else kind, token


def commands(text, variables):
    """(statement, psql's command that sends it or nothing), with the variables as they are by then; a COPY with its data."""
    statement, parts = Statement(), []
    for kind, token in tokens(text):
        if kind == "copy":
            yield token.groups()
            continue
        ends = token == ";" and statement.ends_at_semicolon()
        if ends or (kind == "meta" and statement.started and SENDS.search(token)):
            if statement.started:
                yield "".join(parts).strip(), "" if ends else token.strip()
            statement, parts = Statement(), []
        elif kind == "meta":
            if not token.startswith("\\set "):
                sys.exit(f"what is {token}?")
        elif token in variables and parts and parts[-1] == ":" and parts[-2:-1] != [":"]:
            parts[-1] = variables[token]
        elif token[1:-1] in variables and token[0] == "'" and parts and parts[-1] == ":":
            parts[-1] = psycopg.sql.quote(variables[token[1:-1]])
        else:
            if not token.isspace():
                statement.add(kind, token)
            parts.append(token)


def cells(cursor):
    """The rows of a result as the server sent them."""
    result = cursor.pgresult
    for row in range(result.ntuples):
        yield [value and value.decode() for value in (result.get_value(row, column) for column in range(result.nfields))]


def run(connection, text, prepare):
    variables, local = {}, []

    def execute(statement):
        bound = BOUNDS.get(statement)
        if statement == "COMMIT":  # what is local to a savepoint stays when it is released
            bound = "".join(f"SET LOCAL {name} TO DEFAULT; " for name in local) + bound
        local[:] = [] if bound else local + SET_LOCAL.findall(statement)
        return connection.execute(bound or statement, prepare=prepare and bound is None)

    for statement, sender in commands(text, variables):
        if statement.startswith("COPY "):
            with connection.cursor().copy(statement) as copy:
                copy.write(sender)
            continue
        cursor = execute(statement)
        if sender == "\\gset":
            (row,) = cells(cursor)
            variables.update(zip([column.name for column in cursor.description], row))
        elif sender == "\\gexec":
            for row in list(cells(cursor)):
                execute(row[0])
        elif sender == "":
            for row in cells(cursor):
                print("|".join(value or "" for value in row))
        elif sender != "\\g /dev/null":
            sys.exit(f"what is {sender}?")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    prepare = "POOLER_PREPARES" in os.environ
    with psycopg.connect(host=os.environ["POOLER"], port=6432, user="postgres", client_encoding="utf8") as connection:
        connection.prepared_max = 10000  # it would DEALLOCATE otherwise, which is the session's business
        connection.add_notice_handler(lambda notice: print(f"# {notice.severity}: {notice.message_primary}"))
        try:
            run(connection, text, prepare)
        except psycopg.Error as error:
            sys.exit(f"{sys.argv[1]}: {error}")
        finally:
            connection.rollback()


main()
