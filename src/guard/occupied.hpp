#pragma once
// Which holds must not be removed: those that are promised to somebody.
#include "core/lifecycle_table.hpp"
#include "kind/kind.hpp"

namespace reservation {

// Held, under review, or a confirmed period that is not over.
bool must_stay(const Kind &kind, State state, NullableDatum claim, TimestampTz now);

// The column that says what a hold of the kind claims: its period or its quantity.
int claim_column_of(TupleDesc desc, const Kind &kind);

// Whether any row of a hold table must stay. Reads the whole table without indexes: when an extension is dropped they
// may be gone already.
bool has_promises(Relation holds, const Kind &kind);

}  // namespace reservation
