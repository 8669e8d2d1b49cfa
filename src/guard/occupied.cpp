#include "guard/occupied.hpp"

#include "guard/row.hpp"
#include "pg/clock.hpp"
#include "pg/period.hpp"

namespace reservation {

bool must_stay(const Kind &kind, State state, NullableDatum claim, TimestampTz now)
{
    if (state == State::held || state == State::pending_review)
        return true;
    return state == State::confirmed && kind.has_periods && !claim.isnull && end_of_period(claim.value) > now;
}

int claim_column_of(TupleDesc desc, const Kind &kind)
{
    return kind.has_periods ? column_of(desc, "during", TSTZRANGEOID) : column_of(desc, "quantity", INT4OID);
}

bool has_promises(Relation holds, const Kind &kind)
{
    TupleDesc desc = RelationGetDescr(holds);
    const int state_column = column_of(desc, "state", TEXTOID);
    const int claim_column = claim_column_of(desc, kind);
    const TimestampTz now = read_clock();

    const Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
    TableScanDesc scan = begin_scan(holds, snapshot);
    TupleTableSlot *slot = table_slot_create(holds, nullptr);
    bool found = false;
    while (!found && table_scan_getnextslot(scan, ForwardScanDirection, slot)) {
        bool null;
        State state;
        const Datum name = slot_getattr(slot, state_column, &null);
        if (null || !parse_state(bytes(DatumGetTextPP(name)), &state))
            continue;
        NullableDatum claim;
        claim.value = slot_getattr(slot, claim_column, &claim.isnull);
        found = must_stay(kind, state, claim, now);
        CHECK_FOR_INTERRUPTS();
    }
    ExecDropSingleTupleTableSlot(slot);
    table_endscan(scan);
    UnregisterSnapshot(snapshot);
    return found;
}

}  // namespace reservation
