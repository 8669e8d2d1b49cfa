#!/usr/bin/env python3
"""measure.py [--quick] [PART[/CASE]...]   measure on the server that libpq's variables name, and print tables

Parts: throughput, cost, memory. A case is any part of a line's name, with _ for a blank. Progress goes to stderr.
"""
import os
import re
import statistics
import subprocess
import sys

QUICK = "--quick" in sys.argv
ROUNDS = 3 if QUICK else 5
SECONDS = 1 if QUICK else 3
CLIENTS = (1, 16)
SCHEMAS = {"reservation": "public", "none live": "public", "plpgsql": "plain", "pattern": "pattern",
           "take alone": "pattern"}
HOT = 20000  # live holds on the resource that everybody wants


def psql(script, options=""):
    run = subprocess.run(
        ["psql", "-qXAt", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-f", "-"],
        input=script, text=True, capture_output=True, env={**os.environ, "PGOPTIONS": options}, check=False)
    if run.returncode != 0:
        raise SystemExit(f"psql failed: {run.stderr.strip()[:1000]}")
    return [line.split("\t") for line in run.stdout.splitlines() if line]


def sides_of(task, live, spread):
    """What is measured in turn; README.md says what each is."""
    sides = ["reservation", "plpgsql", "pattern"]
    if task.startswith("acquire") and task.endswith("item"):
        sides.append("take alone")
    return ["none live", *sides] if live and spread == 1 else sides


def kind_of(task):
    return task[-4:]


def base(side):
    """The side whose tables a side uses."""
    return {"none live": "reservation", "take alone": "pattern"}.get(side, side)


def reset(side, kind, live=0, prepared=0, spread=1000, again=False):
    """Before every round, so that the faster side does not meet the larger tables."""
    schema = SCHEMAS[side]
    call = f"remove_added('{base(side)}', '{kind}')" if again else \
        f"reset('{base(side)}', '{kind}', {live}, {prepared}, {spread})"
    psql(f"CALL bench.{call}; VACUUM ANALYZE {schema}.room, {schema}.slot_hold, {schema}.inventory,"
         f" {schema}.stock_hold; CHECKPOINT;")


def pgbench(side, task, clients, spread, durable, prepared):
    """Transactions a second; a number of transactions where each needs a hold of its own, else a time."""
    options = f"-c synchronous_commit={'on' if durable else 'off'} -c search_path={SCHEMAS[side]},public"
    length = ["-t", str(prepared // clients)] if prepared else ["-T", str(SECONDS)]
    variables = {"i": 0, "clients": clients, "spread": spread, "first": 1001 if side == "none live" else 1}
    script = {"none live": f"reservation/{task}", "take alone": "pattern/take_item"}.get(side, f"{side}/{task}")
    run = subprocess.run(
        ["pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", "1", *length,
         *(f"-D{name}={value}" for name, value in variables.items()), "-f", f"bench/pgbench/{script}.sql"],
        text=True, capture_output=True, env={**os.environ, "PGOPTIONS": options}, check=False)
    found = re.search(r"^tps = ([0-9.]+)", run.stdout, re.M)
    if run.returncode != 0 or not found:
        raise SystemExit(f"pgbench of {script} failed: {run.stderr.strip()[:1000]}")
    return float(found.group(1))


def is_wanted(wanted, name):
    return wanted.replace("_", " ") in name.replace("_", " ")


def progress(text):
    print(f"\r\033[K{text}" if sys.stderr.isatty() else text, end="" if sys.stderr.isatty() else "\n", file=sys.stderr)


tables = 0


def table(title, head, rows):
    global tables
    tables += 1
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    print(f"\n{title}\n")
    for row in [head, ["-" * width for width in widths], *rows]:
        print("  ".join(str(cell).ljust(width) if i == 0 else str(cell).rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))).rstrip())
    sys.stdout.flush()


COLUMNS = ["reservation", "plpgsql", "pattern", "/ plpgsql", "/ pattern", "/ take alone", "/ none live"]


def columns(found, digits, faster):
    """Medians of three sides, then of reservation against each other side: the median of the rounds' ratios."""
    def against(side):
        if side not in found:
            return ""
        pairs = zip(found["reservation"], found[side])
        return f"{statistics.median(a / b if faster else b / a for a, b in pairs):.2f}"
    medians = (f"{statistics.median(found[side]):.{digits}f}" if side in found else "" for side in COLUMNS[:3])
    return [*medians, *(against(side) for side in ("plpgsql", "pattern", "take alone", "none live"))]


# ------------------------------------------------------------------------------------------------ throughput

def throughput_cases():
    for task in ("acquire_item", "acquire_room"):
        yield task, f"{task}, 1000 resources", 1000, 0, False
        yield task, f"{task}, hot, none live", 1, 0, False
        yield task, f"{task}, hot, {HOT} live", 1, HOT, False
    for task in ("confirm_item", "confirm_room", "cancel_item", "cancel_room"):
        yield task, f"{task}, 1000 resources", 1000, 0, True


def throughput(wanted):
    for durable in (True, False):
        rows = []
        setting = "durable commits" if durable else "synchronous_commit = off"
        for task, name, spread, live, changes in throughput_cases():
            for clients in CLIENTS:
                line = f"{name}, {clients} client{'s' if clients > 1 else ''}"
                if not is_wanted(wanted, f"{line}, {setting}"):
                    continue
                sides = sides_of(task, live, spread)
                rates = {side: [] for side in sides}
                prepared = SECONDS * 6400 if changes else 0
                for number in range(ROUNDS):
                    for side in sides if number % 2 == 0 else reversed(sides):
                        progress(f"{setting}: {line}, round {number + 1}: {side}")
                        reset(side, kind_of(task), live, prepared, spread, number > 0 and not changes)
                        rates[side].append(pgbench(side, task, clients, spread, durable, prepared))
                rows.append([line, *columns(rates, 0, True)])
        progress("")
        if rows:
            table(f"Transactions a second, {setting}", ["", *COLUMNS], rows)


# ------------------------------------------------------------------------------------------------ cost

def cost_cases():
    for task in ("acquire item", "acquire room"):
        yield task, f"{task}, 1000 resources", 1000, 0
        yield task, f"{task}, hot, none live", 1, 0
        yield task, f"{task}, hot, {HOT} live", 1, HOT
    for task in ("confirm item", "confirm room", "cancel item", "cancel room"):
        yield task, f"{task}, 1000 resources", 1000, 0
    for task in ("confirm item", "cancel item"):
        yield task, f"{task}, hot, {HOT} live", 1, HOT


def cost(wanted):
    rows = []
    for task, name, spread, live in cost_cases():
        if not is_wanted(wanted, name):
            continue
        sides = [side for side in sides_of(task, live, spread) if side != "pattern" or task.startswith("acquire")]
        progress(f"processor time: {name}")
        for side in sides:
            reset(side, kind_of(task), live)
        # On one resource few calls to a transaction, or each would walk the row versions of those before it.
        calls, transactions = (100, 5) if spread > 1 else (10, 20 if live else 50)
        found = psql(f"SET synchronous_commit = off; TRUNCATE bench.cost;"
                     f" CALL bench.measure('{{{','.join(sides)}}}', '{task}', {spread},"
                     f" {5 if QUICK else 21}, {transactions}, {calls});"
                     f" SELECT side, microseconds FROM bench.cost ORDER BY round;")
        spent = {side: [float(value) for which, value in found if which == side] for side in sides}
        rows.append([name, *columns(spent, 1, False)])
    progress("")
    if rows:
        table("Processor time of one call in one backend, microseconds; the ratios are of speed", ["", *COLUMNS], rows)


# ------------------------------------------------------------------------------------------------ memory

def memory(wanted):
    rows = []
    calls = 10_000 if QUICK else 100_000
    warm_up = 5_000
    for (name,) in psql("SELECT name FROM bench.memory_case ORDER BY name"):
        if not is_wanted(wanted, name):
            continue
        progress(f"memory: {name}")
        psql("CALL bench.reset('reservation', 'room', 1, 0, 1); CALL bench.reset('reservation', 'item', 1, 1, 1);"
             " UPDATE public.inventory SET available = 0, capacity = 0 WHERE item_id = 2;")

        def repeat(first, last, per_transaction):
            return (f"SELECT format('SELECT count(bench.%I(n)::text) FROM generate_series(%s, %s) AS n', '{name}', t,"
                    f" t + {per_transaction - 1}) FROM generate_series({first}, {last}, {per_transaction}) AS t \\gexec\n")

        taken = "SELECT 'taken', bench.context_bytes(), bench.private_bytes();\n"
        # Twice before the first reading, since that allocates too. Some calls to a transaction: 100 writes of one row
        # in a transaction are one chain of versions that every next one walks.
        found = psql("SET synchronous_commit = off;\n" + repeat(1, warm_up // 2, 20) + taken
                     + repeat(warm_up // 2 + 1, warm_up, 20) + taken
                     + repeat(warm_up + 1, warm_up + calls, 20) + taken)
        taken = [(int(row[1]), int(row[2])) for row in found if row[0] == "taken"]
        contexts, private = (after - before for after, before in zip(taken[2], taken[1]))
        rows.append([name, calls, contexts, private, "grows" if contexts > calls or private > 4 * calls else "ok"])
    progress("")
    if rows:
        table("Bytes that a backend kept", ["", "calls", "contexts", "private pages", ""], rows)


def main():
    parts = {"throughput": throughput, "cost": cost, "memory": memory}
    for argument in [word for word in sys.argv[1:] if word != "--quick"] or parts:
        part, _, case = argument.partition("/")
        if part not in parts:
            raise SystemExit(f"measure.py: no part named {part}")
        before = tables
        parts[part](case)
        if tables == before:
            raise SystemExit(f"measure.py: nothing is named {argument}")


if __name__ == "__main__":
    main()
