-- reservation 1.0: the base script. Sections in the order of their dependencies: types, tables, guards, view,
-- functions, privileges, what a dump takes along, comments.
\echo Use "CREATE EXTENSION reservation CASCADE" to load this file. \quit

-- ---------------------------------------------------------------------------------------------- claims and ids

CREATE TYPE @extschema@.hold_claim AS (
    kind text,
    resource_id bigint,
    during tstzrange,
    quantity integer
);

-- One sequence for both hold tables. It starts above the ids that imports and raw SQL may use and ends where the node
-- number begins; ids stay below 2^53, which JavaScript's numbers hold exactly.
CREATE SEQUENCE @extschema@.hold_id_seq AS bigint
    MINVALUE 4294967296 MAXVALUE 4398046511103 START 4294967296 NO CYCLE;

CREATE FUNCTION @extschema@.hold_next_id() RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'reservation_hold_next_id';

-- ---------------------------------------------------------------------------------------------- tables
-- The first columns are those of the reservation pattern, in its order; every further one fills itself.

CREATE TABLE @extschema@.room (
    room_id bigint PRIMARY KEY,
    name text NOT NULL
);

CREATE TABLE @extschema@.slot_hold (
    hold_id bigint DEFAULT @extschema@.hold_next_id() PRIMARY KEY,
    room_id bigint NOT NULL REFERENCES @extschema@.room (room_id),
    during tstzrange NOT NULL,
    state text NOT NULL,
    expires_at timestamptz NOT NULL,
    version integer NOT NULL DEFAULT 1,
    holder text,
    payment_reference text,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    CONSTRAINT slot_hold_no_overlap EXCLUDE USING gist (
        room_id WITH OPERATOR(pg_catalog.=),
        during WITH OPERATOR(pg_catalog.&&)
    ) WHERE (state OPERATOR(pg_catalog.=) ANY ('{held,pending_review,confirmed}'::pg_catalog.text[]))
);

CREATE TABLE @extschema@.inventory (
    item_id bigint PRIMARY KEY,
    available integer NOT NULL,
    capacity integer NOT NULL
);

CREATE TABLE @extschema@.stock_hold (
    hold_id bigint DEFAULT @extschema@.hold_next_id() PRIMARY KEY,
    item_id bigint NOT NULL REFERENCES @extschema@.inventory (item_id),
    quantity integer NOT NULL,
    state text NOT NULL,
    expires_at timestamptz NOT NULL,
    version integer NOT NULL DEFAULT 1,
    holder text,
    payment_reference text,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL
);

-- The oldest deadline of all, for cleanup.
CREATE INDEX slot_hold_deadline ON @extschema@.slot_hold (expires_at, hold_id)
    WHERE state OPERATOR(pg_catalog.=) 'held';
CREATE INDEX stock_hold_deadline ON @extschema@.stock_hold (expires_at, hold_id)
    WHERE state OPERATOR(pg_catalog.=) 'held';
-- The oldest deadline of an item, for reclaim; and all that occupies an item, for the capacity rule.
CREATE INDEX stock_hold_item ON @extschema@.stock_hold (item_id, state, expires_at, hold_id);
-- What waits for a person, and what may be purged, by the time since when: a confirmed room is over when its period
-- is, confirmed stock never.
CREATE INDEX slot_hold_closed ON @extschema@.slot_hold (
        state,
        (CASE WHEN state OPERATOR(pg_catalog.=) 'confirmed' THEN pg_catalog.upper(during) ELSE changed_at END),
        hold_id,
        changed_at)
    WHERE state OPERATOR(pg_catalog.<>) 'held';
CREATE INDEX stock_hold_closed ON @extschema@.stock_hold (state, changed_at, hold_id)
    WHERE state OPERATOR(pg_catalog.<>) 'held';

