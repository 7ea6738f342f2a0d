// What every function of ql3 does around its body.
#pragma once

#include "own_table.hpp"
#include "spi.hpp"

namespace ql3::pg {

// Whether a call needs the SQL and the library to be of one version (55000 when they are not).
enum class versions_may { agree, differ };

// Whether the settings are pinned at once, or when a statement is about to run: for calls that mostly run none, and
// that open no subtransaction of their own.
enum class pin_when { at_once, needed };

// Whether a call may write to our tables. One that only reads takes the lock of a reader, for which it waits for nobody
// but who would change the tables themselves; one that writes takes the writer's before it reads, because the other
// way round a REINDEX in between would be a deadlock.
enum class tables_are { written, read };

// Connects to SPI and pins, for the length of the call, the settings under which our plans are made: no caller's
// planner switch may change the shape of a plan, and no lock wait exceeds 1 s (promise 8).
// On an error the (sub)transaction's abort undoes both; so the destructor acts only when the body ended well.
class session {
 public:
  session(versions_may versions, pin_when pinned, tables_are tables);
  ~session() noexcept { present_ = outer_; }
  void finish();
  // For the user's transition: our lock timeout stays, our planner pins do not. Call pin() afterwards.
  void unpin();
  void pin();
  // Called before a statement runs.
  static void pin_now() {
    if (present_ == nullptr || !present_->pins_wait_) return;
    present_->pins_wait_ = false;
    present_->pin();
  }
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  // The innermost session, and its tables: opened when they are first asked for, in the memory of the session.
  static session& present() noexcept { return *present_; }
  own_table& table(const own_table::description& what);

 private:
  static inline constinit session* present_ = nullptr;
  session* outer_ = present_;
  MemoryContext memory_;
  own_table tables_[4]{};
  const own_table::description* opened_[4]{};
  LOCKMODE lock_;
  int level_;
  int pinned_level_;
  bool pins_wait_;
};

// Our tables that are read and written without the executor. REQUIRES: inside in_session().
own_table& controls();
own_table& judgements();
own_table& dispatches();
own_table& tombstones();

// Runs `body` inside a session.
template <class Body>
auto in_session(Body&& body, versions_may versions = versions_may::agree, pin_when pinned = pin_when::at_once,
                tables_are tables = tables_are::written) {
  session opened(versions, pinned, tables);
  auto run = [&] {
    if constexpr (std::is_invocable_v<Body&, session&>) return body(opened);
    else return body();
  };
  if constexpr (std::is_void_v<decltype(run())>) {
    run();
    opened.finish();
  } else {
    auto result = run();
    opened.finish();
    return result;
  }
}

// The same for a call that only reads, also on a standby.
template <class Body>
auto in_reading_session(Body&& body) {
  return in_session(std::forward<Body>(body), versions_may::agree, pin_when::at_once, tables_are::read);
}

// The server's wall clock now, in microseconds. Read it after the lock it decides about is held.
inline instant clock_now() { return GetCurrentTimestamp(); }
// The observation: start of the calling statement.
inline instant statement_time() { return GetCurrentStatementStartTimestamp(); }

// 25006 on a standby or in a read-only transaction; `what` names the function.
void require_writable(const char* what);
// 25000 unless READ COMMITTED (READ UNCOMMITTED runs as READ COMMITTED here).
void require_read_committed(const char* what);

// Bounds the rest of the caller's transaction (promise 9): idle-in-transaction and, where there is one, transaction
// timeout, local to the transaction; a stricter value of the session stays.
void bound_transaction();
// Its first half, for an operator's call that may take longer.
void bound_idle();

// Marks the transaction as one that may not be prepared (0A000 at PREPARE TRANSACTION).
void refuse_prepare();

// A mark of the running top-level transaction: (full transaction id, system identifier) digested to 64 bits.
// `assign` gives the transaction an id where it has none; otherwise 0 says that it has none yet.
std::int64_t transaction_mark(bool assign);

// The WAL timeline this server writes.
std::uint32_t live_timeline();

std::uint64_t random_bits();

// How long one read of a user's source may take (GUC ql3.source_timeout); 0 = no limit.
int source_timeout_ms() noexcept;

// Called once from _PG_init.
void define_settings();

}  // namespace ql3::pg
