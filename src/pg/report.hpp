#pragma once
// The SQLSTATEs of the extension. Messages are written where they are raised, so that a reader sees condition and
// words together; what several places say is here.
#include "pg/postgres.hpp"

namespace reservation {

inline constexpr int kHoldExpired = MAKE_SQLSTATE('R', 'V', '0', '0', '1');
inline constexpr int kHoldCancelled = MAKE_SQLSTATE('R', 'V', '0', '0', '2');
inline constexpr int kHoldConfirmed = MAKE_SQLSTATE('R', 'V', '0', '0', '3');
inline constexpr int kHoldPendingReview = MAKE_SQLSTATE('R', 'V', '0', '0', '4');
inline constexpr int kVersionMismatch = MAKE_SQLSTATE('R', 'V', '0', '0', '5');
inline constexpr int kIdempotencyMismatch = MAKE_SQLSTATE('R', 'V', '0', '0', '6');
inline constexpr int kPaymentInFlight = MAKE_SQLSTATE('R', 'V', '0', '0', '7');
inline constexpr int kAcquisitionClosed = MAKE_SQLSTATE('R', 'V', '0', '0', '8');
inline constexpr int kIllegalTransition = MAKE_SQLSTATE('R', 'V', '0', '0', '9');
inline constexpr int kTimeSourceFailed = MAKE_SQLSTATE('R', 'V', '0', '1', '0');

// The element of an array argument that is meant, counted from 1; 0 for a single argument.
struct Position {
    int element;
};

// " at position 7", or nothing for a single argument; palloc'd.
inline const char *at_position(Position position)
{
    return position.element == 0 ? "" : psprintf(" at position %d", position.element);
}

[[noreturn]] void raise_null_argument(const char *argument, Position position = {0});
// detail is a sentence.
[[noreturn]] void raise_invalid_argument(const char *argument, const char *detail, Position position = {0});
[[noreturn]] void raise_no_such_hold(int64 hold_id, Position position);

// For ereport: the fields schema, table and constraint of the error.
int error_fields(const char *schema, const char *table, const char *constraint);

// Times and ranges as the session would print them.
const char *print(TimestampTz time);

}  // namespace reservation