-- The idempotency record. ttl is NULL when the caller left it out.
CREATE TABLE @extschema@.hold_request (
    idempotency_key text PRIMARY KEY,
    claims @extschema@.hold_claim[] NOT NULL,
    ttl interval,
    holder text,
    hold_ids bigint[] NOT NULL,
    created_at timestamptz NOT NULL
);
-- A purge finds the requests of holds that it deleted.
CREATE INDEX hold_request_hold ON @extschema@.hold_request ((hold_ids[1]));
CREATE INDEX hold_request_holds ON @extschema@.hold_request USING gin (hold_ids) WITH (fastupdate = off)
    WHERE pg_catalog.cardinality(hold_ids) OPERATOR(pg_catalog.>) 1;

CREATE SEQUENCE @extschema@.hold_event_id_seq AS bigint;
CREATE TABLE @extschema@.hold_event (
    event_id bigint DEFAULT pg_catalog.nextval('@extschema@.hold_event_id_seq') PRIMARY KEY,
    hold_id bigint,
    kind text NOT NULL,
    resource_id bigint NOT NULL,
    outcome text NOT NULL,
    version_seen integer,
    state_before text,
    state_after text,
    units integer,
    at timestamptz NOT NULL,
    who text NOT NULL,
    run_id bigint,
    note text
);
CREATE INDEX hold_event_hold ON @extschema@.hold_event (hold_id);
CREATE INDEX hold_event_run ON @extschema@.hold_event (run_id);

CREATE SEQUENCE @extschema@.hold_run_id_seq AS bigint;
CREATE TABLE @extschema@.hold_run (
    run_id bigint DEFAULT pg_catalog.nextval('@extschema@.hold_run_id_seq') PRIMARY KEY,
    started_at timestamptz NOT NULL,
    finished_at timestamptz NOT NULL,
    examined integer NOT NULL,
    released integer NOT NULL,
    skipped integer NOT NULL,
    pending_review integer NOT NULL,
    failed integer NOT NULL,
    busy integer NOT NULL,
    halted boolean NOT NULL,
    reason text,
    who text NOT NULL
);

-- ---------------------------------------------------------------------------------------------- guards
-- BEFORE triggers fire by name; these are the last, so that they judge what will be stored.

CREATE FUNCTION @extschema@.hold_guard() RETURNS trigger
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'reservation_hold_guard';
CREATE FUNCTION @extschema@.hold_truncate_guard() RETURNS trigger
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'reservation_hold_truncate_guard';
CREATE FUNCTION @extschema@.inventory_guard() RETURNS trigger
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'reservation_inventory_guard';

CREATE TRIGGER zz_hold_guard BEFORE INSERT OR UPDATE OR DELETE ON @extschema@.slot_hold
    FOR EACH ROW EXECUTE FUNCTION @extschema@.hold_guard('room');
CREATE TRIGGER zz_hold_guard BEFORE INSERT OR UPDATE OR DELETE ON @extschema@.stock_hold
    FOR EACH ROW EXECUTE FUNCTION @extschema@.hold_guard('item');
CREATE TRIGGER zz_hold_truncate_guard BEFORE TRUNCATE ON @extschema@.slot_hold
    FOR EACH STATEMENT EXECUTE FUNCTION @extschema@.hold_truncate_guard('room');
CREATE TRIGGER zz_hold_truncate_guard BEFORE TRUNCATE ON @extschema@.stock_hold
    FOR EACH STATEMENT EXECUTE FUNCTION @extschema@.hold_truncate_guard('item');
CREATE TRIGGER zz_inventory_guard BEFORE INSERT OR UPDATE ON @extschema@.inventory
    FOR EACH ROW EXECUTE FUNCTION @extschema@.inventory_guard();

-- Whatever DDL a session begins with, the library is loaded by then, and with it the hook that protects the
-- extension from being dropped.
CREATE FUNCTION @extschema@.reservation_load() RETURNS event_trigger
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'reservation_load';
CREATE EVENT TRIGGER reservation_drop_guard ON ddl_command_start
    EXECUTE FUNCTION @extschema@.reservation_load();
