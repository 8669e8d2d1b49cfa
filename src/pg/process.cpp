#include "pg/process.hpp"

namespace reservation {

int64 steady_clock_ms()
{
    instr_time now;
    INSTR_TIME_SET_CURRENT(now);
    return static_cast<int64>(INSTR_TIME_GET_MILLISEC(now));
}

void accept_signals()
{
    pqsignal(SIGHUP, SignalHandlerForConfigReload);
    pqsignal(SIGTERM, die);
    BackgroundWorkerUnblockSignals();
}

bool reload_if_asked()
{
    if (!ConfigReloadPending)
        return false;
    ConfigReloadPending = false;
    ProcessConfigFile(PGC_SIGHUP);
    return true;
}

bool nap(int64 ms, uint32 wait_event)
{
    const int woken =
        WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, static_cast<long>(ms), wait_event);
    if ((woken & WL_LATCH_SET) != 0)
        ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
    return (woken & WL_LATCH_SET) == 0;
}

bool is_claimed(Oid database)
{
    // The lock that every session takes when it connects.
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, database, 0);
    if (LockAcquire(&tag, RowExclusiveLock, true, true) == LOCKACQUIRE_NOT_AVAIL)
        return true;
    (void)LockRelease(&tag, RowExclusiveLock, true);
    return false;
}

void be_terminated_by_owner()
{
    StartTransactionCommand();
    if (HeapTuple tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId)); HeapTupleIsValid(tuple)) {
        MyProc->roleId = reinterpret_cast<Form_pg_database>(GETSTRUCT(tuple))->datdba;
        ReleaseSysCache(tuple);
    }
    CommitTransactionCommand();
}

bool split_names(const char *list, List **names)
{
    List *all = NIL;
    if (list != nullptr && !SplitIdentifierString(pstrdup(list), ',', &all))
        return false;
    *names = NIL;
    ListCell *cell;
    foreach (cell, all) {
        bool known = false;
        ListCell *other;
        foreach (other, *names)
            known = known || strcmp(static_cast<char *>(lfirst(cell)), static_cast<char *>(lfirst(other))) == 0;
        if (!known)
            *names = lappend(*names, lfirst(cell));
    }
    return true;
}

}  // namespace reservation
