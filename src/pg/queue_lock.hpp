#pragma once
// Transaction-level heavyweight locks taken before a row is looked at. They only order those who wait: whoever waits
// for a row instead wakes with an old snapshot and walks the chain of row versions that its predecessors left. What
// protects is the row and its constraints, so a transaction that uses many resources takes only the first few: it
// must not fill the server's lock table.
#include "pg/postgres.hpp"

namespace reservation {

// Advisory locks of users have 1 or 2 in the field that this fills; any other number is a space of its own.
enum class Queue : uint16 { item = 0x5250, purge };

// Goes to the head of a queue in which nobody stands. False if somebody does: then wait_in_queue.
bool join_queue(Queue queue, uint64 id);

// Waits until every earlier caller of the same id has ended its transaction.
void wait_in_queue(Queue queue, uint64 id);

}  // namespace reservation
