-- The best PL/pgSQL that we know of the same protocol, in a schema of its own: the declarative rules, the lock of the
-- resource before anything else, one reading of the clock behind that lock and given to SQL as a value, reclaim only
-- when it is needed and only what is needed, capacity given back by the conditional transition alone.
--
-- What speed asked for: states and quantities are domains, since a CHECK is parsed again at every statement; lock and
-- insert are one statement where that is faster; one function a kind, so that none looks for a hold in two tables. It
-- has no row triggers: against raw SQL it keeps less than the extension does.
CREATE SCHEMA plain;

CREATE DOMAIN plain.hold_state AS text
    CHECK (VALUE IN ('held', 'confirmed', 'cancelled', 'expired', 'pending_review'));
CREATE DOMAIN plain.units AS integer CHECK (VALUE > 0);
CREATE DOMAIN plain.counter AS integer CHECK (VALUE >= 0);
CREATE DOMAIN plain.period AS tstzrange CHECK (
    NOT isempty(VALUE) AND NOT lower_inf(VALUE) AND NOT upper_inf(VALUE) AND lower_inc(VALUE) AND NOT upper_inc(VALUE)
    AND isfinite(lower(VALUE)) AND isfinite(upper(VALUE)));

CREATE SEQUENCE plain.hold_id_seq START 10000000;

CREATE TABLE plain.room (
    room_id bigint PRIMARY KEY,
    name text NOT NULL
);
CREATE TABLE plain.slot_hold (
    hold_id bigint DEFAULT nextval('plain.hold_id_seq') PRIMARY KEY,
    room_id bigint NOT NULL REFERENCES plain.room (room_id),
    during plain.period NOT NULL,
    state plain.hold_state NOT NULL,
    expires_at timestamptz NOT NULL,
    version integer NOT NULL DEFAULT 1,
    holder text,
    payment_reference text,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    CONSTRAINT slot_hold_no_overlap EXCLUDE USING gist (room_id WITH =, during WITH &&)
        WHERE (state IN ('held', 'pending_review', 'confirmed'))
);
CREATE INDEX slot_hold_deadline ON plain.slot_hold (expires_at, hold_id) WHERE state = 'held';

CREATE TABLE plain.inventory (
    item_id bigint PRIMARY KEY,
    available plain.counter NOT NULL
);
CREATE TABLE plain.stock_hold (
    hold_id bigint DEFAULT nextval('plain.hold_id_seq') PRIMARY KEY,
    item_id bigint NOT NULL REFERENCES plain.inventory (item_id),
    quantity plain.units NOT NULL,
    state plain.hold_state NOT NULL,
    expires_at timestamptz NOT NULL,
    version integer NOT NULL DEFAULT 1,
    holder text,
    payment_reference text,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL
);
CREATE INDEX stock_hold_deadline ON plain.stock_hold (expires_at, hold_id) WHERE state = 'held';
CREATE INDEX stock_hold_item ON plain.stock_hold (item_id, expires_at, hold_id) WHERE state = 'held';

CREATE FUNCTION plain.check_ttl(ttl interval) RETURNS interval LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF ttl <= interval '0' OR ttl > interval '1 day' THEN
        RAISE EXCEPTION 'invalid ttl' USING ERRCODE = '22023';
    END IF;
    RETURN ttl;
END $$;

-- ---------------------------------------------------------------------------------------------- acquire

CREATE FUNCTION plain.acquire_item(p_item bigint, p_quantity integer, p_ttl interval DEFAULT NULL,
        p_holder text DEFAULT NULL) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_ttl interval := '10 minutes';
    v_hold bigint;
    v_now timestamptz;
    v_available integer;
    v_missing integer;
    v_oldest bigint[];
