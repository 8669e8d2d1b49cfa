#pragma once
// Parts of a transaction that can be undone.
#include "pg/caught.hpp"

namespace reservation {

// Where a subtransaction returns to.
class Subtransaction {
public:
    Subtransaction() : context_(CurrentMemoryContext), owner_(CurrentResourceOwner)
    {
        BeginInternalSubTransaction(nullptr);
        MemoryContextSwitchTo(context_);
    }
    void commit() const
    {
        ReleaseCurrentSubTransaction();
        resume();
    }
    void roll_back() const
    {
        RollbackAndReleaseCurrentSubTransaction();
        resume();
    }

private:
    void resume() const
    {
        MemoryContextSwitchTo(context_);
        CurrentResourceOwner = owner_;
    }
    MemoryContext context_;
    ResourceOwner owner_;
};

// Runs fn and keeps what it did, its locks included, only if it says true. An error passes through, but not before the
// subtransaction is closed: whoever catches it ends one of his own and must find no other inside.
template <class Fn>
bool all_or_nothing(Fn &&fn)
{
    const Subtransaction part;
    bool keep = false;
    ErrorData *error = caught([&] {
        keep = fn();
        if (keep)
            part.commit();
    });
    if (error != nullptr || !keep)
        part.roll_back();
    if (error != nullptr)
        ReThrowError(error);
    return keep;
}

// Runs fn; if it raises, undoes it and returns the error, else nullptr. A cancelled statement or a terminated session
// is not an error of fn and passes through.
template <class Fn>
ErrorData *attempt(Fn &&fn)
{
    const Subtransaction part;
    ErrorData *error = caught([&] {
        fn();
        part.commit();
    });
    if (error != nullptr) {
        part.roll_back();
        pass_interruption(error);
    }
    return error;
}

}  // namespace reservation
