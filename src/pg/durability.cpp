#include "durability.hpp"

#include "session.hpp"

extern "C" {
#include "access/xlog_internal.h"
#include "replication/syncrep.h"
#include "replication/walsender_private.h"
}

namespace ql3::pg {

namespace {

constinit bool forced = false;

void raise_synchronous_commit(GucAction action) {
  // Never lowered: remote_apply stays.
  if (synchronous_commit >= SYNCHRONOUS_COMMIT_REMOTE_FLUSH) return;
  (void)set_config_option("synchronous_commit", "on", PGC_USERSET, PGC_S_SESSION, action, true, 0, false);
}

bool standbys_are_named() noexcept { return SyncRepStandbyNames != nullptr && SyncRepStandbyNames[0] != '\0'; }

// The end of what has been inserted. On a fresh page the insert position lies behind the page's header, which nobody
// has written yet: a flush up to there fails, and a wait for a standby lasts until somebody writes more.
XLogRecPtr end_of_inserted_wal() noexcept {
  XLogRecPtr const position = GetXLogInsertRecPtr();
  if (XLogSegmentOffset(position, wal_segment_size) == SizeOfXLogLongPHD) return position - SizeOfXLogLongPHD;
  if (position % XLOG_BLCKSZ == SizeOfXLogShortPHD) return position - SizeOfXLogShortPHD;
  return position;
}

}  // namespace

void force_synchronous_commit() {
  refuse_prepare();
  call([] { ForceSyncCommit(); });
  forced = true;
}

void before_commit() {
  // At the last moment: a SET LOCAL of the caller after our call would undo an earlier one (SERVER_FACTS 5).
  if (forced) raise_synchronous_commit(GUC_ACTION_LOCAL);
}

void after_transaction() { forced = false; }

bool prove_durable() {
  return call([] {
    int const level = NewGUCNestLevel();
    raise_synchronous_commit(GUC_ACTION_SAVE);
    XLogRecPtr const position = end_of_inserted_wal();
    XLogFlush(position);
    bool proven = true;
    if (standbys_are_named()) {
      // The wait ends early on a cancel, with a warning and without an error: so it is not believed, the flushed
      // position is (SERVER_FACTS 3).
      HOLD_INTERRUPTS();
      SyncRepWaitForLSN(position, true);
      RESUME_INTERRUPTS();
      LWLockAcquire(SyncRepLock, LW_SHARED);
      proven = WalSndCtl->lsn[SYNC_REP_WAIT_FLUSH] >= position;
      LWLockRelease(SyncRepLock);
    }
    AtEOXact_GUC(true, level);
    return proven;
  });
}

}  // namespace ql3::pg