-- Also where session_replication_role = replica silences what is enabled in the ordinary way.
ALTER EVENT TRIGGER reservation_drop_guard ENABLE ALWAYS;

-- ---------------------------------------------------------------------------------------------- all holds

CREATE VIEW @extschema@.hold AS
    SELECT hold_id, 'room'::pg_catalog.text AS kind, room_id AS resource_id, during,
           NULL::pg_catalog.int4 AS quantity, state, version, expires_at, holder, payment_reference, created_at,
           changed_at
    FROM @extschema@.slot_hold
    UNION ALL
    SELECT hold_id, 'item', item_id, NULL, quantity, state, version, expires_at, holder, payment_reference,
           created_at, changed_at
    FROM @extschema@.stock_hold;

-- ---------------------------------------------------------------------------------------------- functions
-- Nothing is overloaded: a call with untyped parameters always finds its function.

CREATE FUNCTION @extschema@.room_claim(room_id bigint, during tstzrange) RETURNS @extschema@.hold_claim
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ROW('room', room_id, during, NULL)::@extschema@.hold_claim;
CREATE FUNCTION @extschema@.stock_claim(item_id bigint, quantity integer) RETURNS @extschema@.hold_claim
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ROW('item', item_id, NULL, quantity)::@extschema@.hold_claim;

CREATE FUNCTION @extschema@.hold_acquire(claim @extschema@.hold_claim, ttl interval DEFAULT NULL,
        holder text DEFAULT NULL, idempotency_key text DEFAULT NULL) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_hold_acquire';
CREATE FUNCTION @extschema@.hold_try_acquire(claim @extschema@.hold_claim, ttl interval DEFAULT NULL,
        holder text DEFAULT NULL, idempotency_key text DEFAULT NULL) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_hold_try_acquire';
CREATE FUNCTION @extschema@.hold_acquire_all(claims @extschema@.hold_claim[], ttl interval DEFAULT NULL,
        holder text DEFAULT NULL, idempotency_key text DEFAULT NULL) RETURNS bigint[]
    LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_hold_acquire_all';
CREATE FUNCTION @extschema@.hold_try_acquire_all(claims @extschema@.hold_claim[], ttl interval DEFAULT NULL,
        holder text DEFAULT NULL, idempotency_key text DEFAULT NULL) RETURNS bigint[]
    LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_hold_try_acquire_all';

CREATE FUNCTION @extschema@.hold_get(hold_id bigint, holder text DEFAULT NULL) RETURNS @extschema@.hold
    LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_hold_get';
CREATE FUNCTION @extschema@.hold_confirm(hold_id bigint, version integer DEFAULT NULL, holder text DEFAULT NULL)
        RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_hold_confirm';
CREATE FUNCTION @extschema@.hold_try_confirm(hold_id bigint, version integer DEFAULT NULL, holder text DEFAULT NULL)
        RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_hold_try_confirm';
CREATE FUNCTION @extschema@.hold_cancel(hold_id bigint, version integer DEFAULT NULL, holder text DEFAULT NULL)
        RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_hold_cancel';
CREATE FUNCTION @extschema@.hold_extend(hold_id bigint, ttl interval DEFAULT NULL, version integer DEFAULT NULL,
        holder text DEFAULT NULL) RETURNS timestamptz
    LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_hold_extend';
CREATE FUNCTION @extschema@.hold_confirm_all(hold_ids bigint[], holder text DEFAULT NULL) RETURNS text[]
    LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_hold_confirm_all';
CREATE FUNCTION @extschema@.hold_cancel_all(hold_ids bigint[], holder text DEFAULT NULL) RETURNS text[]
    LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_hold_cancel_all';
CREATE FUNCTION @extschema@.hold_extend_all(hold_ids bigint[], ttl interval DEFAULT NULL, holder text DEFAULT NULL)
        RETURNS timestamptz[]
    LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_hold_extend_all';
