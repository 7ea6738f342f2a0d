// Making sure that a commit, and what it stands on, survives (DESIGN promise 12).
#pragma once

#include "boundary.hpp"

namespace ql3::pg {

// The running transaction commits synchronously whatever the session says, before or after this call; and it may not
// be prepared.
void force_synchronous_commit();

// Proves that everything visible now is flushed here and, where synchronous standbys are named, on them. False: not
// proven (a cancelled wait, a standby that is gone, names that are not in force yet).
bool prove_durable();

// Called at PRE_COMMIT; see session.cpp.
void before_commit();
void after_transaction();

}  // namespace ql3::pg
