// The guard of the hold tables: what every writer is bound to, raw SQL of a superuser included. It judges by the
// content of the row, writes no table, and is the last of the BEFORE triggers by name, so that it sees what will be
// stored.
#include "core/lifecycle_table.hpp"
#include "guard/occupied.hpp"
#include "guard/row.hpp"
#include "kind/kind.hpp"
#include "pg/boundary.hpp"
#include "pg/clock.hpp"
#include "pg/period.hpp"
#include "pg/report.hpp"
#include "pg/settings.hpp"

#include <optional>

namespace reservation {

namespace {

// Where the columns of a hold are in the guarded table.
struct Columns {
    explicit Columns(TupleDesc desc, const Kind &kind)
        : hold_id(column_of(desc, "hold_id", INT8OID)), resource(column_of(desc, kind.resource_column, INT8OID)),
          claim(claim_column_of(desc, kind)), state(column_of(desc, "state", TEXTOID)),
          expires_at(column_of(desc, "expires_at", TIMESTAMPTZOID)), version(column_of(desc, "version", INT4OID)),
          payment_reference(column_of(desc, "payment_reference", TEXTOID)),
          created_at(column_of(desc, "created_at", TIMESTAMPTZOID)),
          changed_at(column_of(desc, "changed_at", TIMESTAMPTZOID))
    {
    }
    int hold_id, resource, claim, state, expires_at, version, payment_reference, created_at, changed_at;
};

// The kind whose name the trigger was created with.
const Kind &kind_of(const TriggerData *data)
{
    const Trigger *trigger = data->tg_trigger;
    const Kind *kind = trigger->tgnargs == 1 ? kind_named(trigger->tgargs[0]) : nullptr;
    if (kind == nullptr)
        ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                        errmsg("trigger \"%s\" must be created with the name of a kind of resource",
                               trigger->tgname)));
    return *kind;
}

// A NULL is left to the NOT NULL constraint of its column.
std::optional<State> state_of(const TriggerData *data, const Row &row, const Columns &columns)
{
    if (row.is_null(columns.state))
        return {};
    State state;
    if (!parse_state(bytes(DatumGetTextPP(row.value(columns.state))), &state))
        raise_check(data, "hold_state", "A state is held, confirmed, cancelled, expired or pending_review.");
    return state;
}

void check_claim(const TriggerData *data, const Kind &kind, const Row &row, const Columns &columns)
{
    if (row.is_null(columns.claim))
        return;
    if (kind.has_periods) {
        if (const char *problem = problem_of_period(row.value(columns.claim)); problem != nullptr)
            raise_check(data, "slot_hold_period", problem);
    } else if (DatumGetInt32(row.value(columns.claim)) <= 0) {
        raise_check(data, "stock_hold_quantity_check", "A quantity must be greater than zero.");
    }
}

// A row is inserted as it is given, so that imports and restores work; what is left out is filled in.
HeapTuple guard_insert(const TriggerData *data, const Kind &kind)
{
    TupleDesc desc = RelationGetDescr(data->tg_relation);
    const Columns columns(desc, kind);
    Row row(data->tg_trigtuple, desc);
    (void)state_of(data, row, columns);
    check_claim(data, kind, row, columns);
    if (row.is_null(columns.version))
        row.set(columns.version, Int32GetDatum(1));
    if (row.is_null(columns.created_at))
        row.set(columns.created_at,
                row.is_null(columns.changed_at) ? TimestampTzGetDatum(read_clock()) : row.value(columns.changed_at));
    if (row.is_null(columns.changed_at))
        row.set(columns.changed_at, row.value(columns.created_at));
    return row.tuple();
}

[[noreturn]] void raise_illegal(const Row &old, const Columns &columns, const char *message, const char *detail)
{
    ereport(ERROR, (errcode(kIllegalTransition),
                    errmsg("%s of hold %lld", message, static_cast<long long>(DatumGetInt64(old.value(columns.hold_id)))),
                    errdetail("%s", detail)));
    pg_unreachable();
}

