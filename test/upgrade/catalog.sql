-- One line for each fact about the extension's objects: two installations are the same if and only if this prints the
-- same. Names are qualified by position, not by schema, so that schemas may differ: run with the extension's schema
-- first in search_path.
WITH member AS (
    SELECT d.classid, d.objid
    FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
    WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'reservation'),
relation AS (SELECT c.* FROM member m JOIN pg_class c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid),
-- A composite type has its columns in a relation of its own, which is no member.
shaped AS (
    SELECT oid FROM relation
    UNION SELECT t.typrelid FROM member m JOIN pg_type t ON m.classid = 'pg_type'::regclass AND t.oid = m.objid WHERE t.typrelid <> 0)
SELECT fact FROM (
    SELECT 'member ' || pg_describe_object(classid, objid, 0) FROM member
    UNION ALL
    SELECT format('column %s %s: %s %s not null %s default %s', a.attrelid::regclass,
                  rank() OVER (PARTITION BY a.attrelid ORDER BY a.attnum), a.attname, format_type(a.atttypid, a.atttypmod),
                  a.attnotnull, coalesce(pg_get_expr(d.adbin, d.adrelid), '-'))
    FROM shaped s JOIN pg_attribute a ON a.attrelid = s.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    UNION ALL
    SELECT format('constraint %s %s validated %s: %s', c.conrelid::regclass, c.conname, c.convalidated, pg_get_constraintdef(c.oid))
    FROM relation r JOIN pg_constraint c ON c.conrelid = r.oid
    UNION ALL
    SELECT format('index %s valid %s', pg_get_indexdef(i.indexrelid), i.indisvalid) FROM relation r JOIN pg_index i ON i.indrelid = r.oid
    UNION ALL
    SELECT format('trigger %s enabled %s', pg_get_triggerdef(t.oid), t.tgenabled)
    FROM relation r JOIN pg_trigger t ON t.tgrelid = r.oid AND NOT t.tgisinternal
    UNION ALL
    SELECT format('event trigger %s on %s enabled %s', t.evtname, t.evtevent, t.evtenabled)
    FROM member m JOIN pg_event_trigger t ON m.classid = 'pg_event_trigger'::regclass AND t.oid = m.objid
    UNION ALL
    SELECT format('view %s: %s', r.oid::regclass, pg_get_viewdef(r.oid)) FROM relation r WHERE r.relkind IN ('v', 'm')
    UNION ALL
    SELECT format('sequence %s: %s from %s to %s start %s by %s cycle %s', s.seqrelid::regclass, s.seqtypid::regtype, s.seqmin,
                  s.seqmax, s.seqstart, s.seqincrement, s.seqcycle)
    FROM relation r JOIN pg_sequence s ON s.seqrelid = r.oid
    UNION ALL
    SELECT format('relation %s kind %s options %s row security %s privileges %s', r.oid::regclass, r.relkind,
                  coalesce(r.reloptions::text, '-'), r.relrowsecurity, coalesce(r.relacl::text, '-'))
    FROM relation r
    UNION ALL
    SELECT format('function %s privileges %s', pg_get_functiondef(p.oid), coalesce(p.proacl::text, '-'))
    FROM member m JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid AND p.prokind <> 'a'
    UNION ALL
    SELECT format('comment on %s: %s', pg_describe_object(m.classid, m.objid, 0), obj_description(m.objid, c.relname))
    FROM member m JOIN pg_class c ON c.oid = m.classid
    UNION ALL
    SELECT format('comment on column %s.%s: %s', r.oid::regclass, a.attname, col_description(r.oid, a.attnum))
    FROM relation r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE col_description(r.oid, a.attnum) IS NOT NULL
    UNION ALL
    SELECT format('dumped %s %s', u.table_oid::regclass, u.condition)
    FROM pg_extension e, unnest(e.extconfig, e.extcondition) AS u(table_oid, condition) WHERE e.extname = 'reservation'
) AS facts (fact) WHERE fact IS NOT NULL ORDER BY fact COLLATE "C";
