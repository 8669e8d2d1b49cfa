"""The SQL texts of the library, and their parse trees as the server makes them."""
import functools
import os
import pathlib
import re
import subprocess

from server import value

def pg_config(option):
    return subprocess.check_output([os.environ["PG_CONFIG"], option], text=True).strip()


# A Statement as the preprocessor leaves it, in braces or parentheses: result, {types}, "text" "in" "parts", how it reads.
STATEMENT = re.compile(r'[{(]\s*\d+\s*,\s*\{([^{}]*)\}\s*,\s*((?:"(?:[^"\\]|\\.)*"\s*)+)(?:,\s*Reads::(\w+))?')
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


@functools.cache
def declared(reads=("by_index", "whole_tables")):
    """(text, parameter types) of the Statements in the source; a type is an OID, or the name of hold_claim[]'s constant."""
    found = {}
    for file in sorted(pathlib.Path("src").glob("**/*.cpp")):
        if "Statement" not in file.read_text(encoding="utf-8"):
            continue
        code = subprocess.check_output(["g++", "-E", "-P", "-std=c++20", "-isystem", pg_config("--includedir-server"), "-Isrc",
                                        '-DRESERVATION_VERSION=""', file], text=True)
        for types, literals, how in STATEMENT.findall(code):
            text = "".join(LITERAL.findall(literals)).replace('\\"', '"')
            if (how or "by_index") in reads:
                found[text] = [type_.strip() for type_ in types.split(",") if type_.strip()]
    return found


def compiled():
    """Every SQL text about our tables among the constants of the library, whatever it was made of."""
    constants = (pathlib.Path(pg_config("--pkglibdir")) / "reservation.so").read_bytes().split(b"\0")
    return {constant.decode("ascii") for constant in constants if b"{schema}." in constant}


TOKEN = re.compile(r"\s*(\{|\}|\(|\)|\[[^]]*\]|:[A-Za-z_]\w*|(?:\\.|[^\s{}()\\])+)")


def parse(text):
    """A pg_node_tree as nested lists; a node is a dict of its fields, each a list, with its name under "node"."""
    tokens, position = TOKEN.findall(text), 0

    def items(end):
        nonlocal position
        found = []
        while tokens[position] != end:
            found.append(item())
        position += 1
        return found

    def item():
        nonlocal position
        token = tokens[position]
        position += 1
        if token == "(":
            return items(")")
        if token != "{":
            return token
        node, field = {"node": tokens[position]}, None
        position += 1
        while tokens[position] != "}":
            if tokens[position].startswith(":"):
                field = tokens[position][1:]
                node[field] = []
                position += 1
            else:
                node[field].append(item())
        position += 1
        return node

    return item()


def nodes(tree):
    """All nodes of a tree, the outer ones first."""
    if isinstance(tree, dict):
        yield tree
        for field in tree.values():
            yield from nodes(field)
    elif isinstance(tree, list):
        for one in tree:
            yield from nodes(one)


def type_names(connection, types, schema="public"):
    """The parameter types of a Statement by their names."""
    return [f"{schema}.hold_claim[]" if type_ == "kHoldClaimArray" else
            value(connection, "SELECT pg_catalog.format_type(%s, NULL)", int(type_)) for type_ in types]


def tree_of(connection, text, types, schema="public"):
    """The parse tree of a statement: as the body of a function, which the server analyses and does not plan."""
    names = ", ".join(type_names(connection, types, schema))
    statement = text.replace("{schema}", schema)
    connection.execute(f"CREATE FUNCTION pg_temp.analysed({names}) RETURNS void LANGUAGE sql BEGIN ATOMIC {statement}; END")
    tree = value(connection, "SELECT prosqlbody::pg_catalog.text FROM pg_catalog.pg_proc"
                             " WHERE proname OPERATOR(pg_catalog.=) 'analysed'")
    connection.execute("DROP FUNCTION pg_temp.analysed")
    return parse(tree)
