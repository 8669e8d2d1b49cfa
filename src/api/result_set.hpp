#pragma once
// The rows of a set-returning function, collected by the server: no state between calls, and they may be many.
#include "pg/statement.hpp"

namespace reservation {

class ResultSet {
public:
    // flags as for InitMaterializedSRF.
    ResultSet(FunctionCallInfo fcinfo, uint32 flags)
    {
        InitMaterializedSRF(fcinfo, flags);
        info_ = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    }

    void put(std::initializer_list<Value> row) const
    {
        static constexpr std::size_t kMostColumns = 4;
        Assert(row.size() <= kMostColumns);
        Datum values[kMostColumns];
        bool nulls[kMostColumns];
        std::size_t i = 0;
        for (const Value &value : row) {
            values[i] = value.datum;
            nulls[i++] = value.null;
        }
        tuplestore_putvalues(info_->setResult, info_->setDesc, values, nulls);
    }

private:
    ReturnSetInfo *info_;
};

}  // namespace reservation
