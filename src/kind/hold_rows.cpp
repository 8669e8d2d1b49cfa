#include "kind/hold_rows.hpp"

namespace reservation {

Facts Hold::facts() const
{
    return {state, expires_at, payment_reference != nullptr, kind->cancellable_when_confirmed};
}

Hold hold_from(const Kind &kind, const Rows &rows, uint64 row)
{
    State state;
    if (!parse_state(bytes(rows.string(row, 3)), &state))
        elog(ERROR, "hold %lld has an unknown state", static_cast<long long>(rows.int8(row, 1)));
    return {
        .hold_id = rows.int8(row, 1),
        .kind = &kind,
        .resource_id = rows.int8(row, 2),
        .state = state,
        .version = rows.int4(row, 4),
        .expires_at = rows.instant(row, 5),
        .created_at = rows.instant(row, 6),
        .changed_at = rows.instant(row, 7),
        .holder = rows.string(row, 8),
        .payment_reference = rows.string(row, 9),
        .units = rows.is_null(row, 10) ? 0 : rows.int4(row, 10),
    };
}

bool write_hold(const Call &call, const Hold &seen, State state, TimestampTz expires_at, const text *payment_reference,
                TimestampTz now)
{
    return seen.kind->write
               ->run(call, {int8(seen.hold_id), int8(seen.resource_id), string(name_of(seen.state)), int4(seen.version),
                            string(name_of(state)), instant(expires_at), string(payment_reference), instant(now)})
               .processed() == 1;
}

Hold take_hold(const Kind &kind, const Rows &rows)
{
    const auto copy = [](text *value) {
        return value == nullptr ? nullptr
                                : cstring_to_text_with_len(bytes(value).data(), static_cast<int>(bytes(value).size()));
    };
    Hold hold = hold_from(kind, rows, 0);
    hold.holder = copy(hold.holder);
    hold.payment_reference = copy(hold.payment_reference);
    rows.free();
    return hold;
}

std::span<Hold> holds_from(const Kind &kind, const Rows &rows)
{
    auto *holds = static_cast<Hold *>(palloc(sizeof(Hold) * (rows.processed() + 1)));
    for (uint64 i = 0; i < rows.processed(); ++i)
        holds[i] = hold_from(kind, rows, i);
    return {holds, rows.processed()};
}

}  // namespace reservation
