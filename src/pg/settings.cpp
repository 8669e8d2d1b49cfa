#include "pg/settings.hpp"

#include "pg/process.hpp"

namespace reservation {

constinit Settings settings{};

namespace {

// Longest time that a setting takes: 100 years. Sums of two such times and a timestamp cannot overflow.
constexpr double kLongestMs = 100.0 * 366 * 24 * 3600 * 1000;

const config_enum_entry kLogEvents[] = {
    {"none", static_cast<int>(LogEvents::none), false},
    {"cleanup", static_cast<int>(LogEvents::cleanup), false},
    {"all", static_cast<int>(LogEvents::all), false},
    {nullptr, 0, false},
};

extern "C" {
// A name without a schema would be looked up in whatever search_path is in force.
static bool check_time_source(char **value, [[maybe_unused]] void **extra, [[maybe_unused]] GucSource source)
{
    if (*value == nullptr || **value == '\0')
        return true;
    char *copy = pstrdup(*value);
    List *names = NIL;
    const bool has_parentheses = copy[strlen(copy) - 1] == ')';  // an unquoted name would take them in
    if (!has_parentheses && SplitIdentifierString(copy, '.', &names) && list_length(names) == 2)
        return true;
    GUC_check_errdetail("It must be the schema-qualified name of a function, without parentheses.");
    return false;
}

static bool check_reaper_databases(char **value, [[maybe_unused]] void **extra, [[maybe_unused]] GucSource source)
{
    List *names = NIL;
    if (split_names(*value, &names))
        return true;
    GUC_check_errdetail("It must be a list of database names, separated by commas.");
    return false;
}
}

void time_setting(const char *name, const char *description, double *variable, double initial_ms, double least_ms,
                  GucContext context)
{
    DefineCustomRealVariable(name, description, nullptr, variable, initial_ms, least_ms, kLongestMs, context,
                             GUC_UNIT_MS, nullptr, nullptr, nullptr);
}

}  // namespace

void define_settings()
{
    constexpr double kMinute = 60.0 * 1000;
    constexpr double kDay = 24 * 60 * kMinute;

    time_setting("reservation.default_ttl", "How long a hold lives when no time to live is given.",
                 &settings.default_ttl_ms, 10 * kMinute, 0.001, PGC_USERSET);
    time_setting("reservation.max_lifetime", "Longest time between the creation of a hold and its deadline.",
                 &settings.max_lifetime_ms, kDay, 0.001, PGC_SUSET);
    time_setting("reservation.expiry_grace", "Time after the deadline before a hold may be released.",
                 &settings.expiry_grace_ms, 0, 0, PGC_SUSET);
    DefineCustomBoolVariable("reservation.accept_holds", "Whether new holds and extensions are accepted.", nullptr,
                             &settings.accept_holds, true, PGC_SUSET, 0, nullptr, nullptr, nullptr);
    DefineCustomEnumVariable("reservation.log_events", "Which outcomes are written to hold_event.",
                             "Reviews that a person ended and adjustments are always written.", &settings.log_events,
                             static_cast<int>(LogEvents::cleanup), kLogEvents, PGC_SUSET, 0, nullptr, nullptr, nullptr);
    DefineCustomBoolVariable("reservation.allow_drop",
                             "Whether the extension may be dropped while holds occupy capacity.", nullptr,
                             &settings.allow_drop, false, PGC_SUSET, 0, nullptr, nullptr, nullptr);
    DefineCustomStringVariable("reservation.time_source",
                               "Schema-qualified function that tells the time; empty means the server's clock.",
                               nullptr, &settings.time_source, "", PGC_SUSET, 0, check_time_source, nullptr, nullptr);
    DefineCustomIntVariable("reservation.node_id", "Number of this node; the upper bits of every hold id.", nullptr,
                            &settings.node_id, 0, 0, 1023, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    DefineCustomIntVariable("reservation.reaper_lock_wait",
                            "How long a cleanup run waits for the resource of the oldest overdue hold.", nullptr,
                            &settings.reaper_lock_wait_ms, 250, 1, INT_MAX, PGC_SIGHUP, GUC_UNIT_MS, nullptr, nullptr,
                            nullptr);
    DefineCustomIntVariable("reservation.reaper_interval", "Longest pause of the background worker between two runs.",
                            nullptr, &settings.reaper_interval_ms, 5000, 10, INT_MAX, PGC_SIGHUP, GUC_UNIT_MS, nullptr,
                            nullptr, nullptr);
    // The workers are registered when the server starts; a library that is loaded later only needs the name to exist.
    DefineCustomStringVariable("reservation.reaper_databases",
                               "Comma-separated databases in which a background worker runs the cleanup.", nullptr,
                               &settings.reaper_databases, "",
                               process_shared_preload_libraries_in_progress ? PGC_POSTMASTER : PGC_SIGHUP,
                               GUC_LIST_INPUT, check_reaper_databases, nullptr, nullptr);
    MarkGUCPrefixReserved("reservation");
}

}  // namespace reservation
