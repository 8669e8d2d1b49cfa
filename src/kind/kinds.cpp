#include "kind/kind.hpp"

#include <array>

namespace reservation {

namespace {

constexpr std::array<const Kind *, kKinds> kKindTable{&kRoom, &kItem};

}  // namespace

std::span<const Kind *const> kinds() { return kKindTable; }

const Kind *kind_named(std::string_view name)
{
    for (const Kind *kind : kKindTable)
        if (name == kind->name)
            return kind;
    return nullptr;
}

}  // namespace reservation
