#pragma once
// Every difference between the supported server versions, one shim each. No version test stands anywhere else.

extern "C" {
#if PG_VERSION_NUM >= 160000
#include "varatt.h"  // 16 moved the varlena macros out of postgres.h
#endif
}
