#include "session.hpp"

#include "compat.hpp"
#include "control_columns.hpp"
#include "dispatch_columns.hpp"
#include "durability.hpp"
#include "installed.hpp"
#include "lineage.hpp"
#include "vanished.hpp"
#include "scratch.hpp"

extern "C" {
#include "jit/jit.h"
#include "optimizer/cost.h"
#include "optimizer/planmain.h"
#include "storage/proc.h"
#include "utils/plancache.h"
}

namespace ql3::pg {

namespace {

constexpr int lock_wait_max_ms = 1000;
int claim_transaction_timeout_ms = 5000;
int source_timeout = 2000;
bool prepare_refused = false;

struct setting {
  const char* name;
  const char* value;
};

// jit goes with the enable_* switches: they add 1e10 to a plan's cost, which would start the compiler.
constexpr setting pins[] = {
    {"enable_seqscan", "off"},        {"enable_sort", "off"},
    {"enable_bitmapscan", "off"},     {"enable_indexscan", "on"},
    {"enable_indexonlyscan", "on"},   {"enable_nestloop", "on"},
    {"enable_incremental_sort", "on"}, {"jit", "off"},
    {"max_parallel_workers_per_gather", "0"}, {"plan_cache_mode", "force_generic_plan"},
    {compat::memoize_setting, "off"},
};

void set_local(const char* name, const char* value, GucAction action) {
  (void)set_config_option(name, value, PGC_SUSET, PGC_S_SESSION, action, true, 0, false);
}

// A setting in milliseconds where 0 means "none": tightened to `limit`, never loosened.
void tighten(const char* name, int current, int limit, GucAction action) {
  if (current > 0 && current <= limit) return;
  char value[16];
  pg_snprintf(value, sizeof value, "%d", limit);
  set_local(name, value, action);
}

void on_transaction_event(XactEvent event, void*) {
  switch (event) {
    case XACT_EVENT_PRE_PREPARE:
      if (prepare_refused)
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("cannot PREPARE a transaction that called ql3"),
                        errhint("Commit it: a claim is short and counts from its own commit.")));
      break;
    case XACT_EVENT_PRE_COMMIT:
      before_commit();
      break;
    case XACT_EVENT_COMMIT:
    case XACT_EVENT_ABORT:
      prepare_refused = false;
      after_transaction();
      break;
    default:
      break;
  }
}

}  // namespace

session::session(versions_may versions, pin_when pinned, tables_are tables)
    : lock_(tables == tables_are::read ? AccessShareLock : RowExclusiveLock), pins_wait_(pinned == pin_when::needed) {
  if (versions == versions_may::agree) require_same_version();
  level_ = call([] {
    if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "ql3 could not connect to SPI");
    int level = NewGUCNestLevel();
    tighten("lock_timeout", LockTimeout, lock_wait_max_ms, GUC_ACTION_SAVE);
    return level;
  });
  memory_ = CurrentMemoryContext;
  if (!pins_wait_) pin();
  // Last: where the constructor fails, no destructor puts the outer one back.
  present_ = this;
}

own_table& session::table(const own_table::description& what) {
  for (std::size_t at = 0;; ++at) {
    Assert(at < std::size(tables_));
    if (opened_[at] == &what) return tables_[at];
    if (opened_[at] != nullptr) continue;
    in_memory(memory_, [&] { tables_[at].open(what, lock_); });
    opened_[at] = &what;
    return tables_[at];
  }
}

static_assert(control_columns_end - 1 <= changes::capacity && judgement_columns_end - 1 <= changes::capacity &&
              attempt_columns_end - 1 <= changes::capacity && tombstone_columns_end - 1 <= changes::capacity);

own_table& controls() {
  static constexpr own_table::description what{"run_recovery_controls", "run_recovery_controls_pkey",
                                               control_column_names, control_columns_end - 1, 2};
  return session::present().table(what);
}

own_table& judgements() {
  static constexpr own_table::description what{"judgements", "judgements_pkey", judgement_column_names,
                                               judgement_columns_end - 1, 1};
  return session::present().table(what);
}

own_table& dispatches() {
  static constexpr own_table::description what{"dispatches", "dispatches_pkey", attempt_column_names,
                                               attempt_columns_end - 1, 1};
  return session::present().table(what);
}

own_table& tombstones() {
  static constexpr own_table::description what{"dispatch_tombstones", "dispatch_tombstones_pkey",
                                               tombstone_column_names, tombstone_columns_end - 1, 3};
  return session::present().table(what);
}