BEGIN
    IF p_item IS NULL OR p_quantity IS NULL THEN
        RAISE EXCEPTION 'an argument is null' USING ERRCODE = '22004';
    ELSIF p_quantity <= 0 THEN
        RAISE EXCEPTION 'invalid quantity' USING ERRCODE = '22023';
    END IF;
    IF p_ttl IS NOT NULL THEN
        v_ttl := plain.check_ttl(p_ttl);
    END IF;

    -- RETURNING is evaluated when the row is locked, so this reading of the clock is not older than the lock.
    WITH taken AS (
        UPDATE plain.inventory SET available = available - p_quantity
        WHERE item_id = p_item AND available >= p_quantity
        RETURNING clock_timestamp() AS at
    )
    INSERT INTO plain.stock_hold (item_id, quantity, state, expires_at, created_at, changed_at, holder)
    SELECT p_item, p_quantity, 'held', at + v_ttl, at, at, p_holder FROM taken
    RETURNING hold_id INTO v_hold;
    IF v_hold IS NOT NULL THEN
        RETURN v_hold;
    END IF;

    SELECT available INTO v_available FROM plain.inventory WHERE item_id = p_item FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'item % does not exist', p_item USING ERRCODE = '23503';
    END IF;
    v_now := clock_timestamp();
    v_missing := p_quantity - v_available;
    SELECT array_agg(hold_id) INTO v_oldest FROM (
        SELECT hold_id, sum(quantity) OVER (ORDER BY expires_at, hold_id) - quantity AS before,
               sum(quantity) OVER () AS total
        FROM (SELECT hold_id, quantity, expires_at FROM plain.stock_hold
              WHERE item_id = p_item AND state = 'held' AND payment_reference IS NULL AND expires_at <= v_now
              ORDER BY expires_at, hold_id LIMIT greatest(v_missing, 0)) AS oldest) AS running
    WHERE before < v_missing AND total >= v_missing;
    IF v_missing > 0 AND v_oldest IS NULL THEN
        RAISE EXCEPTION 'item % has too few units available', p_item
            USING ERRCODE = '23514', CONSTRAINT = 'inventory_available_check';
    END IF;
    WITH released AS (
        UPDATE plain.stock_hold SET state = 'expired', version = version + 1, changed_at = v_now
        WHERE hold_id = ANY (v_oldest) AND item_id = p_item AND state = 'held' AND payment_reference IS NULL
          AND expires_at <= v_now
        RETURNING quantity
    ), taken AS (
        UPDATE plain.inventory
        SET available = available + (SELECT coalesce(sum(quantity), 0) FROM released)::integer - p_quantity
        WHERE item_id = p_item
        RETURNING item_id
    )
    INSERT INTO plain.stock_hold (item_id, quantity, state, expires_at, created_at, changed_at, holder)
    SELECT item_id, p_quantity, 'held', v_now + v_ttl, v_now, v_now, p_holder FROM taken
    RETURNING hold_id INTO v_hold;
    RETURN v_hold;
END $$;

CREATE FUNCTION plain.acquire_room(p_room bigint, p_during tstzrange, p_ttl interval DEFAULT NULL,
        p_holder text DEFAULT NULL) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_ttl interval := '10 minutes';
    v_hold bigint;
    v_now timestamptz;
BEGIN
    IF p_room IS NULL OR p_during IS NULL THEN
        RAISE EXCEPTION 'an argument is null' USING ERRCODE = '22004';
    END IF;
    IF p_ttl IS NOT NULL THEN
        v_ttl := plain.check_ttl(p_ttl);
    END IF;

    PERFORM FROM plain.room WHERE room_id = p_room FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'room % does not exist', p_room USING ERRCODE = '23503';
    END IF;
    v_now := clock_timestamp();
    INSERT INTO plain.slot_hold (room_id, during, state, expires_at, created_at, changed_at, holder)
    VALUES (p_room, p_during, 'held', v_now + v_ttl, v_now, v_now, p_holder)
    ON CONFLICT ON CONSTRAINT slot_hold_no_overlap DO NOTHING
    RETURNING hold_id INTO v_hold;
    IF v_hold IS NOT NULL THEN
        RETURN v_hold;
    END IF;

    UPDATE plain.slot_hold SET state = 'expired', version = version + 1, changed_at = v_now
    WHERE room_id = p_room AND during && p_during AND state IN ('held', 'pending_review', 'confirmed')
      AND state = 'held' AND payment_reference IS NULL AND expires_at <= v_now
      AND NOT EXISTS (
          SELECT FROM plain.slot_hold AS other
          WHERE other.room_id = p_room AND other.during && p_during
            AND other.state IN ('held', 'pending_review', 'confirmed')
            AND (other.state <> 'held' OR other.payment_reference IS NOT NULL OR other.expires_at > v_now));
    INSERT INTO plain.slot_hold (room_id, during, state, expires_at, created_at, changed_at, holder)
    VALUES (p_room, p_during, 'held', v_now + v_ttl, v_now, v_now, p_holder)
    ON CONFLICT ON CONSTRAINT slot_hold_no_overlap DO NOTHING
    RETURNING hold_id INTO v_hold;
    IF v_hold IS NULL THEN
        RAISE EXCEPTION 'room % is not free in the requested period', p_room
            USING ERRCODE = '23P01', CONSTRAINT = 'slot_hold_no_overlap';
    END IF;
    RETURN v_hold;
