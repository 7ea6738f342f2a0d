// The only place with version tests on server functions (DESIGN section 8).
#pragma once

#include "server.hpp"

extern "C" {
#include "storage/proc.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
}

namespace ql3::pg::compat {

inline IndexScanDesc index_begin(Relation table, Relation index, Snapshot snapshot, int keys) {
#if PG_VERSION_NUM >= 180000
  return index_beginscan(table, index, snapshot, nullptr, keys, 0);
#else
  return index_beginscan(table, index, snapshot, keys, 0);
#endif
}

}  // namespace ql3::pg::compat
