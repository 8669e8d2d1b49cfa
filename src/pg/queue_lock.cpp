#include "pg/queue_lock.hpp"

namespace reservation {

namespace {

constexpr int kMostPerTransaction = 32;

// Counts the locks of this transaction. Transactions are told apart by their start; two that share it would only take
// fewer locks.
bool has_enough()
{
    static constinit TimestampTz counted_transaction = 0;
    static constinit int count = 0;
    if (const TimestampTz start = GetCurrentTransactionStartTimestamp(); start != counted_transaction) {
        counted_transaction = start;
        count = 0;
    }
    return ++count > kMostPerTransaction;
}

LockAcquireResult acquire(Queue queue, uint64 id, bool dont_wait)
{
    LOCKTAG tag;
    SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, static_cast<uint32>(id >> 32), static_cast<uint32>(id),
                         static_cast<uint16>(queue));
    return LockAcquire(&tag, ExclusiveLock, false, dont_wait);
}

}  // namespace

bool join_queue(Queue queue, uint64 id)
{
    return (queue == Queue::item && has_enough()) || acquire(queue, id, true) != LOCKACQUIRE_NOT_AVAIL;
}

void wait_in_queue(Queue queue, uint64 id) { (void)acquire(queue, id, false); }

}  // namespace reservation
