// Is a call a statement of its own? Permission is answered before its own commit; only a statement that commits by
// itself, at once, can make the answer mean something.
#pragma once

#include "boundary.hpp"

namespace ql3::pg {

// 25001 in a transaction block, a multi-statement query, a function, DO, procedure or cursor, under a row limit, and
// wherever the call is part of a larger query. Makes a pipelined call commit before it answers.
void require_statement_of_its_own(FunctionCallInfo fcinfo, const char* what);

// Called once from _PG_init: a row limit is known to nobody but the executor's caller, so its calls are watched.
void watch_executions();

}  // namespace ql3::pg