END $$;

-- ---------------------------------------------------------------------------------------------- confirm and cancel
-- The unlocked columns of the first statement are good enough to write by, since the write compares the version; what
-- is answered without a write is read again under the lock. The write goes by the primary key and names nothing that a
-- partial index has, so that no statistics can lead it through all live holds of a resource.

-- Why a transition was refused.
CREATE FUNCTION plain.refuse(p_hold bigint, p_state text, p_wanted text, p_other_version boolean)
    RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF p_state = p_wanted OR p_state = 'expired' AND p_wanted = 'cancelled' THEN
        RETURN p_state;
    ELSIF p_state = 'cancelled' THEN
        RAISE EXCEPTION 'hold % is cancelled', p_hold USING ERRCODE = 'RV002';
    ELSIF p_state = 'confirmed' THEN
        RAISE EXCEPTION 'hold % is confirmed', p_hold USING ERRCODE = 'RV003';
    ELSIF p_state = 'pending_review' THEN
        RAISE EXCEPTION 'hold % is under review', p_hold USING ERRCODE = 'RV004';
    ELSIF p_other_version THEN
        RAISE EXCEPTION 'hold % has another version', p_hold USING ERRCODE = 'RV005';
    ELSIF p_wanted = 'cancelled' THEN
        RAISE EXCEPTION 'a payment of hold % is in flight', p_hold USING ERRCODE = 'RV007';
    END IF;
    RAISE EXCEPTION 'hold % has expired', p_hold USING ERRCODE = 'RV001';
END $$;

CREATE FUNCTION plain.confirm_item(p_hold bigint, p_version integer DEFAULT NULL, p_holder text DEFAULT NULL)
    RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_state text;
    v_version integer;
    v_expires_at timestamptz;
    v_now timestamptz;
BEGIN
    SELECT h.state, h.version, h.expires_at INTO v_state, v_version, v_expires_at
    FROM plain.inventory AS r JOIN plain.stock_hold AS h USING (item_id)
    WHERE h.hold_id = p_hold AND (p_holder IS NULL OR h.holder = p_holder)
    FOR NO KEY UPDATE OF r;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'hold % does not exist', p_hold USING ERRCODE = 'P0002';
    END IF;
    v_now := clock_timestamp();
    FOR attempt IN 1 .. 2 LOOP
        IF v_state = 'held' AND v_expires_at > v_now AND (p_version IS NULL OR v_version = p_version) THEN
            UPDATE plain.stock_hold SET state = 'confirmed', version = version + 1, changed_at = v_now
            WHERE hold_id = p_hold AND version = v_version;
            IF FOUND THEN
                RETURN 'confirmed';
            END IF;
        END IF;
        SELECT state, version, expires_at INTO v_state, v_version, v_expires_at FROM plain.stock_hold WHERE hold_id = p_hold;
    END LOOP;
    RETURN plain.refuse(p_hold, v_state, 'confirmed', v_version <> p_version);
END $$;

CREATE FUNCTION plain.confirm_room(p_hold bigint, p_version integer DEFAULT NULL, p_holder text DEFAULT NULL)
    RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_state text;
    v_version integer;
    v_expires_at timestamptz;
    v_now timestamptz;
