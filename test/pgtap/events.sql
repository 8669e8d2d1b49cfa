-- What is logged at each level: the default has what cleanup decides and what people decide, nobody has less than the
-- latter.
\set ON_ERROR_STOP 1
SET client_min_messages = warning;
\i test/pgtap/include/attempt.sql

INSERT INTO room VALUES (1, 'a'), (2, 'b');
INSERT INTO inventory (item_id, available, capacity) VALUES (1, 100, 108);

-- A day in the life: every outcome that a call can have, on holds of its own.
CREATE FUNCTION day_in_the_life() RETURNS void
LANGUAGE plpgsql AS $body$
DECLARE
    id bigint;
BEGIN
    id := hold_acquire(stock_claim(1, 1));
    PERFORM hold_extend(id, '1 h');
    PERFORM hold_extend(id, '1 min');  -- moves nothing
    PERFORM hold_begin_payment(id, 'pay-1');
    PERFORM hold_begin_payment(id, 'pay-1');  -- stands
    PERFORM hold_fail_payment(id, 'pay-1');
    PERFORM hold_confirm(id);
    PERFORM hold_confirm(id);  -- stands
    id := hold_acquire(stock_claim(1, 1));
    PERFORM hold_cancel(id);
    PERFORM hold_try_confirm(id);  -- stands
    PERFORM inventory_adjust(1, 5, 'delivery');
    -- overdue: released by an acquire, a try, a cleanup run; put under review by a try, a run
    INSERT INTO slot_hold (room_id, during, state, expires_at)
    VALUES (1, '[2030-01-01, 2030-01-02)', 'held', clock_timestamp() - interval '1 min');
    PERFORM hold_acquire(room_claim(1, '[2030-01-01, 2030-01-02)'));
    INSERT INTO stock_hold (item_id, quantity, state, expires_at)
    VALUES (1, 1, 'held', clock_timestamp() - interval '1 min') RETURNING hold_id INTO id;
    PERFORM hold_try_confirm(id);
    INSERT INTO stock_hold (item_id, quantity, state, expires_at, payment_reference)
    VALUES (1, 2, 'held', clock_timestamp() - interval '1 min', 'pay-2') RETURNING hold_id INTO id;
    PERFORM hold_try_confirm(id);
    PERFORM hold_resolve(id, 'cancelled', 'no money came');
    PERFORM hold_resolve(id, 'cancelled', 'once more');  -- stands
    INSERT INTO slot_hold (room_id, during, state, expires_at, payment_reference)
    VALUES (2, '[2030-01-01, 2030-01-02)', 'held', clock_timestamp() - interval '1 min', NULL),
           (2, '[2030-01-02, 2030-01-03)', 'held', clock_timestamp() - interval '1 min', 'pay-3');
    PERFORM hold_reap(1000, 1, 1);
    -- refused
    PERFORM sqlstate_of('SELECT hold_confirm(99)');
    PERFORM hold_try_acquire(room_claim(1, '[2030-01-01, 2030-01-02)'));
    DELETE FROM slot_hold WHERE state IN ('expired', 'cancelled');
    PERFORM hold_cancel(hold_id) FROM slot_hold WHERE state = 'held';
    PERFORM hold_resolve(hold_id, 'confirmed', 'paid') FROM slot_hold WHERE state = 'pending_review';
    PERFORM hold_cancel(hold_id) FROM slot_hold WHERE state = 'confirmed';
    DELETE FROM slot_hold;
END
$body$;
CREATE FUNCTION outcomes(level text) RETURNS text
LANGUAGE plpgsql AS $body$
BEGIN
    PERFORM set_config('reservation.log_events', level, true);
    DELETE FROM hold_event;
    PERFORM day_in_the_life();
    RETURN (SELECT string_agg(format('%s %s', count, outcome), ', ' ORDER BY outcome)
            FROM (SELECT outcome, count(*) FROM hold_event GROUP BY outcome) AS c);
END
$body$;

SELECT plan(11);

SELECT is(outcomes('all'),
          '3 acquired, 1 adjusted, 3 cancelled, 1 confirmed, 1 extended, 1 payment_begun, 1 payment_failed, '
          '2 pending_review, 3 released, 2 resolved', 'all');
SELECT is(outcomes('cleanup'), '1 adjusted, 2 pending_review, 3 released, 2 resolved', 'cleanup, the default');
SELECT is(outcomes('none'), '1 adjusted, 2 resolved', 'none');

-- What an event says.
SELECT outcomes('all') \g /dev/null
SELECT is((SELECT count(*) FROM hold_event AS e WHERE outcome = 'released' AND run_id IS NULL AND version_seen = 1
             AND (state_before, state_after) = ('held', 'expired')), 2::bigint, 'released by an acquire and by a try');
SELECT is((SELECT count(*) FROM hold_event AS e JOIN hold_run USING (run_id)
           WHERE outcome IN ('released', 'pending_review') AND version_seen = 1 AND e.who = current_user), 2::bigint,
          'released and put under review by a run');
SELECT is((SELECT string_agg(format('%s %s to %s: %s', kind, state_before, state_after, note), ', ' ORDER BY event_id)
           FROM hold_event WHERE outcome = 'resolved'),
          'item pending_review to cancelled: no money came, room pending_review to confirmed: paid',
          'what a person decided, and why');
SELECT is((SELECT (kind, resource_id, hold_id, version_seen, units, note)::text FROM hold_event
           WHERE outcome = 'adjusted'), '(item,1,,,5,delivery)', 'what was adjusted, and why');
SELECT is((SELECT array_agg(version_seen ORDER BY event_id) FROM hold_event
           WHERE hold_id = (SELECT hold_id FROM hold_event WHERE outcome = 'extended')
             AND outcome <> 'acquired'), '{1,2,3,4}', 'each with the version that was seen');
SELECT is((SELECT count(*) FROM hold_event WHERE at > clock_timestamp() OR at < now() - interval '1 min'), 0::bigint,
          'with the time');
SELECT is((SELECT count(*) FROM hold_event WHERE outcome NOT IN ('acquired', 'adjusted') AND version_seen IS NULL),
          0::bigint, 'no decision without a version');

-- The calling role is named, not the owner of the functions.
DROP ROLE IF EXISTS reservation_app;
CREATE ROLE reservation_app;
GRANT EXECUTE ON FUNCTION inventory_adjust TO reservation_app;
SET ROLE reservation_app;
SELECT inventory_adjust(1, 1, 'by the application') \g /dev/null
RESET ROLE;
SELECT is((SELECT who FROM hold_event WHERE note = 'by the application'), 'reservation_app', 'who it was');
REVOKE EXECUTE ON FUNCTION inventory_adjust FROM reservation_app;
DROP ROLE reservation_app;

SELECT finish();