CREATE FUNCTION @extschema@.hold_begin_payment(hold_id bigint, reference text, version integer DEFAULT NULL,
        holder text DEFAULT NULL) RETURNS integer
    LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_hold_begin_payment';
CREATE FUNCTION @extschema@.hold_fail_payment(hold_id bigint, reference text, holder text DEFAULT NULL)
        RETURNS integer
    LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_hold_fail_payment';
CREATE FUNCTION @extschema@.hold_resolve(hold_id bigint, outcome text, note text DEFAULT NULL,
        version integer DEFAULT NULL) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_hold_resolve';

CREATE FUNCTION @extschema@.inventory_adjust(item_id bigint, delta integer, note text DEFAULT NULL) RETURNS integer
    LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_inventory_adjust';

CREATE FUNCTION @extschema@.room_availability(room_id bigint, during tstzrange) RETURNS SETOF tstzrange
    LANGUAGE c STABLE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_room_availability';
CREATE FUNCTION @extschema@.available_rooms(during tstzrange) RETURNS SETOF bigint
    LANGUAGE c STABLE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_available_rooms';
CREATE FUNCTION @extschema@.stock_availability(item_id bigint) RETURNS integer
    LANGUAGE c STABLE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_stock_availability';

CREATE FUNCTION @extschema@.reservation_audit(OUT object text, OUT problem text, OUT detail text)
        RETURNS SETOF record
    LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_audit';

CREATE FUNCTION @extschema@.hold_reap(max_holds integer DEFAULT 1000, max_skipped_share float8 DEFAULT 0.5,
        max_review_share float8 DEFAULT 0.5, min_sample integer DEFAULT 20,
        OUT examined integer, OUT released integer, OUT skipped integer, OUT pending_review integer,
        OUT failed integer, OUT busy integer, OUT halted boolean, OUT reason text)
    LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_hold_reap';
-- It commits, so it can neither run as its owner nor set anything: hold_reap does.
CREATE PROCEDURE @extschema@.hold_reap_all(batch integer DEFAULT 1000)
    LANGUAGE c
    AS 'MODULE_PATHNAME', 'reservation_hold_reap_all';

CREATE FUNCTION @extschema@.reservation_status(OUT kind text, OUT live bigint, OUT late bigint, OUT overdue bigint,
        OUT in_flight bigint, OUT under_review bigint, OUT oldest_overdue interval, OUT oldest_review interval,
        OUT last_run_id bigint, OUT last_run_at timestamptz, OUT last_run_halted boolean, OUT last_run_reason text)
        RETURNS SETOF record
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 2 SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_status';
CREATE FUNCTION @extschema@.hold_purge(older_than interval, max_rows integer DEFAULT 10000,
        sold boolean DEFAULT false) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'reservation_hold_purge';

-- ---------------------------------------------------------------------------------------------- privileges
-- Tables, sequences and the view are closed by default; functions are not.

DO $privileges$
DECLARE
    f pg_catalog.regprocedure;
BEGIN
    FOR f IN
        SELECT p.oid::pg_catalog.regprocedure
        FROM pg_catalog.pg_depend AS d
        JOIN pg_catalog.pg_extension AS e
            ON d.refobjid OPERATOR(pg_catalog.=) e.oid AND e.extname OPERATOR(pg_catalog.=) 'reservation'
        JOIN pg_catalog.pg_proc AS p ON p.oid OPERATOR(pg_catalog.=) d.objid
        WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
          AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
          AND p.proname OPERATOR(pg_catalog.<>) ALL ('{room_claim,stock_claim}'::pg_catalog.name[])
    LOOP
        EXECUTE pg_catalog.format('REVOKE ALL ON ROUTINE %s FROM PUBLIC', f);
    END LOOP;
END
$privileges$;

-- ---------------------------------------------------------------------------------------------- dump

SELECT pg_catalog.pg_extension_config_dump('@extschema@.room', '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.inventory', '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.slot_hold', '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.stock_hold', '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.hold_request', '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.hold_event', '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.hold_run', '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.hold_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.hold_event_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.hold_run_id_seq', '');