void session::pin() {
  pinned_level_ = call([] {
    int level = NewGUCNestLevel();
    for (const setting& each : pins)
      if (each.name != nullptr) set_local(each.name, each.value, GUC_ACTION_SAVE);
    return level;
  });
}

void session::unpin() {
  call([&] { AtEOXact_GUC(true, pinned_level_); });
}

void session::finish() {
  for (own_table& each : tables_)
    if (each.is_open()) each.close();
  call([&] {
    AtEOXact_GUC(true, level_);
    SPI_finish();
  });
}

void require_writable(const char* what) {
  if (call([] { return RecoveryInProgress(); }))
    throw error(sqlstate::read_only_transaction,
                (message_text<256>() << "cannot execute " << what << "() during recovery").view(),
                "Connect to the primary; target_session_attrs=read-write finds it.");
  if (XactReadOnly)
    throw error(sqlstate::read_only_transaction,
                (message_text<256>() << "cannot execute " << what << "() in a read-only transaction").view());
}

void require_read_committed(const char* what) {
  if (!IsolationUsesXactSnapshot()) return;
  throw error(sqlstate::invalid_transaction_state,
              (message_text<256>() << what << "() needs isolation level read committed, not "
                           << (XactIsoLevel == XACT_SERIALIZABLE ? "serializable" : "repeatable read"))
                  .view(),
              "SET TRANSACTION ISOLATION LEVEL READ COMMITTED before the first statement, or call it outside a "
              "transaction block.");
}

void bound_idle() {
  int const limit = claim_transaction_timeout_ms;
  if (limit == 0) return;
  call([&] {
    tighten("idle_in_transaction_session_timeout", IdleInTransactionSessionTimeout, limit, GUC_ACTION_LOCAL);
  });
}

void bound_transaction() {
  int const limit = claim_transaction_timeout_ms;
  if (limit == 0) return;
  bound_idle();
  call([&] {
    if constexpr (compat::has_transaction_timeout) {
      // When one is armed already, a plain SET LOCAL neither re-arms it nor leaves the idle timer on.
      int const present = compat::transaction_timeout();
      if (present == 0 || present > limit) {
        set_local("transaction_timeout", "0", GUC_ACTION_LOCAL);
        tighten("transaction_timeout", 0, limit, GUC_ACTION_LOCAL);
      }
    } else {
      // Without a transaction timeout a busy claimer is bounded statement by statement.
      tighten("statement_timeout", StatementTimeout, limit, GUC_ACTION_LOCAL);
    }
  });
}

void refuse_prepare() { prepare_refused = true; }

std::int64_t transaction_mark(bool assign) {
  std::uint64_t const id = assign ? call([] { return U64FromFullTransactionId(GetTopFullTransactionId()); })
                                  : U64FromFullTransactionId(GetTopFullTransactionIdIfAny());
  if (id == 0) return 0;
  std::uint64_t const parts[2] = {id, GetSystemIdentifier()};
  std::int64_t const mark = static_cast<std::int64_t>(
      hash_bytes_extended(reinterpret_cast<const unsigned char*>(parts), sizeof parts, 0x716c33));
  return mark == 0 ? 1 : mark;
}

std::uint32_t live_timeline() { return compat::insertion_timeline(); }

int source_timeout_ms() noexcept { return source_timeout; }

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  if (!pg_strong_random(&bits, sizeof bits)) throw error(sqlstate::internal_error, "could not generate random bits");
  return bits;
}

void define_settings() {
  DefineCustomIntVariable("ql3.claim_transaction_timeout",
                          "Bounds the rest of a transaction that called ql3; 0 turns it off.",
                          "A safeguard against a forgotten transaction, not a fence.",
                          &claim_transaction_timeout_ms, 5000, 0, INT_MAX, PGC_SUSET, GUC_UNIT_MS, nullptr,
                          nullptr, nullptr);
  DefineCustomIntVariable("ql3.source_timeout", "Bounds one read of a source; 0 turns it off.",
                          "A source that takes longer is blind for that call; the other kinds are not affected.",
                          &source_timeout, 2000, 0, INT_MAX, PGC_SUSET, GUC_UNIT_MS, nullptr, nullptr, nullptr);
  define_lineage_settings();
  define_vanished_settings();
  compat::reserve_settings("ql3");
  RegisterXactCallback(on_transaction_event, nullptr);
}

}  // namespace ql3::pg
