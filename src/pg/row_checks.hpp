// The CHECK and NOT NULL constraints of our own tables, made ready once per session. (The executor reads their stored
// form anew for every statement: most of the time of a small write.)
#pragma once

#include "boundary.hpp"

namespace ql3::pg {

// Tests the row in `slot`; with `replaced` only constraints over those columns: the others held before. 23514, 23502.
// REQUIRES: inside a leaf.
void check_row(Relation table, TupleTableSlot* slot, const bool* replaced);

// Called once from _PG_init.
void watch_own_tables();

}  // namespace ql3::pg
