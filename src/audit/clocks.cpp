// Two sessions that judge deadlines by two clocks: settings that a role has and others have not. A setting of the
// whole database is the same for all who work in it.
#include "audit/check.hpp"

// clang-format off
#define RESERVATION_FIRST_OF(who) \
    "(SELECT s.value FROM own AS s WHERE " who " AND s.name OPERATOR(pg_catalog.=) v.name)"
// clang-format on

namespace reservation {

// clang-format off
// A setting of a role in this database is stronger than one of the role, this than one of the database, this than one
// of all roles and databases, this than the server's.
constinit Statement settings_of_roles{
    SPI_OK_SELECT, {},
    "WITH own AS (SELECT s.setdatabase, s.setrole, pg_catalog.lower(pg_catalog.split_part(c, '=', 1)) AS name,"
    " pg_catalog.substr(c, pg_catalog.strpos(c, '=') OPERATOR(pg_catalog.+) 1) AS value"
    " FROM pg_catalog.pg_db_role_setting AS s CROSS JOIN LATERAL pg_catalog.unnest(s.setconfig) AS c"
    " WHERE s.setdatabase OPERATOR(pg_catalog.=) 0::pg_catalog.oid OR s.setdatabase OPERATOR(pg_catalog.=)"
    " (SELECT d.oid FROM pg_catalog.pg_database AS d"
    " WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database())),"
    " others AS (SELECT v.name, COALESCE("
    RESERVATION_FIRST_OF("s.setrole OPERATOR(pg_catalog.=) 0::pg_catalog.oid"
                         " AND s.setdatabase OPERATOR(pg_catalog.<>) 0::pg_catalog.oid") ", "
    RESERVATION_FIRST_OF("s.setrole OPERATOR(pg_catalog.=) 0::pg_catalog.oid"
                         " AND s.setdatabase OPERATOR(pg_catalog.=) 0::pg_catalog.oid") ","
    " (SELECT f.setting FROM pg_catalog.pg_file_settings AS f"
    " WHERE pg_catalog.lower(f.name) OPERATOR(pg_catalog.=) v.name AND f.applied),"
    " v.boot_val) AS value FROM pg_catalog.pg_settings AS v"
    " WHERE v.name OPERATOR(pg_catalog.=) ANY"
    " ('{reservation.time_source,reservation.expiry_grace}'::pg_catalog.text[]))"
    " SELECT r.rolname::pg_catalog.text, v.name, COALESCE("
    RESERVATION_FIRST_OF("s.setrole OPERATOR(pg_catalog.=) r.oid"
                         " AND s.setdatabase OPERATOR(pg_catalog.<>) 0::pg_catalog.oid") ", "
    RESERVATION_FIRST_OF("s.setrole OPERATOR(pg_catalog.=) r.oid"
                         " AND s.setdatabase OPERATOR(pg_catalog.=) 0::pg_catalog.oid") "), v.value"
    " FROM others AS v JOIN pg_catalog.pg_roles AS r ON r.rolcanlogin AND EXISTS (SELECT FROM own AS s"
    " WHERE s.setrole OPERATOR(pg_catalog.=) r.oid AND s.name OPERATOR(pg_catalog.=) v.name)"
    " ORDER BY r.rolname, v.name",
    Reads::whole_tables};
// clang-format on

bool same_setting(const text *setting, const text *a, const text *b)
{
    if (bytes(a) == bytes(b))
        return true;
    if (bytes(setting) != "reservation.expiry_grace")
        return false;
    const auto milliseconds = [](const text *value, double *result) {
        const char *hint;
        return parse_real(text_to_cstring(value), result, GUC_UNIT_MS, &hint);
    };
    double first, second;
    return milliseconds(a, &first) && milliseconds(b, &second) && first == second;
}

}  // namespace reservation