void check_transition(const Row &old, const Columns &columns, const Facts &before, State after, TimestampTz now)
{
    if (!transition_exists(before.state, after, before.cancellable_when_confirmed))
        raise_illegal(old, columns, "illegal transition",
                      psprintf("A hold that is %s does not become %s.", name_of(before.state), name_of(after)));
    if (before.state != State::held)
        return;
    const bool overdue = is_overdue(before.deadline, now, settings.expiry_grace());
    switch (after) {
    case State::confirmed:
        if (!is_live(before.deadline, now))
            ereport(ERROR, (errcode(kHoldExpired),
                            errmsg("hold %lld has expired",
                                   static_cast<long long>(DatumGetInt64(old.value(columns.hold_id)))),
                            errdetail("Its deadline was %s.", print(before.deadline))));
        break;
    case State::expired:
        if (!overdue || before.in_flight)
            raise_illegal(old, columns, "illegal expiry",
                          overdue ? "A payment is in flight." : "Its deadline and the grace have not passed.");
        break;
    case State::pending_review:
        if (!overdue || !before.in_flight)
            raise_illegal(old, columns, "illegal review",
                          overdue ? "No payment is in flight." : "Its deadline and the grace have not passed.");
        break;
    case State::cancelled:
        if (before.in_flight)
            raise_illegal(old, columns, "illegal cancellation", "A payment is in flight.");
        break;
    case State::held: break;
    }
}

HeapTuple guard_update(const TriggerData *data, const Kind &kind)
{
    TupleDesc desc = RelationGetDescr(data->tg_relation);
    const Columns columns(desc, kind);
    const Row old(data->tg_trigtuple, desc);
    Row row(data->tg_newtuple, desc);

    const std::optional<State> from = state_of(data, old, columns);
    const std::optional<State> to = state_of(data, row, columns);
    if (!from || !to || row.is_null(columns.expires_at))
        return row.tuple();
    if (*from == State::expired || *from == State::cancelled)
        raise_illegal(old, columns, "illegal change", psprintf("A hold that is %s never changes.", name_of(*from)));
    for (const int column : {columns.hold_id, columns.resource, columns.claim, columns.created_at})
        if (!same(old, row, desc, column))
            raise_illegal(old, columns, "illegal change",
                          psprintf("Its %s never changes.", NameStr(TupleDescAttr(desc, column - 1)->attname)));

    const Facts before{*from, DatumGetTimestampTz(old.value(columns.expires_at)),
                       !old.is_null(columns.payment_reference), kind.cancellable_when_confirmed};
    const TimestampTz previous = DatumGetTimestampTz(old.value(columns.changed_at));
    const TimestampTz now =
        time_of_decision(row.is_null(columns.changed_at) ? previous
                                                         : DatumGetTimestampTz(row.value(columns.changed_at)),
                         previous);
    const TimestampTz deadline = DatumGetTimestampTz(row.value(columns.expires_at));
    if (deadline != before.deadline &&
        (*from != State::held || *to != State::held || deadline < before.deadline || !is_live(before.deadline, now)))
        raise_illegal(old, columns, "illegal deadline", "The deadline of a live hold may move forward, and no other.");
    if (*from != *to)
        check_transition(old, columns, before, *to, now);

    const int32 version = DatumGetInt32(old.value(columns.version));
    if (version == PG_INT32_MAX)
        raise_illegal(old, columns, "illegal change", "Its version has reached the largest number.");
    row.set(columns.version, Int32GetDatum(version + 1));
    row.set(columns.changed_at, TimestampTzGetDatum(now));
    return row.tuple();
}

HeapTuple guard_delete(const TriggerData *data, const Kind &kind)
{
    TupleDesc desc = RelationGetDescr(data->tg_relation);
    const Columns columns(desc, kind);
    const Row old(data->tg_trigtuple, desc);
    const std::optional<State> state = state_of(data, old, columns);
    if (state && must_stay(kind, *state, {old.value(columns.claim), old.is_null(columns.claim)}, read_clock()))
        raise_illegal(old, columns, "illegal removal", "It occupies capacity that was promised.");
    return data->tg_trigtuple;
}

}  // namespace

// hold_guard(kind) as a BEFORE INSERT OR UPDATE OR DELETE row trigger
RESERVATION_FUNCTION(hold_guard)
{
    const TriggerData *data = trigger_data(fcinfo, Guards::every_change);
    const Kind &kind = kind_of(data);
    if (TRIGGER_FIRED_BY_INSERT(data->tg_event))
        return PointerGetDatum(guard_insert(data, kind));
    if (TRIGGER_FIRED_BY_UPDATE(data->tg_event))
        return PointerGetDatum(guard_update(data, kind));
    return PointerGetDatum(guard_delete(data, kind));
}

// hold_truncate_guard(kind) as a BEFORE TRUNCATE statement trigger
RESERVATION_FUNCTION(hold_truncate_guard)
{
    const TriggerData *data = trigger_data(fcinfo, Guards::truncation);
    if (has_promises(data->tg_relation, kind_of(data)))
        ereport(ERROR, (errcode(kIllegalTransition),
                        errmsg("cannot truncate \"%s\": it has holds that occupy capacity",
                               RelationGetRelationName(data->tg_relation))));
    return Datum{0};
}

}  // namespace reservation
