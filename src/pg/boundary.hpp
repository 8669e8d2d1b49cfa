#pragma once
// The one place where C++ exceptions meet the server's error handling.
//
// Everything below an entry point runs in the server's regime: it may raise with ereport, and so holds only objects
// whose destructors do nothing. C++ exceptions are for bugs and exhausted memory; they end here.
#include "pg/postgres.hpp"

#include <exception>
#include <new>
#include <type_traits>

namespace reservation {

// Runs fn at the top of an extern "C" entry point. A C++ exception becomes a server ERROR, raised only after the
// catch block is left: a longjmp out of it would leak the exception object.
template <class Fn>
auto boundary(Fn &&fn) -> std::invoke_result_t<Fn &>
{
    // An exception that passes a PG_TRY does not restore these; whoever catches it must.
    sigjmp_buf *const jump = PG_exception_stack;
    ErrorContextCallback *const context = error_context_stack;
    int sqlstate = ERRCODE_INTERNAL_ERROR;
    char what[256] = "unrecognized C++ exception";
    try {
        return fn();
    } catch (const std::bad_alloc &) {
        sqlstate = ERRCODE_OUT_OF_MEMORY;
        strlcpy(what, "out of memory", sizeof what);
    } catch (const std::exception &e) {
        strlcpy(what, e.what(), sizeof what);
    } catch (...) {
    }
    PG_exception_stack = jump;
    error_context_stack = context;
    ereport(ERROR, (errcode(sqlstate), errmsg_internal("%s", what)));
    pg_unreachable();
}

}  // namespace reservation

// Defines the SQL-callable function reservation_<name>; the block that follows is its body.
#define RESERVATION_FUNCTION(name)                                              \
    static Datum name##_body(FunctionCallInfo fcinfo);                          \
    extern "C" {                                                                \
    PG_FUNCTION_INFO_V1(reservation_##name);                                    \
    PGDLLEXPORT Datum reservation_##name(PG_FUNCTION_ARGS)                      \
    {                                                                           \
        return reservation::boundary([fcinfo] { return name##_body(fcinfo); }); \
    }                                                                           \
    }                                                                           \
    static Datum name##_body([[maybe_unused]] FunctionCallInfo fcinfo)
