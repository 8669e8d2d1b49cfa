#include "pg/clock.hpp"

#include "pg/caught.hpp"
#include "pg/report.hpp"
#include "pg/settings.hpp"

namespace reservation {

namespace {

// Calls the configured function. Raises whatever goes wrong, as it comes.
TimestampTz call_time_source(const char *name)
{
    char *copy = pstrdup(name);
    List *parts = NIL;
    if (!SplitIdentifierString(copy, '.', &parts))
        elog(ERROR, "\"%s\" is not a function name", name);
    List *names = NIL;
    ListCell *cell;
    foreach (cell, parts)
        names = lappend(names, makeString(static_cast<char *>(lfirst(cell))));
    const Oid function = LookupFuncName(names, 0, nullptr, false);
    if (get_func_rettype(function) != TIMESTAMPTZOID || get_func_retset(function))
        elog(ERROR, "function %s() does not return timestamp with time zone", name);

    FmgrInfo flinfo;
    fmgr_info(function, &flinfo);
    LOCAL_FCINFO(fcinfo, 0);
    InitFunctionCallInfoData(*fcinfo, &flinfo, 0, InvalidOid, nullptr, nullptr);
    const Datum result = FunctionCallInvoke(fcinfo);
    if (fcinfo->isnull)
        elog(ERROR, "function %s() returned null", name);
    const TimestampTz time = DatumGetTimestampTz(result);
    if (TIMESTAMP_NOT_FINITE(time))
        elog(ERROR, "function %s() returned an infinite time", name);
    return time;
}

TimestampTz read_time_source(const char *name)
{
    TimestampTz time = 0;
    ErrorData *error = caught([&] { time = call_time_source(name); });
    if (error == nullptr)
        return time;
    pass_interruption(error);
    ereport(ERROR, (errcode(kTimeSourceFailed), errmsg("the time source \"%s\" failed", name),
                    errdetail("%s", error->message)));
    pg_unreachable();
}

}  // namespace

TimestampTz read_clock()
{
    const char *source = settings.time_source;
    if (source == nullptr || *source == '\0')
        return GetCurrentTimestamp();
    return read_time_source(source);
}

TimestampTz time_of_decision(TimestampTz claimed, TimestampTz previous)
{
    // The statement's age is measured on the server's clock and applied to the time source's reading, so that the
    // rule also holds where the two differ.
    const TimestampTz now = read_clock();
    const int64 age = GetCurrentTimestamp() - GetCurrentStatementStartTimestamp();
    if (claimed > previous && claimed <= now && claimed >= now - age)
        return claimed;
    return now;
}

}  // namespace reservation
