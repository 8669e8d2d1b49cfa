#include "pg/caught.hpp"

namespace reservation {

// A function of its own, so that no variable of a caller lives in the frame that a longjmp returns to.
ErrorData *caught(void (*run)(void *), void *argument)
{
    const MemoryContext caller = CurrentMemoryContext;
    ErrorData *volatile error = nullptr;
    PG_TRY();
    {
        run(argument);
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(caller);
        error = CopyErrorData();
        FlushErrorState();
    }
    PG_END_TRY();
    return error;
}

void pass_interruption(ErrorData *error)
{
    if (ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION)
        ReThrowError(error);
}

}  // namespace reservation
