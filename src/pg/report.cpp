#include "pg/report.hpp"

namespace reservation {

void raise_null_argument(const char *argument, Position position)
{
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                    errmsg("%s must not be null%s", argument, at_position(position))));
    pg_unreachable();
}

void raise_invalid_argument(const char *argument, const char *detail, Position position)
{
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("invalid %s%s", argument, at_position(position)), errdetail("%s", detail)));
    pg_unreachable();
}

void raise_no_such_hold(int64 hold_id, Position position)
{
    ereport(ERROR, (errcode(ERRCODE_NO_DATA_FOUND),
                    errmsg("hold %lld does not exist%s", static_cast<long long>(hold_id), at_position(position))));
    pg_unreachable();
}

int error_fields(const char *schema, const char *table, const char *constraint)
{
    (void)err_generic_string(PG_DIAG_SCHEMA_NAME, schema);
    (void)err_generic_string(PG_DIAG_TABLE_NAME, table);
    if (constraint != nullptr)
        (void)err_generic_string(PG_DIAG_CONSTRAINT_NAME, constraint);
    return 0;
}

const char *print(TimestampTz time) { return timestamptz_to_str(time); }

}  // namespace reservation
