// What this transaction chose behind the moved places of discovery and sweep. When it is rolled back, as a whole or to
// a savepoint, the rows it had chosen are opened as gaps, so that the next claim finds them at once.
#pragma once

#include "hints.hpp"

namespace ql3::pg {

void remember_discovered(std::string_view kind, std::int64_t generation, const place& from, const place& to) noexcept;

// Called once from _PG_init.
void watch_rollbacks();

}  // namespace ql3::pg
