// The only place that asks for the server's version.
#pragma once

#include "server.hpp"

extern "C" {
#include "catalog/dependency.h"
#include "storage/proc.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"
#if PG_VERSION_NUM >= 140000
#include "utils/wait_event.h"
#else
#include "pgstat.h"
#endif
}

namespace ql3::pg::compat {

// Whether the suites run on this major (docs/compatibility.md).
inline constexpr bool is_tested = PG_VERSION_NUM >= 130000 && PG_VERSION_NUM < 190000;

inline TableScanDesc table_begin(Relation table, Snapshot snapshot) {
#if PG_VERSION_NUM >= 190000
  return table_beginscan(table, snapshot, 0, nullptr, SO_NONE);
#else
  return table_beginscan(table, snapshot, 0, nullptr);
#endif
}

inline IndexScanDesc index_begin(Relation table, Relation index, Snapshot snapshot, int keys) {
#if PG_VERSION_NUM >= 190000
  return index_beginscan(table, index, snapshot, nullptr, keys, 0, SO_NONE);
#elif PG_VERSION_NUM >= 180000
  return index_beginscan(table, index, snapshot, nullptr, keys, 0);
#else
  return index_beginscan(table, index, snapshot, keys, 0);
#endif
}

inline bool is_enforced(const ConstrCheck& check) {
#if PG_VERSION_NUM >= 180000
  return check.ccenforced;
#else
  (void)check;
  return true;
#endif
}

// Writes one entry into an index. `unchanged`: the row was updated, its key was not.
inline void index_insert_one(Relation index, Datum* values, bool* nulls, ItemPointer row, Relation table,
                             IndexUniqueCheck unique, bool unchanged, IndexInfo* info) {
#if PG_VERSION_NUM >= 140000
  (void)index_insert(index, values, nulls, row, table, unique, unchanged, info);
#else
  (void)unchanged;
  (void)index_insert(index, values, nulls, row, table, unique, info);
#endif
}

// Writes the new version of a row, waiting for whoever has it. `indexes`: its B-trees need new entries (not HOT).
inline TM_Result update_row(Relation table, ItemPointer before, TupleTableSlot* after, bool* indexes) {
  TM_FailureData failed;
  LockTupleMode mode;
#if PG_VERSION_NUM >= 160000
  TU_UpdateIndexes which = TU_None;
#if PG_VERSION_NUM >= 190000
  TM_Result const done = table_tuple_update(table, before, after, GetCurrentCommandId(true), 0, InvalidSnapshot,
                                            InvalidSnapshot, true, &failed, &mode, &which);
#else
  TM_Result const done = table_tuple_update(table, before, after, GetCurrentCommandId(true), InvalidSnapshot,
                                            InvalidSnapshot, true, &failed, &mode, &which);
#endif
  *indexes = which == TU_All;
  return done;
#else
  return table_tuple_update(table, before, after, GetCurrentCommandId(true), InvalidSnapshot, InvalidSnapshot, true,
                            &failed, &mode, indexes);
#endif
}

// Waits as update_row does.
inline TM_Result delete_row(Relation table, ItemPointer row) {
  TM_FailureData failed;
#if PG_VERSION_NUM >= 190000
  return table_tuple_delete(table, row, GetCurrentCommandId(true), 0, InvalidSnapshot, InvalidSnapshot, true, &failed);
#else
  return table_tuple_delete(table, row, GetCurrentCommandId(true), InvalidSnapshot, InvalidSnapshot, true, &failed,
                            false);
#endif
}

inline Oid identity_sequence(Relation table, AttrNumber column) {
#if PG_VERSION_NUM >= 170000
  return getIdentitySequence(table, column, false);
#else
  return getIdentitySequence(RelationGetRelid(table), column, false);
#endif
}

// May the role act as the relation's owner?
inline bool owns_relation(Oid relation, Oid role) {
#if PG_VERSION_NUM >= 160000
  return object_ownercheck(RelationRelationId, relation, role);
#else
  return pg_class_ownercheck(relation, role);
#endif
}

// The timeline that WAL is written on. REQUIRES: not in recovery.
inline TimeLineID insertion_timeline() {
#if PG_VERSION_NUM >= 150000
  return GetWALInsertionTimeLine();
#else
  return ThisTimeLineID;  // set by RecoveryInProgress(), which every writing function asks first
#endif
}

inline void reserve_settings(const char* prefix) {
#if PG_VERSION_NUM >= 150000
  MarkGUCPrefixReserved(prefix);
#else
  EmitWarningsOnPlaceholders(prefix);
#endif
}

// Fires again and again where the server can: code that catches a cancel and goes on meets the next one.
inline void enable_timeout_repeated(TimeoutId id, int milliseconds) {
#if PG_VERSION_NUM >= 150000
  enable_timeout_every(id, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), milliseconds), milliseconds);
#else
  enable_timeout_after(id, milliseconds);
#endif
}

// A new tranche's name: 19 keeps it with the tranche and may have no room for another (an error); before, every backend
// that uses the tranche says it for itself.
inline int new_lock_tranche(const char* name) {
#if PG_VERSION_NUM >= 190000
  return LWLockNewTrancheId(name);
#else
  (void)name;
  return LWLockNewTrancheId();
#endif
}

inline void name_lock_tranche(int tranche, const char* name) {
#if PG_VERSION_NUM >= 190000
  (void)tranche;
  (void)name;
#else
  LWLockRegisterTranche(tranche, name);
#endif
}

// What a callback of the system's caches is told.
#if PG_VERSION_NUM >= 190000
using cache_id = SysCacheIdentifier;
#else
using cache_id = int;
#endif

// nullptr where the server has none.
#if PG_VERSION_NUM >= 140000
inline constexpr const char* memoize_setting = "enable_memoize";
#else
inline constexpr const char* memoize_setting = nullptr;
#endif

// Milliseconds; 0 = none.
#if PG_VERSION_NUM >= 170000
inline constexpr bool has_transaction_timeout = true;
inline int transaction_timeout() { return TransactionTimeout; }
#else
inline constexpr bool has_transaction_timeout = false;
inline int transaction_timeout() { return 0; }
#endif

// How the executor's entry is hooked: 18 dropped a parameter that earlier majors ignore.
#if PG_VERSION_NUM >= 180000
#define QL3_EXECUTOR_RUN(NAME) void NAME(QueryDesc* query, ScanDirection direction, uint64 count)
#define QL3_RUN_EXECUTOR(NEXT) NEXT(query, direction, count)
#else
#define QL3_EXECUTOR_RUN(NAME) \
  void NAME(QueryDesc* query, ScanDirection direction, uint64 count, bool once)
#define QL3_RUN_EXECUTOR(NEXT) NEXT(query, direction, count, once)
#endif

}  // namespace ql3::pg::compat
