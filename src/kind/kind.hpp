#pragma once
// What differs between the kinds of resource: how one is locked, claimed and given back. Everything else about a
// hold is written once, in lifecycle/. A new kind is one file that fills a Kind, and one entry in kinds.cpp.
#include "core/lifecycle_table.hpp"
#include "pg/statement.hpp"

#include <span>

namespace reservation {

// The order is the lock order: rooms before items.
enum class KindId : std::uint8_t { room, item };
inline constexpr int kKinds = 2;

struct Kind;

// What is asked for, checked.
struct Claim {
    const Kind *kind;
    int64 resource_id;
    Datum during;    // a tstzrange, for a kind that has periods
    int32 quantity;  // for a kind that has quantities
    int position;    // in the caller's array, from 1; 0 for a single claim
};

// All claims of one decision on one resource.
struct Demand {
    const Kind *kind;
    int64 resource_id;
    int64 units;                // their sum, for a kind with quantities; cannot overflow
    std::span<Claim *> claims;  // in the caller's order
    bool taken;                 // the capacity is already ours
};

// A hold as it was read. Texts live in the memory of the current SPI connection.
struct Hold {
    int64 hold_id;
    const Kind *kind;
    int64 resource_id;
    State state;
    int32 version;
    TimestampTz expires_at;
    TimestampTz created_at;
    TimestampTz changed_at;
    text *holder;
    text *payment_reference;
    int32 units;  // 0 for a kind without quantities

    Facts facts() const;
};

inline bool same_resource(const Hold &a, const Hold &b) { return a.kind == b.kind && a.resource_id == b.resource_id; }

// Why a claim cannot be had.
struct Shortage {
    const Claim *claim;  // the first that does not fit
    int64 own_hold;      // a hold of the same holder that is in the way, or 0
    State own_state;
    bool own_live;
    int64 available;  // units that could be had, for a kind with quantities
};

// Statements that remove confirmed holds of a kind whose holds are never over, together with their share of the
// capacity. Several parameters are a bigint[] each, of equal length where they go together.
struct Sold {
    Statement *oldest;     // what may be purged, as in Kind
    Statement *lock_free;  // resources: locks those that are free; a row for each, in order
    Statement *remove;     // as in Kind; also arrays of resources and units, their length
    Statement *give_back;  // resources, units
    Statement *write_off;  // resources, units
};

enum class Lock : std::uint8_t { taken, missing, busy };

// How to take the lock of a resource: behind those that came earlier, behind the row's holder alone (a cleanup run,
// which must not hold a place in the queue while it waits), or only if it is free.
enum class Patience : std::uint8_t { queue, wait, none };

struct Kind {
    KindId id;
    const char *name;  // in SQL: 'room', 'item'
    const char *resource_table;
    const char *resource_column;
    const char *hold_table;
    bool has_periods;  // a claim has a period, else a quantity
    bool cancellable_when_confirmed;

    // Takes the lock of the demand's resource, and its capacity in the same step where that is possible (then taken
    // is set). False if there is no such resource.
    bool (*take)(const Call &, Demand &);
    // The lock alone, for every other decision.
    Lock (*lock)(const Call &, int64 resource_id, Patience patience);
    // Writes the hold of a claim. False if the way is not clear; nothing is written then.
    bool (*insert)(const Call &, const Demand &, const Claim &, int64 hold_id, TimestampTz expires_at, TimestampTz now,
                   const text *holder);
    // After an insert that said false: what must be released to clear the way, namely holds that are overdue, not in
    // flight and needed, oldest first and not more. Writes nothing. False, with the shortage told, if that cannot
    // suffice.
    bool (*reclaimable)(const Call &, const Demand &, const Claim &, TimestampTz now, const text *holder,
                        std::span<Hold> *holds, Shortage *shortage);
    // Raises that capacity is missing, as the kind's constraint would.
    void (*refuse)(const Call &, const Demand &, const Shortage &);
    // Returns the units of holds that stopped occupying.
    void (*give_back)(const Call &, int64 resource_id, int64 units);

    // Statements on the kind's hold table, all in the shape that hold_rows.hpp defines.
    Statement *find;
    Statement *reread;
    Statement *reread_if_free;
    Statement *write;
    Statement *overdue;
    Statement *next_deadline;
    Statement *status;
    // What may be purged: time unchanged since, time, place (time, hold_id), limit.
    Statement *old_expired;
    Statement *old_cancelled;
    Statement *old_past;  // confirmed and over; nullptr for a kind without periods
    Statement *remove;    // hold ids, their resources, state, time unchanged since: number, ids
    const Sold *sold;     // nullptr for a kind with periods
};

extern const Kind kRoom;
extern const Kind kItem;
std::span<const Kind *const> kinds();           // in lock order
const Kind *kind_named(std::string_view name);  // nullptr if there is none

}  // namespace reservation