BEGIN
    SELECT h.state, h.version, h.expires_at INTO v_state, v_version, v_expires_at
    FROM plain.room AS r JOIN plain.slot_hold AS h USING (room_id)
    WHERE h.hold_id = p_hold AND (p_holder IS NULL OR h.holder = p_holder)
    FOR NO KEY UPDATE OF r;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'hold % does not exist', p_hold USING ERRCODE = 'P0002';
    END IF;
    v_now := clock_timestamp();
    FOR attempt IN 1 .. 2 LOOP
        IF v_state = 'held' AND v_expires_at > v_now AND (p_version IS NULL OR v_version = p_version) THEN
            UPDATE plain.slot_hold SET state = 'confirmed', version = version + 1, changed_at = v_now
            WHERE hold_id = p_hold AND version = v_version;
            IF FOUND THEN
                RETURN 'confirmed';
            END IF;
        END IF;
        SELECT state, version, expires_at INTO v_state, v_version, v_expires_at FROM plain.slot_hold WHERE hold_id = p_hold;
    END LOOP;
    RETURN plain.refuse(p_hold, v_state, 'confirmed', v_version <> p_version);
END $$;

CREATE FUNCTION plain.cancel_item(p_hold bigint, p_version integer DEFAULT NULL, p_holder text DEFAULT NULL)
    RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_state text;
    v_version integer;
    v_reference text;
    v_now timestamptz;
BEGIN
    SELECT h.state, h.version, h.payment_reference INTO v_state, v_version, v_reference
    FROM plain.inventory AS r JOIN plain.stock_hold AS h USING (item_id)
    WHERE h.hold_id = p_hold AND (p_holder IS NULL OR h.holder = p_holder)
    FOR NO KEY UPDATE OF r;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'hold % does not exist', p_hold USING ERRCODE = 'P0002';
    END IF;
    v_now := clock_timestamp();
    FOR attempt IN 1 .. 2 LOOP
        IF v_state = 'held' AND v_reference IS NULL AND (p_version IS NULL OR v_version = p_version) THEN
            WITH released AS (
                UPDATE plain.stock_hold SET state = 'cancelled', version = version + 1, changed_at = v_now
                WHERE hold_id = p_hold AND version = v_version
                RETURNING item_id, quantity
            )
            UPDATE plain.inventory AS i SET available = i.available + r.quantity
            FROM released AS r WHERE i.item_id = r.item_id;
            IF FOUND THEN
                RETURN 'cancelled';
            END IF;
        END IF;
        SELECT state, version, payment_reference INTO v_state, v_version, v_reference FROM plain.stock_hold WHERE hold_id = p_hold;
    END LOOP;
    RETURN plain.refuse(p_hold, v_state, 'cancelled', v_version <> p_version);
END $$;

CREATE FUNCTION plain.cancel_room(p_hold bigint, p_version integer DEFAULT NULL, p_holder text DEFAULT NULL)
    RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_state text;
    v_version integer;
    v_reference text;
    v_now timestamptz;
BEGIN
    SELECT h.state, h.version, h.payment_reference INTO v_state, v_version, v_reference
    FROM plain.room AS r JOIN plain.slot_hold AS h USING (room_id)
    WHERE h.hold_id = p_hold AND (p_holder IS NULL OR h.holder = p_holder)
    FOR NO KEY UPDATE OF r;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'hold % does not exist', p_hold USING ERRCODE = 'P0002';
    END IF;
    v_now := clock_timestamp();
    FOR attempt IN 1 .. 2 LOOP
        IF (v_state = 'held' AND v_reference IS NULL OR v_state = 'confirmed') AND (p_version IS NULL OR v_version = p_version) THEN
            UPDATE plain.slot_hold SET state = 'cancelled', version = version + 1, changed_at = v_now
            WHERE hold_id = p_hold AND version = v_version;
            IF FOUND THEN
                RETURN 'cancelled';
            END IF;
        END IF;
        SELECT state, version, payment_reference INTO v_state, v_version, v_reference FROM plain.slot_hold WHERE hold_id = p_hold;
    END LOOP;
    RETURN plain.refuse(p_hold, v_state, 'cancelled', v_version <> p_version);
END $$;
