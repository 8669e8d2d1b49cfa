#pragma once
// Drop protection: no statement removes the extension while its holds are promised to somebody.

namespace reservation {

void install_drop_guard();

}  // namespace reservation
