-- In what order a call checks: argument, known key, closed, no such row, the outcome already stands, state, version,
-- deadline. Each row breaks several rules at once and shows which one speaks. Nothing is written in any of them.
\set ON_ERROR_STOP 1
SET reservation.expiry_grace = '1h';
SET reservation.log_events = 'all';
\i test/pgtap/include/attempt.sql
\i test/pgtap/include/situations.sql

-- Runs a call on a new hold (version 7, holder "ann") in a situation; %s stands for the hold's id.
CREATE FUNCTION checked(kind text, situation text, call text, accept_holds boolean) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    id bigint := make_hold(kind, situation, 'ann');
    rows_before text := all_rows();
    o outcome;
BEGIN
    PERFORM set_config('reservation.accept_holds', accept_holds::text, false);
    o := attempt('SELECT ' || format(call, id));
    RETURN CASE
        WHEN all_rows() <> rows_before THEN format('wrote something and gave %s', o)
        WHEN o.sqlstate <> '00000' AND NOT well_worded(o) THEN format('badly worded: %s', o)
        WHEN o.sqlstate <> '00000' THEN o.sqlstate
        ELSE '= ' || coalesce(o.answer, 'NULL')
    END;
END
$body$;

CREATE TABLE cases (
    number serial,
    accept_holds boolean DEFAULT true,
    situation text,
    call text,
    expected text,
    why text
);

