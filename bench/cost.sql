-- What one call costs a backend: processor time of calls in a loop, without client, network and commit.

-- Nanoseconds that this backend was on a processor.
CREATE FUNCTION bench.processor_time() RETURNS bigint LANGUAGE sql VOLATILE
    RETURN split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::bigint;

-- A task of a side: a body that uses n, first and spread, and where it needs holds, an expression that makes one out of n. Each becomes
-- a function over an array, so that its statements are prepared once in a session.
CREATE TABLE bench.task (
    task text,
    side text,
    make text,
    body text,
    PRIMARY KEY (task, side)
);

INSERT INTO bench.task VALUES
    ('acquire item', 'reservation', NULL, 'r := public.hold_acquire(public.stock_claim(first + n % spread, 1));'),
    ('acquire item', 'plpgsql', NULL, 'r := plain.acquire_item(first + n % spread, 1);'),
    ('acquire item', 'pattern', NULL, $$
        PERFORM item_id FROM pattern.inventory WHERE item_id = first + n % spread FOR UPDATE;
        WITH released AS (
            UPDATE pattern.stock_hold SET state = 'expired'
            WHERE item_id = first + n % spread AND state = 'held' AND expires_at <= clock_timestamp()
            RETURNING item_id, quantity
        )
        UPDATE pattern.inventory AS i SET available = i.available + r.quantity
        FROM (SELECT item_id, sum(quantity) AS quantity FROM released GROUP BY item_id) AS r
        WHERE i.item_id = r.item_id;
        WITH taken AS (
            UPDATE pattern.inventory SET available = available - 1
            WHERE item_id = first + n % spread AND available >= 1
            RETURNING item_id
        )
        INSERT INTO pattern.stock_hold
        SELECT nextval('pattern.hold_id_seq'), item_id, 1, 'held', clock_timestamp() + interval '10 minutes' FROM taken
        RETURNING hold_id INTO r;$$),
    ('acquire item', 'take alone', NULL, $$
        WITH taken AS (
            UPDATE pattern.inventory SET available = available - 1
            WHERE item_id = first + n % spread AND available >= 1
            RETURNING item_id
        )
        INSERT INTO pattern.stock_hold
        SELECT nextval('pattern.hold_id_seq'), item_id, 1, 'held', clock_timestamp() + interval '10 minutes' FROM taken
        RETURNING hold_id INTO r;$$),
    ('acquire room', 'reservation', NULL,
        'r := public.hold_acquire(public.room_claim(first + n % spread, bench.period(n / spread, 3600)));'),
    ('acquire room', 'plpgsql', NULL, 'r := plain.acquire_room(first + n % spread, bench.period(n / spread, 3600));'),
    ('acquire room', 'pattern', NULL, $$
        PERFORM room_id FROM pattern.room WHERE room_id = first + n % spread FOR UPDATE;
        UPDATE pattern.slot_hold SET state = 'expired'
        WHERE room_id = first + n % spread AND state = 'held' AND expires_at <= clock_timestamp();
        INSERT INTO pattern.slot_hold VALUES
            (nextval('pattern.hold_id_seq'), first + n % spread, bench.period(n / spread, 3600), 'held',
             clock_timestamp() + interval '10 minutes')
        RETURNING hold_id INTO r;$$);

INSERT INTO bench.task
SELECT change || ' ' || kind, side, btrim(split_part(body, ':=', 2), ' ;'),
       CASE side WHEN 'reservation' THEN format('r := public.hold_%s(n);', change)
                 ELSE format('r := plain.%s_%s(n);', change, kind) END
FROM bench.task, unnest('{confirm,cancel}'::text[]) AS change, split_part(task, ' ', 2) AS kind
WHERE side IN ('reservation', 'plpgsql');

-- The same on a resource without live holds.
INSERT INTO bench.task SELECT task, 'none live', make, body FROM bench.task WHERE side = 'reservation';

DO $$
DECLARE
    t bench.task;
BEGIN
    FOR t IN SELECT * FROM bench.task LOOP
        EXECUTE format('CREATE FUNCTION bench.%I(numbers bigint[], first integer, spread integer) RETURNS void '
                       'LANGUAGE plpgsql AS %L', t.side || ' ' || t.task,
            format('DECLARE n bigint; r text; BEGIN FOREACH n IN ARRAY numbers LOOP %s END LOOP; END', t.body));
        EXECUTE format('CREATE FUNCTION bench.%I(numbers bigint[], first integer, spread integer) RETURNS bigint[] '
                       'LANGUAGE plpgsql AS %L', 'make for ' || t.side || ' ' || t.task,
            format('DECLARE n bigint; made bigint[]; BEGIN FOREACH n IN ARRAY numbers LOOP made := made || %s; END LOOP; '
                   'RETURN made; END', coalesce(t.make, 'n')));
    END LOOP;
END $$;

CREATE TABLE bench.cost (side text, round integer, microseconds float8);

-- The sides in turn. Transactions are short, so that no row has a chain of versions of one transaction; all of them
-- together are long enough for a clock that may lag by a tick.
CREATE PROCEDURE bench.measure(sides text[], task text, spread integer, rounds integer, transactions integer,
        calls integer) LANGUAGE plpgsql AS $$
DECLARE
    n bigint := 0;
    side text;
    first integer;
    numbers bigint[];
    made bigint[][];
    before bigint;
BEGIN
    FOR round IN 0 .. rounds LOOP
        FOREACH side IN ARRAY sides LOOP
            first := CASE side WHEN 'none live' THEN 1001 ELSE 1 END;
            made := '{}';
            FOR t IN 1 .. transactions LOOP
                SELECT array_agg(i) INTO numbers FROM generate_series(n + 1, n + calls) AS i;
                n := n + calls;
                EXECUTE format('SELECT bench.%I($1, $2, $3)', 'make for ' || side || ' ' || task)
                    INTO numbers USING numbers, first, spread;
                made := made || ARRAY[numbers];
                COMMIT;
            END LOOP;
            before := bench.processor_time();
            FOREACH numbers SLICE 1 IN ARRAY made LOOP
                EXECUTE format('SELECT bench.%I($1, $2, $3)', side || ' ' || task) USING numbers, first, spread;
                COMMIT;
            END LOOP;
            IF round > 0 THEN  -- the first warms up
                INSERT INTO bench.cost
                VALUES (side, round, (bench.processor_time() - before) / 1000.0 / (transactions * calls));
            END IF;
            COMMIT;
        END LOOP;
    END LOOP;
END $$;
