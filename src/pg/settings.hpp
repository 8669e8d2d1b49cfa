#pragma once
// The settings reservation.*, as the server keeps them. Defined in _PG_init by define_settings().
#include "pg/postgres.hpp"

namespace reservation {

enum class LogEvents : int { none, cleanup, all };

struct Settings {
    double default_ttl_ms;
    double max_lifetime_ms;
    double expiry_grace_ms;
    bool accept_holds;
    int log_events;  // a LogEvents; the server writes an int
    bool allow_drop;
    char *time_source;
    int node_id;
    int reaper_lock_wait_ms;
    int reaper_interval_ms;
    char *reaper_databases;

    // Hold ids are the node's number above this many bits of a sequence.
    static constexpr int kNodeShift = 42;
    int64 first_hold_id() const { return static_cast<int64>(node_id) << kNodeShift; }
    int64 default_ttl() const { return microseconds(default_ttl_ms); }
    int64 max_lifetime() const { return microseconds(max_lifetime_ms); }
    int64 expiry_grace() const { return microseconds(expiry_grace_ms); }
    bool logs(LogEvents at_least) const { return log_events >= static_cast<int>(at_least); }

private:
    static int64 microseconds(double ms) { return static_cast<int64>(ms * 1000.0); }
};

extern Settings settings;

void define_settings();

}  // namespace reservation
