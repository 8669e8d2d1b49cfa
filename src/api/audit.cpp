// reservation_audit: what is wrong with the data, with what guards them, and with the clocks.
#include "audit/check.hpp"

#include "api/result_set.hpp"
#include "pg/boundary.hpp"
#include "pg/clock.hpp"
#include "pg/settings.hpp"
#include "pg/subtransaction.hpp"

namespace reservation {

namespace {

// The time, or NULL and a finding: whoever audits wants to know the rest too.
Value time_now(const ResultSet &findings)
{
    TimestampTz now = 0;
    const ErrorData *error = attempt([&] { now = read_clock(); });
    if (error == nullptr)
        return instant(now);
    findings.put({string("setting reservation.time_source"), string("the time source fails"),
                  string(psprintf("%s.", error->detail != nullptr ? error->detail : error->message))});
    return absent();
}

void check_clocks(const Call &call, const ResultSet &findings)
{
    settings_of_roles.stream(call, {}, [&](const Rows &rows, uint64 i) {
        const text *setting = rows.string(i, 2);
        const text *own = rows.string(i, 3);
        const text *others = rows.string(i, 4);
        if (same_setting(setting, own, others))
            return;
        const char *detail = psprintf("%s is '%s' for it and '%s' for others.", text_to_cstring(setting),
                                      text_to_cstring(own), text_to_cstring(others));
        findings.put({string(psprintf("role %s", text_to_cstring(rows.string(i, 1)))), string("has a clock of its own"),
                      string(detail)});
    });
}

}  // namespace

// reservation_audit() returns table (object text, problem text, detail text): no row when all is well
RESERVATION_FUNCTION(audit)
{
    const ResultSet findings(fcinfo, 0);
    with_spi([&] {
        const Call call = call_of(fcinfo);
        const Value now = time_now(findings);
        for (const std::span<Statement> checks : {data_checks(), schema_checks()})
            for (Statement &check : checks)
                check.stream(
                    call, {int8(settings.first_hold_id()), now, string(call.schema)}, [&](const Rows &rows, uint64 i) {
                        findings.put({string(rows.string(i, 1)), string(rows.string(i, 2)), string(rows.string(i, 3))});
                    });
        check_clocks(call, findings);
    });
    return Datum{0};
}

}  // namespace reservation
