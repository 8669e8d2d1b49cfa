\set i :i + 1
\set n :client_id + :clients * :i
\set room :first + :n % :spread
\set start 1900000000 + 7200 * ((:n / :spread * 7919) % 100003) + 3600
\set stop :start + 3600
BEGIN;
SELECT room_id FROM room WHERE room_id = :room FOR UPDATE;
UPDATE slot_hold SET state = 'expired'
WHERE room_id = :room AND state = 'held' AND expires_at <= clock_timestamp();
INSERT INTO slot_hold VALUES
    (nextval('hold_id_seq'), :room, tstzrange(to_timestamp(:start), to_timestamp(:stop), '[)'),
     'held', clock_timestamp() + interval '10 minutes');
COMMIT;
