#pragma once
// Confirmed stock leaves only when it is purged: the units that it occupies then leave the capacity.
#include "kind/kind.hpp"

namespace reservation {

extern const Sold kSoldStock;

}  // namespace reservation
