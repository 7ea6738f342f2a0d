#include "durability.hpp"

#include "compat.hpp"
#include "session.hpp"

extern "C" {
#include "access/xlog_internal.h"
#include "replication/syncrep.h"
#include "replication/walsender_private.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/timestamp.h"
}

namespace ql3::pg {

namespace {

constinit bool forced = false;

void raise_synchronous_commit(GucAction action) {
  // Never lowered: remote_apply stays.
  if (synchronous_commit >= SYNCHRONOUS_COMMIT_REMOTE_FLUSH) return;
  (void)set_config_option("synchronous_commit", "on", PGC_USERSET, PGC_S_SESSION, action, true, 0,
                          false);
}

constexpr long poll_ms = 2;

// The end of what was written. When WAL ends with a page, the insert position is already behind the
// next page's header, which is not there yet: a flush to there would fail.
XLogRecPtr end_of_wal() {
  XLogRecPtr const next = GetXLogInsertRecPtr();
  if (XLogSegmentOffset(next, wal_segment_size) == SizeOfXLogLongPHD)
    return next - SizeOfXLogLongPHD;
  if (next % XLOG_BLCKSZ == SizeOfXLogShortPHD) return next - SizeOfXLogShortPHD;
  return next;
}

bool standbys_are_named() noexcept {
  return SyncRepStandbyNames != nullptr && SyncRepStandbyNames[0] != '\0';
}

}  // namespace

void force_synchronous_commit() {
  refuse_prepare();
  call([] { ForceSyncCommit(); });
  forced = true;
}

void before_commit() {
  // At the last moment: a SET LOCAL of the caller after our call would undo an earlier one.
  if (forced) raise_synchronous_commit(GUC_ACTION_LOCAL);
}

void after_transaction() { forced = false; }

void flush_what_is_visible() {
  call([] { XLogFlush(end_of_wal()); });
}

bool standbys_have_all() {
  if (!standbys_are_named()) return true;
  return call([] {
    XLogRecPtr const position = end_of_wal();
    XLogFlush(position);
    TimestampTz const end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), LockTimeout);
    // Not SyncRepWaitForLSN: it waits without a limit, and a cancel ends it early with a mere
    // warning. The confirmed position is what counts.
    for (;;) {
      LWLockAcquire(SyncRepLock, LW_SHARED);
      bool const proven = WalSndCtl->lsn[SYNC_REP_WAIT_FLUSH] >= position;
      LWLockRelease(SyncRepLock);
      long const left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), end);
      if (proven || left <= 0) return proven;
      (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, Min(left, poll_ms),
                      PG_WAIT_EXTENSION);
      ResetLatch(MyLatch);
      CHECK_FOR_INTERRUPTS();
    }
  });
}

}  // namespace ql3::pg
