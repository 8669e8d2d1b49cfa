-- Whether a backend keeps memory: each case calls one function many times in one session, and what the backend's memory
-- contexts and its private pages take is compared before and after.
CREATE FUNCTION bench.context_bytes() RETURNS bigint LANGUAGE sql VOLATILE
    RETURN (SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts);
CREATE FUNCTION bench.private_bytes() RETURNS bigint LANGUAGE sql VOLATILE
    RETURN substring(pg_read_file('/proc/self/status') FROM 'RssAnon:\s+(\d+) kB')::bigint * 1024;

-- Item 1 has units, item 2 has none; room 1 is taken in period 1; hold 1000001 is of item 1.
CREATE TABLE bench.memory_case (name text PRIMARY KEY, body text);
INSERT INTO bench.memory_case VALUES
    ('hold_acquire, item', 'r := public.hold_acquire(public.stock_claim(1, 1));'),
    ('hold_acquire, item, many', 'r := public.hold_acquire(public.stock_claim(3 + n % 900, 1));'),
    ('hold_acquire, room', 'r := public.hold_acquire(public.room_claim(3 + n % 900, bench.period(n, 0)));'),
    ('hold_acquire, all arguments',
        $$r := public.hold_acquire(public.stock_claim(1, 1), '5 min', 'somebody', 'key ' || n);$$),
    ('hold_acquire, known key', $$r := public.hold_acquire(public.stock_claim(1, 1), '5 min', 'somebody', 'key');$$),
    ('hold_try_acquire, sold out', 'r := public.hold_try_acquire(public.stock_claim(2, 1));'),
    ('hold_try_acquire, not free', 'r := public.hold_try_acquire(public.room_claim(1, bench.period(1, 0)));'),
    ('hold_try_acquire_all, refused after one',
        'r := public.hold_try_acquire_all(ARRAY[public.stock_claim(1, 1), public.stock_claim(2, 1)]);'),
    ('hold_acquire_all, two kinds', $$r := public.hold_acquire_all(
        ARRAY[public.room_claim(3 + n % 900, bench.period(n, 0)), public.stock_claim(1, 1)]);$$),
    ('hold_get', 'r := public.hold_get(1000001);'),
    ('acquire, confirm', 'r := public.hold_confirm(public.hold_acquire(public.stock_claim(1, 1)));'),
    ('acquire, cancel', 'r := public.hold_cancel(public.hold_acquire(public.stock_claim(1, 1)));'),
    ('acquire, confirm, cancel a room', $$
        h := public.hold_acquire(public.room_claim(3 + n % 900, bench.period(n, 0)));
        r := public.hold_confirm(h);
        r := public.hold_cancel(h);$$),
    ('hold_confirm_all, hold_cancel_all, hold_extend_all', $$
        h := public.hold_acquire(public.stock_claim(1, 1));
        r := public.hold_extend_all(ARRAY[h, h], '20 min');
        r := public.hold_confirm_all(ARRAY[h, h]);
        r := public.hold_cancel_all(ARRAY[public.hold_acquire(public.stock_claim(1, 1))]);$$),
    ('hold_try_confirm, none', 'r := public.hold_try_confirm(77);'),
    ('hold_extend', $$r := public.hold_extend(1000001, '10 min');$$),
    ('hold_begin_payment, hold_fail_payment', $$
        r := public.hold_begin_payment(1000001, 'payment');
        r := public.hold_fail_payment(1000001, 'payment');$$),
    ('inventory_adjust', 'r := public.inventory_adjust(1, 1);'),
    ('hold_reap, nothing to do', 'PERFORM public.hold_reap();'),
    ('hold_reap, one overdue', $$
        INSERT INTO public.stock_hold (item_id, quantity, state, expires_at)
        VALUES (4, 1, 'held', clock_timestamp() - interval '1 s');
        UPDATE public.inventory SET capacity = capacity + 1 WHERE item_id = 4;
        PERFORM public.hold_reap();$$),
    ('acquire with a reclaim', $$
        INSERT INTO public.stock_hold (item_id, quantity, state, expires_at)
        VALUES (2, 1, 'held', clock_timestamp() - interval '1 s');
        UPDATE public.inventory SET capacity = capacity + 1 WHERE item_id = 2;
        r := public.hold_confirm(public.hold_acquire(public.stock_claim(2, 1)));$$),
    ('error: sold out', 'r := public.hold_acquire(public.stock_claim(2, 1));'),
    ('error: no such item', 'r := public.hold_acquire(public.stock_claim(0, 1));'),
    ('error: not free', 'r := public.hold_acquire(public.room_claim(1, bench.period(1, 0)));'),
    ('error: invalid argument', $$r := public.hold_acquire(public.stock_claim(1, 1), '0');$$),
    ('error: no such hold', 'r := public.hold_confirm(77);'),
    ('error: another version', 'r := public.hold_confirm(1000001, 77);'),
    ('error: illegal raw write', 'DELETE FROM public.stock_hold WHERE hold_id = 1000001;');

CREATE FUNCTION bench.prepare_memory_cases() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    c bench.memory_case;
BEGIN
    FOR c IN SELECT * FROM bench.memory_case LOOP
        IF c.name LIKE 'error%' THEN
            c.body := format($f$
                BEGIN
                    %s
                    RAISE EXCEPTION 'there was no error' USING ERRCODE = 'internal_error';
                EXCEPTION WHEN internal_error THEN RAISE; WHEN OTHERS THEN NULL;
                END;$f$, c.body);
        END IF;
        EXECUTE format('CREATE FUNCTION bench.%I(n bigint) RETURNS void LANGUAGE plpgsql AS %L', c.name,
            format('DECLARE r text; h bigint; BEGIN %s END', c.body));
    END LOOP;
END $$;
DO $$ BEGIN PERFORM bench.prepare_memory_cases(); END $$;
