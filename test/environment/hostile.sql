-- A schema named hostile with whatever a statement could find there by an unqualified name: operators, functions,
-- aggregates, casts, types, tables and sequences, each of which raises when it is used. The objects follow the server's
-- catalogs and the extension's members, so that a new function of either is shadowed without a change here.
CREATE SCHEMA hostile;

CREATE FUNCTION hostile.alarm(what text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    stack pg_catalog.text;
BEGIN
    GET DIAGNOSTICS stack = PG_CONTEXT;
    RAISE WARNING 'hostile % was used', what USING DETAIL = stack;
    RAISE EXCEPTION 'hostile % was used', what USING ERRCODE = 'HO000', DETAIL = stack;
END
$$;
CREATE FUNCTION hostile.alarm_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM hostile.alarm('table ' OPERATOR(pg_catalog.||) TG_TABLE_NAME::pg_catalog.text);
    RETURN NULL;
END
$$;

-- The types that our statements handle.
CREATE TABLE hostile.handled (type oid PRIMARY KEY);
INSERT INTO hostile.handled
SELECT unnest('{bool,int2,int4,int8,float8,numeric,text,varchar,name,"char",oid,regclass,date,timestamp,timestamptz,interval,tstzrange,
    tstzmultirange,int8[],text[],timestamptz[],record,anyelement,anyarray,anynonarray,anyrange,anycompatible,anycompatiblearray}'::regtype[])
UNION SELECT 'public.hold_claim'::regtype UNION SELECT 'public.hold_claim[]'::regtype
UNION SELECT 'public.hold'::regtype UNION SELECT 'public.slot_hold'::regtype;

-- Operators: every one of the server on these types with its result, and every operator name on each pair of equal
-- types and on the pairs that differ in width, if only to be an exact match where the server would have to convert.
DO $$
DECLARE
    o record;
    f text;
    made int := 0;
BEGIN
    FOR o IN
        WITH names AS (SELECT DISTINCT oprname FROM pg_operator WHERE oprnamespace = 'pg_catalog'::regnamespace),
        pairs(l, r) AS (
            SELECT type, type FROM hostile.handled
            UNION SELECT a::regtype, b::regtype
                  FROM unnest('{int2,int4,int8}'::text[]) a, unnest('{int2,int4,int8,float8,numeric}'::text[]) b
            UNION SELECT a::regtype, b::regtype
                  FROM unnest('{text,varchar,name}'::text[]) a, unnest('{text,varchar,name,text[]}'::text[]) b
            UNION VALUES ('timestamptz'::regtype, 'interval'::regtype), ('tstzrange'::regtype, 'timestamptz'::regtype))
        SELECT oprname, oprleft AS l, oprright AS r, oprresult AS result
        FROM pg_operator
        WHERE oprnamespace = 'pg_catalog'::regnamespace
          AND (oprleft = 0 OR oprleft IN (SELECT type FROM hostile.handled))
          AND oprright IN (SELECT type FROM hostile.handled)
          AND oprresult NOT IN (SELECT oid FROM pg_type WHERE typtype = 'p')
        UNION
        SELECT oprname, l, r, 'bool'::regtype
        FROM names, pairs
        WHERE NOT EXISTS (SELECT FROM pg_operator x
                          WHERE (x.oprname, x.oprleft, x.oprright) = (names.oprname, pairs.l, pairs.r))
    LOOP
        f := format('hostile.operator_%s_%s_%s', o.l, o.r, o.result);
        IF to_regprocedure(f || format('(%s)', concat_ws(',', nullif(o.l, 0)::regtype, o.r::regtype))) IS NULL THEN
            EXECUTE format('CREATE FUNCTION %s(%s) RETURNS %s LANGUAGE plpgsql IMMUTABLE AS $f$BEGIN PERFORM hostile.alarm(%L); END$f$',
                           f, concat_ws(',', nullif(o.l, 0)::regtype, o.r::regtype), o.result::regtype,
                           format('operator (%s, %s)', nullif(o.l, 0)::regtype, o.r::regtype));
        END IF;
        EXECUTE format('CREATE OPERATOR hostile.%s (FUNCTION = %s, %s RIGHTARG = %s)', o.oprname, f,
                       CASE WHEN o.l <> 0 THEN format('LEFTARG = %s,', o.l::regtype) ELSE '' END, o.r::regtype);
        made := made + 1;
    END LOOP;
    ASSERT made > 2000, 'too few operators';
END
$$;

-- Functions: every one of the server that takes such types only, and every one of the extension.
DO $$
DECLARE
    f record;
    made int := 0;
BEGIN
    FOR f IN
        SELECT p.proname, oidvectortypes(p.proargtypes) AS arguments, p.proretset,
               CASE WHEN t.typtype = 'p' THEN 'bool'::regtype ELSE p.prorettype::regtype END AS result
        FROM pg_proc p JOIN pg_type t ON t.oid = p.prorettype
        WHERE p.pronamespace IN ('pg_catalog'::regnamespace, 'public'::regnamespace) AND p.prokind = 'f' AND p.provariadic = 0
          AND NOT EXISTS (SELECT FROM unnest(p.proargtypes) t WHERE t NOT IN (SELECT type FROM hostile.handled))
    LOOP
        EXECUTE format('CREATE FUNCTION hostile.%I(%s) RETURNS %s%s LANGUAGE plpgsql AS $f$BEGIN PERFORM hostile.alarm(%L); END$f$',
                       f.proname, f.arguments, CASE WHEN f.proretset THEN 'SETOF ' ELSE '' END, f.result, 'function ' || f.proname);
        made := made + 1;
    END LOOP;
    ASSERT made > 500, 'too few functions';
END
$$;

-- Aggregates.
DO $$
DECLARE
    t regtype;
    name text;
BEGIN
    FOREACH t IN ARRAY '{int4,int8,text,bool,timestamptz,tstzrange}'::regtype[] LOOP
        EXECUTE format('CREATE FUNCTION hostile.step(%s, %1$s) RETURNS %1$s LANGUAGE plpgsql AS $f$BEGIN PERFORM hostile.alarm(''aggregate''); END$f$', t);
        FOREACH name IN ARRAY '{sum,max,min,array_agg,count,bool_or,bool_and,string_agg}'::text[] LOOP
            EXECUTE format('CREATE AGGREGATE hostile.%I(%s) (SFUNC = hostile.step, STYPE = %2$s)', name, t);
        END LOOP;
    END LOOP;
END
$$;
CREATE FUNCTION hostile.step(int8) RETURNS int8 LANGUAGE plpgsql AS $$ BEGIN PERFORM hostile.alarm('aggregate count'); END $$;
CREATE AGGREGATE hostile.count(*) (SFUNC = hostile.step, STYPE = int8);

-- Types of the server's names and of ours.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY '{text,int4,int8,bool,timestamptz,tstzrange,interval,name,regclass,_text,_int8}'::text[] LOOP
        EXECUTE format('CREATE DOMAIN hostile.%I AS pg_catalog.%1$I CHECK (hostile.alarm(%L) IS NULL)', name, 'type ' || name);
    END LOOP;
END
$$;
CREATE TYPE hostile.hold_claim AS (kind pg_catalog.text, resource_id pg_catalog.int8, during pg_catalog.tstzrange, quantity pg_catalog.int4);

-- Casts that would be found where types do not match exactly: from and to types of one's own, and those between
-- numbers and texts that databases have for the sake of old applications.
DO $$
DECLARE
    c record;
BEGIN
    FOR c IN
        SELECT s::regtype AS source, t::regtype AS target
        FROM unnest('{hostile.hold_claim,public.hold_claim,text,int4,int8,bool,timestamptz,tstzrange,interval,float8}'::text[]) s,
             unnest('{hostile.hold_claim,public.hold_claim,text,int4,int8,bool,timestamptz,tstzrange,interval,float8}'::text[]) t
        WHERE s <> t AND (concat(s, t) ~ 'hold_claim' OR concat(s, t) ~ '^(text|int[48])+$') AND NOT EXISTS (SELECT FROM pg_cast WHERE castsource = s::regtype AND casttarget = t::regtype)
    LOOP
        EXECUTE format('CREATE FUNCTION hostile.%I(%s) RETURNS %s LANGUAGE plpgsql AS $f$BEGIN PERFORM hostile.alarm(%L); END$f$',
                       'cast to ' || c.target, c.source, c.target, format('cast from %s to %s', c.source, c.target));
        EXECUTE format('CREATE CAST (%s AS %s) WITH FUNCTION hostile.%I(%1$s) AS IMPLICIT', c.source, c.target, 'cast to ' || c.target);
    END LOOP;
END
$$;

-- Relations of our names, and of the catalogs', in this schema; and in pg_temp of a session that calls the function.
CREATE FUNCTION hostile.plant(schema text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    r record;
BEGIN
    FOR r IN
        SELECT c.relname AS name, c.oid::regclass AS original, c.relkind AS kind, n.nspname
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'public' AND c.relkind IN ('r', 'v', 'S')
           OR c.relname IN ('pg_class', 'pg_proc', 'pg_type', 'pg_namespace', 'pg_extension', 'pg_depend', 'pg_locks',
                            'pg_database', 'pg_db_role_setting', 'pg_trigger', 'pg_constraint') AND n.nspname = 'pg_catalog'
    LOOP
        IF r.kind = 'S' THEN
            EXECUTE format('CREATE SEQUENCE %s.%I MAXVALUE 2', schema, r.name);
            EXECUTE format('SELECT nextval(%L)', format('%s.%I', schema, r.name));
            CONTINUE;
        END IF;
        EXECUTE format('CREATE TABLE %s.%I (LIKE %s)', schema, r.name,
                       CASE WHEN schema = 'hostile' THEN r.original::text ELSE format('hostile.%I', r.name) END);
        IF r.nspname = 'public' THEN
            EXECUTE format('CREATE TRIGGER alarm BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s.%I'
                           ' FOR EACH STATEMENT EXECUTE FUNCTION hostile.alarm_trigger()', schema, r.name);
        END IF;
    END LOOP;
    IF schema = 'pg_temp' THEN
        CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (hostile.alarm('pg_temp.text') IS NULL);
        CREATE DOMAIN pg_temp.int4 AS pg_catalog.int4 CHECK (hostile.alarm('pg_temp.int4') IS NULL);
        CREATE DOMAIN pg_temp.int8 AS pg_catalog.int8 CHECK (hostile.alarm('pg_temp.int8') IS NULL);
        CREATE TYPE pg_temp.hold_claim AS (kind pg_catalog.text, resource_id pg_catalog.int8, during pg_catalog.tstzrange, quantity pg_catalog.int4);
        CREATE FUNCTION pg_temp.now() RETURNS timestamptz LANGUAGE plpgsql AS 'BEGIN PERFORM hostile.alarm(''pg_temp.now''); END';
    END IF;
END
$$;
SELECT hostile.plant('hostile');
GRANT USAGE ON SCHEMA hostile TO PUBLIC;
GRANT SELECT, DELETE ON ALL TABLES IN SCHEMA hostile TO PUBLIC;
