#pragma once
// SQL statements over SPI: constant texts, kept plans, typed parameters and rows.
#include "pg/postgres.hpp"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <type_traits>

namespace reservation {

// What one SQL call works in: the schema in which the called function lives now.
struct Call {
    const char *schema;  // its name
    const char *quoted;  // the same as an SQL identifier
};

// The schema of the function that is being called; follows ALTER SCHEMA … RENAME, caches nothing.
Call call_of(FunctionCallInfo fcinfo);

// A parameter of a statement.
struct Value {
    Datum datum;
    bool null;
};

inline Value int8(int64 v) { return {Int64GetDatum(v), false}; }
inline Value int4(int32 v) { return {Int32GetDatum(v), false}; }
inline Value boolean(bool v) { return {BoolGetDatum(v), false}; }
inline Value instant(TimestampTz v) { return {TimestampTzGetDatum(v), false}; }
inline Value datum(Datum v) { return {v, false}; }
inline Value absent() { return {Datum{0}, true}; }
inline Value string(const text *v) { return v == nullptr ? absent() : Value{PointerGetDatum(v), false}; }
inline Value string(const char *v) { return v == nullptr ? absent() : Value{CStringGetTextDatum(v), false}; }

// The rows that a statement returned. They live until SPI_finish, or until free().
class Rows {
public:
    Rows(SPITupleTable *table, uint64 processed) : table_(table), processed_(processed) {}

    uint64 processed() const { return processed_; }  // rows read, written or locked
    bool empty() const { return processed_ == 0; }
    Datum value(uint64 row, int column, bool *null) const  // columns count from 1
    {
        if (row >= processed_)
            elog(ERROR, "a reservation statement gave only " UINT64_FORMAT " rows", processed_);
        return SPI_getbinval(table_->vals[row], table_->tupdesc, column, null);
    }
    bool is_null(uint64 row, int column) const
    {
        bool null;
        value(row, column, &null);
        return null;
    }
    int64 int8(uint64 row, int column) const { return DatumGetInt64(some(row, column)); }
    int32 int4(uint64 row, int column) const { return DatumGetInt32(some(row, column)); }
    bool boolean(uint64 row, int column) const { return DatumGetBool(some(row, column)); }
    TimestampTz instant(uint64 row, int column) const { return DatumGetTimestampTz(some(row, column)); }
    text *string(uint64 row, int column) const  // nullptr for NULL
    {
        bool null;
        const Datum d = value(row, column, &null);
        return null ? nullptr : DatumGetTextPP(d);
    }
    void free() const { SPI_freetuptable(table_); }
    bool any() const  // and frees them: for statements whose rows say nothing but that they are there
    {
        free();
        return processed_ > 0;
    }

private:
    Datum some(uint64 row, int column) const
    {
        bool null;
        const Datum d = value(row, column, &null);
        if (null)
            elog(ERROR, "unexpected NULL in column %d of a reservation statement", column);
        return d;
    }
    SPITupleTable *table_;
    uint64 processed_;
};

// The next value of a sequence of ours.
int64 next_value(const Call &call, const char *sequence);

Datum int8_array(std::span<const int64> values);

// A parameter type that only the catalog knows: hold_claim[] of the extension's schema.
inline constexpr Oid kHoldClaimArray = InvalidOid;

// How a statement finds its rows. By index: planned once, generic, never with a sequential scan, so that what the
// statistics once said about a small table cannot make a later call slow. Whole tables: planned at every execution, as
// the planner likes.
enum class Reads : std::uint8_t { by_index, whole_tables };

// One SQL text of ours with its kept plan. The text is constant and fully qualified; "{schema}" stands for the quoted
// name of the extension's schema. The plan is built at first use and again whenever it was invalidated or the schema
// has another name.
class Statement {
public:
    constexpr Statement(int result, std::initializer_list<Oid> types, const char *text, Reads reads = Reads::by_index)
        : text_(text), result_(result), reads_(reads), count_(static_cast<int>(types.size()))
    {
        int i = 0;
        for (const Oid type : types)
            types_[i++] = type;
    }

    // Runs under a snapshot taken now (READ COMMITTED) or the transaction's own. limit 0 is no limit.
    Rows run(const Call &call, std::initializer_list<Value> values, long limit = 0);
    // A SELECT that sees what is committed now at every isolation level, and this transaction's own writes.
    Rows look(const Call &call, std::initializer_list<Value> values);
    // A SELECT under the caller's snapshot: for STABLE functions.
    Rows read(const Call &call, std::initializer_list<Value> values);
    // The same, handed to each(rows, row) a batch at a time: for results of any size.
    template <class Fn>
    void stream(const Call &call, std::initializer_list<Value> values, Fn &&each)
    {
        const Portal portal = open(call, values);
        for (;;) {
            SPI_cursor_fetch(portal, true, kBatch);
            const Rows rows(SPI_tuptable, SPI_processed);
            for (uint64 i = 0; i < rows.processed(); ++i)
                each(rows, i);
            if (rows.empty())
                break;
            rows.free();
        }
        SPI_cursor_close(portal);
    }

    static constexpr int kMaxParameters = 12;

private:
    static constexpr long kBatch = 1000;
    // What SPI wants: values and nulls in two arrays.
    struct Arguments {
        Arguments(std::initializer_list<Value> values);
        Datum datums[kMaxParameters];
        char nulls[kMaxParameters];
    };

    enum class Snapshot { own, latest, callers };
    Rows execute(const Call &call, std::initializer_list<Value> values, Snapshot snapshot, long limit);
    int execute_plan(SPIPlanPtr plan, Arguments &arguments, bool read_only, long limit);
    Portal open(const Call &call, std::initializer_list<Value> values);
    SPIPlanPtr plan_for(const Call &call);

    const char *text_;
    int result_;  // the SPI_OK_… code that it must give
    Reads reads_;
    int count_;
    Oid types_[kMaxParameters] = {};
    SPIPlanPtr plan_ = nullptr;
    char planned_schema_[NAMEDATALEN] = {};
};
static_assert(std::is_trivially_destructible_v<Statement>);

// Runs fn with a connection to SPI. It is closed on success only: after an error the transaction's abort does it.
template <class Fn>
auto with_spi(Fn &&fn, int options = 0) -> std::invoke_result_t<Fn &>
{
    if (const int code = SPI_connect_ext(options); code != SPI_OK_CONNECT)
        elog(ERROR, "SPI_connect failed: %s", SPI_result_code_string(code));
    if constexpr (std::is_void_v<std::invoke_result_t<Fn &>>) {
        fn();
        SPI_finish();
    } else {
        const auto result = fn();
        SPI_finish();
        return result;
    }
}

inline std::string_view bytes(const text *v)
{
    return {VARDATA_ANY(v), static_cast<std::size_t>(VARSIZE_ANY_EXHDR(v))};
}

// At these levels the transaction's snapshot may be older than what is committed; a refusal must not rest on it.
inline bool snapshot_is_old() { return IsolationUsesXactSnapshot(); }
// Raises 40001: the caller's transaction cannot see what it would have to decide about.
[[noreturn]] void raise_serialization_failure();

}  // namespace reservation
