\set i :i + 1
\set n :client_id + :clients * :i
\set room :first + :n % :spread
\set start 1900000000 + 7200 * ((:n / :spread * 7919) % 100003) + 3600
\set stop :start + 3600
SELECT plain.acquire_room(:room, tstzrange(to_timestamp(:start), to_timestamp(:stop)));
