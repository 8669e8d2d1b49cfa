#pragma once
// The words for the refusals of the lifecycle table.
#include "kind/kind.hpp"
#include "pg/report.hpp"

namespace reservation {

[[noreturn]] void raise_refusal(Verdict verdict, const Hold &hold, TimestampTz now, Position position);

// 23503, as a foreign key would say it.
[[noreturn]] void raise_no_such_resource(const Call &call, const Kind &kind, int64 resource_id,
                                         Position position = {0});

// RV008 while reservation.accept_holds is off.
void refuse_when_closed();

[[noreturn]] void raise_version_mismatch(const Hold &hold, int32 given, Position position);

}  // namespace reservation
