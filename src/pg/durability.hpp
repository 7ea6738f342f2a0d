// Making sure that a commit, and what it stands on, survives (promise 12).
#pragma once

#include "boundary.hpp"

namespace ql3::pg {

// The running transaction commits synchronously whatever the session says, before or after this call; and it may not
// be prepared.
void force_synchronous_commit();

// Everything visible now is on this server's disk when it returns.
void flush_what_is_visible();

// Proves that the standbys named in synchronous_standby_names have on disk whatever was written up to now, this
// transaction's own rows included; true where none is named. Waits as long as for a lock, at most 1 s. False: not
// proven (a standby that is gone or behind, names that are not in force yet).
// REQUIRES: the transaction has written something: a position that an earlier set of standbys confirmed, on a server
// that is idle since, says nothing about the ones named now.
bool standbys_have_all();

// Called at PRE_COMMIT; see session.cpp.
void before_commit();
void after_transaction();

}  // namespace ql3::pg