INSERT INTO cases (situation, call, expected, why) VALUES
-- an argument is checked before anything is looked at
('no such hold', 'hold_confirm(NULL, 1)', '22004', 'argument before no such hold'),
('no such hold', 'hold_cancel(NULL)', '22004', 'argument before no such hold'),
('no such hold', 'hold_try_confirm(NULL)', '22004', 'argument before no such hold, in the try form too'),
('no such hold', 'hold_extend(%s, ''1 month'')', '22023', 'argument before no such hold'),
('no such hold', 'hold_begin_payment(%s, NULL)', '22004', 'argument before no such hold'),
('no such hold', 'hold_fail_payment(%s, NULL)', '22004', 'argument before no such hold'),
('no such hold', 'hold_resolve(%s, ''expired'')', '22023', 'argument before no such hold'),
('no such hold', 'hold_resolve(%s, NULL)', '22004', 'argument before no such hold'),
('cancelled', 'hold_extend(%s, ''-1 min'', 1)', '22023', 'argument before state and version'),
('cancelled', 'hold_resolve(%s, ''held'', NULL, 1)', '22023', 'argument before state and version'),
('live, in flight', 'hold_begin_payment(%s, NULL, 1)', '22004', 'argument before state and version'),
-- no such hold, which another holder's hold is, before what the hold is like
('no such hold', 'hold_confirm(%s, 1, ''bob'')', 'P0002', 'no such hold before version'),
('cancelled', 'hold_cancel(%s, 7, ''bob'')', 'P0002', 'another''s hold before the outcome that stands'),
('confirmed', 'hold_confirm(%s, 7, ''bob'')', 'P0002', 'another''s hold before the outcome that stands'),
('confirmed', 'hold_try_confirm(%s, 7, ''bob'')', '= NULL', 'another''s hold before the outcome that stands'),
('cancelled', 'hold_confirm(%s, 7, ''bob'')', 'P0002', 'another''s hold before state'),
('live', 'hold_confirm(%s, 1, ''bob'')', 'P0002', 'another''s hold before version'),
('live', 'hold_extend(%s, NULL, 1, ''bob'')', 'P0002', 'another''s hold before version'),
('late', 'hold_confirm(%s, 7, ''bob'')', 'P0002', 'another''s hold before deadline'),
('overdue', 'hold_try_confirm(%s, 7, ''bob'')', '= NULL', 'another''s hold is not released by a try'),
('live, in flight', 'hold_begin_payment(%s, ''pay-2'', 7, ''bob'')', 'P0002', 'another''s hold before state'),
('live, in flight', 'hold_fail_payment(%s, ''pay-2'', ''bob'')', 'P0002', 'another''s hold before state'),
('live', 'hold_fail_payment(%s, ''pay-1'', ''bob'')', 'P0002', 'another''s hold before the outcome that stands'),
-- what stands is answered whatever the version says
('confirmed', 'hold_confirm(%s, 1, ''ann'')', '= confirmed', 'the outcome stands before version'),
('confirmed', 'hold_try_confirm(%s, 1)', '= confirmed', 'the outcome stands before version'),
('cancelled', 'hold_cancel(%s, 1)', '= cancelled', 'the outcome stands before version'),
('expired', 'hold_cancel(%s, 1)', '= expired', 'the outcome stands before version'),
('cancelled', 'hold_try_confirm(%s, 1)', '= cancelled', 'the outcome stands before version'),
('expired', 'hold_try_confirm(%s, 1)', '= expired', 'the outcome stands before version'),
('pending_review', 'hold_try_confirm(%s, 1)', '= pending_review', 'the outcome stands before version'),
('late', 'hold_try_confirm(%s, 1)', '= held', 'the outcome stands before version'),
('late, in flight', 'hold_try_confirm(%s, 1)', '= held', 'the outcome stands before version'),
('confirmed', 'hold_resolve(%s, ''confirmed'', NULL, 1)', '= confirmed', 'the outcome stands before version'),
('cancelled', 'hold_resolve(%s, ''cancelled'', NULL, 1)', '= cancelled', 'the outcome stands before version'),
('live, in flight', 'hold_begin_payment(%s, ''pay-1'', 1)', '= 7', 'the outcome stands before version'),
-- the state speaks before the version
('cancelled', 'hold_confirm(%s, 1)', 'RV002', 'state before version'),
('expired', 'hold_confirm(%s, 1)', 'RV001', 'state before version'),
('pending_review', 'hold_confirm(%s, 1)', 'RV004', 'state before version'),
('pending_review', 'hold_cancel(%s, 1)', 'RV004', 'state before version'),
('live, in flight', 'hold_cancel(%s, 1)', 'RV007', 'state before version'),
('late, in flight', 'hold_cancel(%s, 1)', 'RV007', 'state before version'),
('confirmed', 'hold_extend(%s, NULL, 1)', 'RV003', 'state before version'),
('cancelled', 'hold_extend(%s, NULL, 1)', 'RV002', 'state before version'),
('expired', 'hold_extend(%s, NULL, 1)', 'RV001', 'state before version'),
('confirmed', 'hold_begin_payment(%s, ''pay-1'', 1)', 'RV003', 'state before version'),
('live, in flight', 'hold_begin_payment(%s, ''pay-2'', 1)', 'RV007', 'state before version'),
('live', 'hold_resolve(%s, ''confirmed'', NULL, 1)', 'RV009', 'state before version'),
('overdue, in flight', 'hold_resolve(%s, ''cancelled'', NULL, 1)', 'RV009', 'state before version'),
('confirmed', 'hold_resolve(%s, ''cancelled'', NULL, 1)', 'RV003', 'state before version'),
-- the version speaks before the deadline
('late', 'hold_confirm(%s, 1)', 'RV005', 'version before deadline'),
('overdue', 'hold_confirm(%s, 1)', 'RV005', 'version before deadline'),
('late, in flight', 'hold_confirm(%s, 1)', 'RV005', 'version before deadline'),
('overdue, in flight', 'hold_confirm(%s, 1)', 'RV005', 'version before deadline'),
('late', 'hold_extend(%s, NULL, 1)', 'RV005', 'version before deadline'),
('overdue', 'hold_begin_payment(%s, ''pay-1'', 1)', 'RV005', 'version before deadline'),
-- and alone
('live', 'hold_confirm(%s, 6)', 'RV005', 'a version that is gone'),
('live', 'hold_confirm(%s, 8)', 'RV005', 'a version that is still to come'),
('live', 'hold_confirm(%s, NULL, ''bob'')', 'P0002', 'another''s hold'),
('live', 'hold_cancel(%s, 1)', 'RV005', 'a stale version'),
('late', 'hold_cancel(%s, 1)', 'RV005', 'a stale version'),
('overdue', 'hold_cancel(%s, 1)', 'RV005', 'a stale version'),
('live', 'hold_extend(%s, ''1h'', 1)', 'RV005', 'a stale version'),
('live', 'hold_begin_payment(%s, ''pay-1'', 1)', 'RV005', 'a stale version'),
('pending_review', 'hold_resolve(%s, ''confirmed'', NULL, 1)', 'RV005', 'a stale version'),
('pending_review', 'hold_resolve(%s, ''cancelled'', NULL, 1)', 'RV005', 'a stale version'),
-- a try answers the state that the hold is in: it never fails for what happened to the hold
('live', 'hold_try_confirm(%s, 1)', '= held', 'a stale version leaves it held'),
('overdue', 'hold_try_confirm(%s, 1)', '= held', 'a stale version leaves it held'),
('overdue, in flight', 'hold_try_confirm(%s, 1)', '= held', 'a stale version leaves it held');