-- ---------------------------------------------------------------------------------------------- comments

COMMENT ON TYPE @extschema@.hold_claim IS 'What is asked for: a room and a period, or an item and a quantity';
COMMENT ON TABLE @extschema@.room IS 'Rooms: resources that one holder can have at any instant';
COMMENT ON COLUMN @extschema@.room.name IS 'For people; the extension does not read it';
COMMENT ON TABLE @extschema@.inventory IS 'Items: pools of interchangeable units';
COMMENT ON COLUMN @extschema@.inventory.available IS 'Units that no hold occupies';
COMMENT ON COLUMN @extschema@.inventory.capacity IS 'Available units and those of all holds that occupy them';
COMMENT ON TABLE @extschema@.slot_hold IS 'Holds of rooms for a period';
COMMENT ON COLUMN @extschema@.slot_hold.during IS 'The period that is claimed, [) with finite bounds';
COMMENT ON COLUMN @extschema@.slot_hold.state IS 'held, confirmed, cancelled, expired or pending_review';
COMMENT ON COLUMN @extschema@.slot_hold.expires_at IS 'The deadline; the instant itself is expired';
COMMENT ON COLUMN @extschema@.slot_hold.version IS 'Counts the changes of the row, from 1';
COMMENT ON COLUMN @extschema@.slot_hold.holder IS 'Who holds it, in the words of the application';
COMMENT ON COLUMN @extschema@.slot_hold.payment_reference IS 'The external call that is in flight';
COMMENT ON TABLE @extschema@.stock_hold IS 'Holds of units of an item';
COMMENT ON COLUMN @extschema@.stock_hold.quantity IS 'The units that are claimed';
COMMENT ON COLUMN @extschema@.stock_hold.state IS 'held, confirmed, cancelled, expired or pending_review';
COMMENT ON COLUMN @extschema@.stock_hold.expires_at IS 'The deadline; the instant itself is expired';
COMMENT ON COLUMN @extschema@.stock_hold.version IS 'Counts the changes of the row, from 1';
COMMENT ON COLUMN @extschema@.stock_hold.holder IS 'Who holds it, in the words of the application';
COMMENT ON COLUMN @extschema@.stock_hold.payment_reference IS 'The external call that is in flight';
COMMENT ON TABLE @extschema@.hold_request IS 'Idempotency: requests by key, as they were made, with what they got';
COMMENT ON TABLE @extschema@.hold_event IS 'What was decided about a hold, on which version, by whom';
COMMENT ON COLUMN @extschema@.hold_event.version_seen IS 'The version of the row that the decision was made on';
COMMENT ON COLUMN @extschema@.hold_event.run_id IS 'The cleanup run; NULL for an interactive call';
COMMENT ON TABLE @extschema@.hold_run IS 'Cleanup runs that found something or halted';
COMMENT ON SEQUENCE @extschema@.hold_id_seq IS 'The lower 42 bits of hold ids';
COMMENT ON SEQUENCE @extschema@.hold_event_id_seq IS 'Ids of events';
COMMENT ON SEQUENCE @extschema@.hold_run_id_seq IS 'Ids of cleanup runs';
COMMENT ON VIEW @extschema@.hold IS 'Holds of every kind';
COMMENT ON FUNCTION @extschema@.hold_next_id() IS 'The id of the next hold: node number and sequence';
COMMENT ON FUNCTION @extschema@.hold_guard() IS 'Row trigger: what every writer of a hold is bound to';
COMMENT ON FUNCTION @extschema@.hold_truncate_guard() IS 'Statement trigger: holds that occupy capacity stay';
COMMENT ON FUNCTION @extschema@.inventory_guard() IS 'Row trigger: 0 <= available <= capacity, and capacity agrees with the holds';
COMMENT ON FUNCTION @extschema@.reservation_load() IS 'Event trigger: loads the library, which protects the extension from being dropped';
COMMENT ON EVENT TRIGGER reservation_drop_guard IS 'Loads the library before any DDL, for drop protection';
COMMENT ON FUNCTION @extschema@.room_claim(bigint, tstzrange) IS 'A claim of a room for a period';
COMMENT ON FUNCTION @extschema@.stock_claim(bigint, integer) IS 'A claim of units of an item';
COMMENT ON FUNCTION @extschema@.hold_acquire(@extschema@.hold_claim, interval, text, text) IS 'Takes a hold and returns its id; raises when capacity is missing';
COMMENT ON FUNCTION @extschema@.hold_try_acquire(@extschema@.hold_claim, interval, text, text) IS 'Takes a hold and returns its id; NULL when capacity is missing';
COMMENT ON FUNCTION @extschema@.hold_acquire_all(@extschema@.hold_claim[], interval, text, text) IS 'Takes a hold for each claim, or none; raises when capacity is missing';
COMMENT ON FUNCTION @extschema@.hold_try_acquire_all(@extschema@.hold_claim[], interval, text, text) IS 'Takes a hold for each claim, or none; NULL when capacity is missing';
COMMENT ON FUNCTION @extschema@.hold_get(bigint, text) IS 'The hold, or NULL';
COMMENT ON FUNCTION @extschema@.hold_confirm(bigint, integer, text) IS 'Confirms a live hold; raises unless it ends confirmed';
COMMENT ON FUNCTION @extschema@.hold_try_confirm(bigint, integer, text) IS 'Confirms a hold if it is live and returns its state afterwards';
COMMENT ON FUNCTION @extschema@.hold_cancel(bigint, integer, text) IS 'Cancels a hold and gives its capacity back';
COMMENT ON FUNCTION @extschema@.hold_extend(bigint, interval, integer, text) IS 'Moves the deadline of a live hold forward and returns it';
COMMENT ON FUNCTION @extschema@.hold_confirm_all(bigint[], text) IS 'Confirms all holds, or none';
COMMENT ON FUNCTION @extschema@.hold_cancel_all(bigint[], text) IS 'Cancels all holds, or none';
COMMENT ON FUNCTION @extschema@.hold_extend_all(bigint[], interval, text) IS 'Extends all holds, or none';
COMMENT ON FUNCTION @extschema@.hold_begin_payment(bigint, text, integer, text) IS 'Marks an external call as in flight; commit before the call goes out';
COMMENT ON FUNCTION @extschema@.hold_fail_payment(bigint, text, text) IS 'Clears the mark: the external call is known to have failed';
COMMENT ON FUNCTION @extschema@.hold_resolve(bigint, text, text, integer) IS 'Ends a review: confirmed or cancelled';
COMMENT ON FUNCTION @extschema@.inventory_adjust(bigint, integer, text) IS 'Restocks or writes off: moves available and capacity together';
COMMENT ON FUNCTION @extschema@.room_availability(bigint, tstzrange) IS 'The gaps of a room within a period';
COMMENT ON FUNCTION @extschema@.available_rooms(tstzrange) IS 'The rooms that are free for all of a period';
COMMENT ON FUNCTION @extschema@.stock_availability(bigint) IS 'The units of an item that can be had';
COMMENT ON FUNCTION @extschema@.reservation_audit() IS 'What is wrong with the data, what guards them, and the clocks; no row when all is well';
COMMENT ON FUNCTION @extschema@.hold_reap(integer, float8, float8, integer) IS 'One cleanup run over overdue holds, oldest first';
COMMENT ON PROCEDURE @extschema@.hold_reap_all(integer) IS 'Cleanup runs until nothing is overdue, one commit each';
COMMENT ON FUNCTION @extschema@.reservation_status() IS 'Holds by what they wait for, the lag of cleanup, and its last run; one row a kind';
COMMENT ON FUNCTION @extschema@.hold_purge(interval, integer, boolean) IS 'Deletes holds that have been over for so long, with their history';
