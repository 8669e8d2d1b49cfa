#pragma once
// Transaction-level heavyweight locks taken before a row is looked at. They only order those who wait: whoever waits
// for a row instead wakes with an old snapshot and walks the chain of row versions that its predecessors left. What
// protects is the row and its constraints.
#include "pg/postgres.hpp"

namespace reservation {

// Advisory locks of users have 1 or 2 in the field that this fills; any other number is a space of its own.
enum class Queue : uint16 { key = 0x5250, item };

// Waits until every earlier caller of the same id has ended its transaction.
void wait_in_queue(Queue queue, uint64 id);

}  // namespace reservation
