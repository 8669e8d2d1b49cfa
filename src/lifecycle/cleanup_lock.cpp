#include "lifecycle/cleanup_lock.hpp"

#include "pg/settings.hpp"
#include "pg/subtransaction.hpp"

namespace reservation {

bool has_locked_nothing() { return !TransactionIdIsValid(GetTopTransactionIdIfAny()); }

bool lock_for_cleanup(const Call &call, const Kind &kind, int64 resource_id, bool may_wait)
{
    if (kind.lock(call, resource_id, Patience::none) == Lock::taken)
        return true;
    if (!may_wait || !has_locked_nothing())
        return false;
    ErrorData *error = attempt([&] {
        const int nest = NewGUCNestLevel();
        (void)set_config_option("lock_timeout", psprintf("%d", settings.reaper_lock_wait_ms), PGC_USERSET,
                                PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
        (void)kind.lock(call, resource_id, Patience::wait);
        AtEOXact_GUC(false, nest);
    });
    if (error != nullptr && error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
        ReThrowError(error);
    return error == nullptr;
}

}  // namespace reservation
