-- The database that every pgTAP and every session test starts from a copy of.
\set ON_ERROR_STOP 1
SET client_min_messages = warning;
CREATE EXTENSION reservation CASCADE;
CREATE EXTENSION pgtap;