-- A drain closes acquire and extend, and nothing else.
INSERT INTO cases (accept_holds, situation, call, expected, why) VALUES
(false, 'live', 'hold_extend(NULL)', '22004', 'argument before closed'),
(false, 'live', 'hold_extend(%s, ''1 month'')', '22023', 'argument before closed'),
(false, 'no such hold', 'hold_extend(%s)', 'RV008', 'closed before no such hold'),
(false, 'live', 'hold_extend(%s, NULL, 7, ''bob'')', 'RV008', 'closed before another''s hold'),
(false, 'cancelled', 'hold_extend(%s)', 'RV008', 'closed before state'),
(false, 'live', 'hold_extend(%s, NULL, 1)', 'RV008', 'closed before version'),
(false, 'late', 'hold_extend(%s)', 'RV008', 'closed before deadline'),
(false, 'live', 'hold_extend(%s, ''1s'')', 'RV008', 'closed before the outcome that stands'),
(false, 'live', 'hold_extend_all(ARRAY[%s])', 'RV008', 'closed'),
(false, 'live', 'hold_acquire(room_claim(0, ''[2030-01-01, 2030-01-02)''))', 'RV008', 'closed before no such room'),
(false, 'live', 'hold_try_acquire(room_claim(0, ''[2030-01-01, 2030-01-02)''))', 'RV008', 'closed, in the try form'),
(false, 'live', 'hold_acquire(stock_claim(0, 1))', 'RV008', 'closed before no such item'),
(false, 'live', 'hold_acquire(stock_claim(0, 0))', '22023', 'argument before closed'),
(false, 'live', 'hold_acquire(NULL)', '22004', 'argument before closed'),
(false, 'live', 'hold_acquire_all(ARRAY[stock_claim(0, 1)])', 'RV008', 'closed'),
(false, 'live', 'hold_try_acquire_all(ARRAY[stock_claim(0, 1)])', 'RV008', 'closed'),
(false, 'confirmed', 'hold_confirm(%s)', '= confirmed', 'confirm stays open'),
(false, 'cancelled', 'hold_cancel(%s)', '= cancelled', 'cancel stays open'),
(false, 'live', 'hold_fail_payment(%s, ''pay-1'')', '= 7', 'fail_payment stays open'),
(false, 'live', 'hold_resolve(%s, ''confirmed'')', 'RV009', 'resolve stays open');

SELECT plan(176);

SELECT is(checked(k.kind, c.situation, c.call, c.accept_holds), c.expected,
          format('%s: %s, %s %s', c.why, format(c.call, '?'), k.kind, c.situation))
FROM cases AS c CROSS JOIN (VALUES ('room'), ('item')) AS k (kind)
ORDER BY c.number, k.kind;

SELECT finish();
