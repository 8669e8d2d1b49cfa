-- What every side gets: the same resources, and a way back to the same start.
CREATE SCHEMA bench;

INSERT INTO public.room SELECT n, 'Room ' || n FROM generate_series(1, 1001) AS n;
INSERT INTO public.inventory SELECT n, 1000000000 FROM generate_series(1, 1001) AS n;
INSERT INTO plain.room SELECT * FROM public.room;
INSERT INTO plain.inventory SELECT item_id, available FROM public.inventory;
INSERT INTO pattern.room SELECT * FROM public.room;
INSERT INTO pattern.inventory SELECT item_id, available FROM public.inventory;

-- The period that a number stands for. Numbers below 100,003 give periods that are apart, in no order of time, so that
-- an index does not only grow at its end. The pgbench scripts compute the same.
CREATE FUNCTION bench.period(n bigint, shift integer) RETURNS tstzrange LANGUAGE sql IMMUTABLE
    RETURN tstzrange(to_timestamp(1900000000 + 7200 * (n * 7919 % 100003) + shift),
                     to_timestamp(1900000000 + 7200 * (n * 7919 % 100003) + shift + 3600));

-- Empties a side's table of holds and fills it again: holds of long ago on resources 2 to 1000, which no case uses up
-- but which make the tables and their statistics look like those of a service; live holds on resource 1; and holds to
-- be confirmed or cancelled, with the ids 1 to n (rooms) and 1000001 to 1000000 + n (items). Resource 1001 stays
-- without.
CREATE PROCEDURE bench.reset(side text, kind text, live integer, prepared integer, spread integer) LANGUAGE plpgsql
AS $$
DECLARE
    at_schema text := CASE side WHEN 'reservation' THEN 'public' WHEN 'plpgsql' THEN 'plain' ELSE side END;
    holds text := CASE kind WHEN 'room' THEN 'slot_hold' ELSE 'stock_hold' END;
    claim text := CASE kind WHEN 'room' THEN 'bench.period(n, 0)' ELSE '1' END;
BEGIN
    -- The guards of the extension refuse to truncate live holds, and nothing here needs checking.
    SET LOCAL session_replication_role = replica;
    EXECUTE format('TRUNCATE %I.%I', at_schema, holds);
    EXECUTE format($f$
        INSERT INTO %1$I.%2$I (hold_id, %3$I_id, %4$I, state, expires_at %5$s)
        SELECT 2000000 + n, 2 + n %% 999, %6$s, 'expired', now() - interval '1 day' %7$s
        FROM generate_series(1, 10000) AS n
        UNION ALL SELECT 3000000 + n, 1, %6$s, 'held', now() + interval '1 day' %7$s
        FROM generate_series(1, $1) AS n
        UNION ALL SELECT n - 50000 + CASE $4 WHEN 'room' THEN 0 ELSE 1000000 END, 1 + n %% $3, %6$s, 'held',
            now() + interval '1 day' %7$s
        FROM generate_series(50001, 50000 + $2) AS n$f$,
        at_schema, holds, kind, CASE kind WHEN 'room' THEN 'during' ELSE 'quantity' END,
        CASE side WHEN 'pattern' THEN '' ELSE ', created_at, changed_at' END, claim,
        CASE side WHEN 'pattern' THEN '' ELSE ', now(), now()' END) USING live, prepared, spread, kind;
    CALL bench.refill(side);
END $$;

-- All units are there; the row of an item has a single version, and the extension's books are right.
CREATE PROCEDURE bench.refill(side text) LANGUAGE plpgsql AS $$
BEGIN
    SET LOCAL session_replication_role = replica;
    IF side = 'reservation' THEN
        TRUNCATE public.hold_event, public.hold_run, public.hold_request;
        UPDATE public.inventory AS i SET available = 1000000000, capacity = 1000000000 + (
            SELECT count(*) FROM public.stock_hold AS h WHERE h.item_id = i.item_id AND h.state = 'held');
    ELSE
        EXECUTE format('UPDATE %I.inventory SET available = 1000000000', CASE side WHEN 'plpgsql' THEN 'plain' ELSE side END);
    END IF;
END $$;

-- Back to what reset made, where only holds were added: the ids that sequences give are above all others.
CREATE PROCEDURE bench.remove_added(side text, kind text) LANGUAGE plpgsql AS $$
BEGIN
    SET LOCAL session_replication_role = replica;
    EXECUTE format('DELETE FROM %I.%I WHERE hold_id >= 10000000',
        CASE side WHEN 'reservation' THEN 'public' WHEN 'plpgsql' THEN 'plain' ELSE side END,
        CASE kind WHEN 'room' THEN 'slot_hold' ELSE 'stock_hold' END);
    CALL bench.refill(side);
END $$;
