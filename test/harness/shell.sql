-- What a shell by `make psql` begins with.
SET client_min_messages = warning;
CREATE EXTENSION reservation CASCADE;
INSERT INTO room VALUES (1, 'Blue room'), (2, 'Red room'), (3, 'Attic');
INSERT INTO inventory VALUES (1, 3), (2, 100);
\echo
\echo 'Rooms 1 to 3 and items 1 (three units) and 2 (a hundred) are there; all of it goes when you leave with \\q.'
\echo
\echo '  SELECT hold_acquire(room_claim(1, ''[2030-07-04 10:00, 2030-07-04 11:00)''));'
\echo '  SELECT hold_acquire(stock_claim(1, 2), ''30 seconds'', ''ann'');'
\echo '  SELECT hold_id, kind, state, expires_at, holder FROM hold;'
\echo
