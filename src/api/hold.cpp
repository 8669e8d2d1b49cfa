// The functions on holds that exist: get, confirm, cancel, extend, payment, review, and their forms over arrays.
#include "lifecycle/change.hpp"

#include "api/arguments.hpp"

namespace reservation {

namespace {

// clang-format off
constinit Statement read_hold{
    SPI_OK_SELECT, {INT8OID, TEXTOID},
    "SELECT h FROM {schema}.hold AS h WHERE h.hold_id OPERATOR(pg_catalog.=) $1"
    " AND ($2 IS NULL OR h.holder OPERATOR(pg_catalog.=) $2)"};
// clang-format on

ChangeRequest request_for(Command command) { return {.command = command, .hold_ids = {}, .array = false}; }

Changed change_one(FunctionCallInfo fcinfo, ChangeRequest request)
{
    const int64 hold_id = required_int8(fcinfo, 0, "hold_id");
    request.hold_ids = {&hold_id, 1};
    Changed result{};
    with_spi([&] { change(call_of(fcinfo), request, &result); });
    return result;
}

std::span<Changed> change_all(FunctionCallInfo fcinfo, ChangeRequest request)
{
    request.hold_ids = ids_argument(fcinfo, 0, "hold_ids");
    request.array = true;
    auto *results = static_cast<Changed *>(palloc0(sizeof(Changed) * (request.hold_ids.size() + 1)));
    with_spi([&] { change(call_of(fcinfo), request, results); });
    return {results, request.hold_ids.size()};
}

Datum state_text(State state) { return CStringGetTextDatum(name_of(state)); }

// (hold_id bigint, version integer, holder text) returns text
Datum change_state(FunctionCallInfo fcinfo, Command command)
{
    ChangeRequest request = request_for(command);
    request.version = optional_int4(fcinfo, 1);
    request.holder = optional_text(fcinfo, 2);
    const Changed result = change_one(fcinfo, request);
    if (!result.found)
        PG_RETURN_NULL();
    return state_text(result.state);
}

template <class Encode>
Datum array_of(std::span<const Changed> results, Oid type, int length, bool by_value, char alignment, Encode encode)
{
    auto *elements = static_cast<Datum *>(palloc(sizeof(Datum) * (results.size() + 1)));
    for (std::size_t i = 0; i < results.size(); ++i)
        elements[i] = encode(results[i]);
    return PointerGetDatum(construct_array(elements, static_cast<int>(results.size()), type, length, by_value,
                                           alignment));
}

// (hold_ids bigint[], holder text) returns text[]
Datum change_states(FunctionCallInfo fcinfo, Command command)
{
    ChangeRequest request = request_for(command);
    request.holder = optional_text(fcinfo, 1);
    return array_of(change_all(fcinfo, request), TEXTOID, -1, false, TYPALIGN_INT,
                    [](const Changed &result) { return state_text(result.state); });
}

constexpr std::size_t kLongestReference = 1000;

text *reference_argument(FunctionCallInfo fcinfo, int n)
{
    text *reference = required_text(fcinfo, n, "reference");
    if (bytes(reference).empty() || bytes(reference).size() > kLongestReference)
        raise_invalid_argument("reference", "It must have 1 to 1000 bytes.");
    return reference;
}

}  // namespace

// hold_get(hold_id bigint, holder text) returns hold: the row, or NULL
RESERVATION_FUNCTION(hold_get)
{
    const int64 hold_id = required_int8(fcinfo, 0, "hold_id");
    const text *holder = optional_text(fcinfo, 1);
    bool null = true;
    const Datum row = with_spi([&]() -> Datum {
        const Rows rows = read_hold.look(call_of(fcinfo), {int8(hold_id), string(holder)});
        return rows.empty() ? Datum{0} : SPI_datumTransfer(rows.value(0, 1, &null), false, -1);
    });
    if (null)
        PG_RETURN_NULL();
    return row;
}

RESERVATION_FUNCTION(hold_confirm) { return change_state(fcinfo, Command::confirm); }
RESERVATION_FUNCTION(hold_try_confirm) { return change_state(fcinfo, Command::try_confirm); }
RESERVATION_FUNCTION(hold_cancel) { return change_state(fcinfo, Command::cancel); }
RESERVATION_FUNCTION(hold_confirm_all) { return change_states(fcinfo, Command::confirm); }
RESERVATION_FUNCTION(hold_cancel_all) { return change_states(fcinfo, Command::cancel); }

// hold_extend(hold_id bigint, ttl interval, version integer, holder text) returns timestamptz: the deadline
RESERVATION_FUNCTION(hold_extend)
{
    ChangeRequest request = request_for(Command::extend);
    request.ttl = ttl_argument(fcinfo, 1);
    request.version = optional_int4(fcinfo, 2);
    request.holder = optional_text(fcinfo, 3);
    return TimestampTzGetDatum(change_one(fcinfo, request).expires_at);
}

// hold_extend_all(hold_ids bigint[], ttl interval, holder text) returns timestamptz[]
RESERVATION_FUNCTION(hold_extend_all)
{
    ChangeRequest request = request_for(Command::extend);
    request.ttl = ttl_argument(fcinfo, 1);
    request.holder = optional_text(fcinfo, 2);
    return array_of(change_all(fcinfo, request), TIMESTAMPTZOID, sizeof(TimestampTz), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
                    [](const Changed &result) { return TimestampTzGetDatum(result.expires_at); });
}

// hold_begin_payment(hold_id bigint, reference text, version integer, holder text) returns integer: the version
RESERVATION_FUNCTION(hold_begin_payment)
{
    ChangeRequest request = request_for(Command::begin_payment);
    request.reference = reference_argument(fcinfo, 1);
    request.version = optional_int4(fcinfo, 2);
    request.holder = optional_text(fcinfo, 3);
    PG_RETURN_INT32(change_one(fcinfo, request).version);
}

// hold_fail_payment(hold_id bigint, reference text, holder text) returns integer: the version
RESERVATION_FUNCTION(hold_fail_payment)
{
    ChangeRequest request = request_for(Command::fail_payment);
    request.reference = reference_argument(fcinfo, 1);
    request.holder = optional_text(fcinfo, 2);
    PG_RETURN_INT32(change_one(fcinfo, request).version);
}

// hold_resolve(hold_id bigint, outcome text, note text, version integer) returns text
RESERVATION_FUNCTION(hold_resolve)
{
    (void)required_int8(fcinfo, 0, "hold_id");
    State outcome;
    if (!parse_state(bytes(required_text(fcinfo, 1, "outcome")), &outcome) ||
        (outcome != State::confirmed && outcome != State::cancelled))
        raise_invalid_argument("outcome", "It is neither confirmed nor cancelled.");
    ChangeRequest request =
        request_for(outcome == State::confirmed ? Command::resolve_confirmed : Command::resolve_cancelled);
    request.note = optional_text(fcinfo, 2);
    request.version = optional_int4(fcinfo, 3);
    return state_text(change_one(fcinfo, request).state);
}

}  // namespace reservation
