#pragma once
// Catching a server ERROR: the only PG_TRY of the extension.
#include "pg/postgres.hpp"

#include <type_traits>

namespace reservation {

// Runs a function; the error that it raised, copied into the caller's memory, or nullptr. Whoever gets an error must
// raise again or roll a subtransaction back, and then hand a cancellation on with pass_interruption.
ErrorData *caught(void (*run)(void *), void *argument);

template <class Fn>
ErrorData *caught(Fn &&fn)
{
    using Function = std::remove_reference_t<Fn>;
    return caught([](void *argument) { (*static_cast<Function *>(argument))(); }, &fn);
}

// Raises the error again if it is a cancellation or a termination.
void pass_interruption(ErrorData *error);

}  // namespace reservation
