#include "pg/queue_lock.hpp"

namespace reservation {

void wait_in_queue(Queue queue, uint64 id)
{
    LOCKTAG tag;
    SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, static_cast<uint32>(id >> 32), static_cast<uint32>(id),
                         static_cast<uint16>(queue));
    (void)LockAcquire(&tag, ExclusiveLock, false, false);
}

}  // namespace reservation
