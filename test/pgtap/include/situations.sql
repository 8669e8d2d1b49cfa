-- Shared by the files about the state table: a hold in any situation, made by a raw insert with a fitting deadline.
-- Needs reservation.expiry_grace = 1h.
CREATE SEQUENCE resource_ids START 1001;
CREATE SEQUENCE import_ids START 501;  -- below 2^32, where imports may be

-- Makes a resource with one hold of three units (or a room with one hold) and returns the hold's id, or an id that
-- is no hold's for the situation "no such hold".
CREATE FUNCTION make_hold(kind text, situation text, holder text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql AS $body$
DECLARE
    resource bigint := nextval('resource_ids');
    id bigint := nextval('import_ids');
    in_flight boolean := situation LIKE '%, in flight' OR situation = 'pending_review';
    hold_state text := CASE WHEN situation ~ '^(live|late|overdue)' THEN 'held' ELSE situation END;
    -- The deadline of a hold that is no longer held says nothing.
    deadline timestamptz := clock_timestamp()
        + CASE WHEN situation ~ '^live' THEN interval '10 min'
               WHEN situation ~ '^late' THEN interval '-30 min'
               ELSE interval '-2 hours' END;
BEGIN
    IF situation = 'no such hold' THEN
        RETURN id;
    ELSIF kind = 'room' THEN
        INSERT INTO room VALUES (resource, 'room ' || resource);
        INSERT INTO slot_hold (hold_id, room_id, during, state, expires_at, version, holder, payment_reference,
                               created_at, changed_at)
        VALUES (id, resource, '[2030-01-01, 2030-01-02)', hold_state, deadline, 7, make_hold.holder,
                CASE WHEN in_flight THEN 'pay-1' END, deadline - interval '10 min', deadline - interval '10 min');
    ELSE
        INSERT INTO inventory (item_id, available, capacity)
        VALUES (resource, 5, CASE WHEN hold_state IN ('cancelled', 'expired') THEN 5 ELSE 8 END);
        INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at, version, holder, payment_reference,
                                created_at, changed_at)
        VALUES (id, resource, 3, hold_state, deadline, 7, make_hold.holder,
                CASE WHEN in_flight THEN 'pay-1' END, deadline - interval '10 min', deadline - interval '10 min');
    END IF;
    RETURN id;
END
$body$;

-- The call of a column of the state table, on a hold.
CREATE FUNCTION call_of(command text, id bigint) RETURNS text
LANGUAGE sql AS $body$
    SELECT format(CASE command
        WHEN 'confirm' THEN 'SELECT hold_confirm(%s)'
        WHEN 'try_confirm' THEN 'SELECT hold_try_confirm(%s)'
        WHEN 'cancel' THEN 'SELECT hold_cancel(%s)'
        WHEN 'extend' THEN 'SELECT hold_extend(%s, ''45 min'')'
        WHEN 'begin_payment, same' THEN 'SELECT hold_begin_payment(%s, ''pay-1'')'
        WHEN 'begin_payment, other' THEN 'SELECT hold_begin_payment(%s, ''pay-2'')'
        WHEN 'fail_payment, same' THEN 'SELECT hold_fail_payment(%s, ''pay-1'')'
        WHEN 'fail_payment, other' THEN 'SELECT hold_fail_payment(%s, ''pay-2'')'
        WHEN 'resolve confirmed' THEN 'SELECT hold_resolve(%s, ''confirmed'')'
        WHEN 'resolve cancelled' THEN 'SELECT hold_resolve(%s, ''cancelled'')'
        END, id)
$body$;
