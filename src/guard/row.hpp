#pragma once
// A row in a trigger, by column name. Triggers judge by content alone: the relation's name and OID are not looked at,
// so the same functions guard copies of our tables, such as shards.
#include "pg/postgres.hpp"

#include <cstdint>

namespace reservation {

// The values of one row, readable and replaceable.
class Row {
public:
    Row(HeapTuple tuple, TupleDesc desc) : tuple_(tuple), desc_(desc)
    {
        values_ = static_cast<Datum *>(palloc(sizeof(Datum) * static_cast<Size>(desc->natts)));
        nulls_ = static_cast<bool *>(palloc(sizeof(bool) * static_cast<Size>(desc->natts)));
        heap_deform_tuple(tuple, desc, values_, nulls_);
    }

    bool is_null(int column) const { return nulls_[column - 1]; }
    Datum value(int column) const { return values_[column - 1]; }
    void set(int column, Datum value)
    {
        values_[column - 1] = value;
        nulls_[column - 1] = false;
        changed_ = true;
    }
    // The tuple with what was set.
    HeapTuple tuple() const { return changed_ ? heap_form_tuple_like() : tuple_; }

private:
    HeapTuple heap_form_tuple_like() const
    {
        HeapTuple copy = heap_form_tuple(desc_, values_, nulls_);
        copy->t_self = tuple_->t_self;
        copy->t_tableOid = tuple_->t_tableOid;
        return copy;
    }
    HeapTuple tuple_;
    TupleDesc desc_;
    Datum *values_;
    bool *nulls_;
    bool changed_ = false;
};

// The number of a column, from 1; raises if the table has no such column of that type.
int column_of(TupleDesc desc, const char *name, Oid type);

// Equality of one column of two rows, NULLs being equal.
bool same(const Row &a, const Row &b, TupleDesc desc, int column);

// What a guard may be attached to, always BEFORE: changes of rows, or TRUNCATE of a table.
enum class Guards : std::uint8_t { inserts_and_updates, every_change, truncation };

// The TriggerData of a call. Raises if the function was not called as a trigger of what it guards: whoever attaches it
// elsewhere would have it read rows that are not there.
const TriggerData *trigger_data(FunctionCallInfo fcinfo, Guards guards);

// Raises 23514 as a check constraint of the guarded table would; detail is a sentence.
[[noreturn]] void raise_check(const TriggerData *data, const char *rule, const char *detail);

}  // namespace reservation
