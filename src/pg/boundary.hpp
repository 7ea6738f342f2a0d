// The boundary between C++ and the server (docs/boundary.md).
//
// enter()  : the server calls C++. No C++ exception leaves it; an error keeps its SQLSTATE, detail and hint.
// call()   : C++ calls the server. A server error becomes a pg_error exception after the longjmp has landed.
// discard(): runs a body in an internal subtransaction that is always rolled back; the only place that may
//            absorb a server error.
//
// Invariants:
//  - between sigsetjmp and the server call there is no object with a destructor: a leaf handed to call() holds
//    PODs and references only, so the longjmp skips C frames and nothing else;
//  - the exception is thrown from the frame in which the longjmp landed, so C++ frames unwind normally;
//  - ereport happens only after every catch block was left, from a frame that holds PODs only.
#pragma once

#include "server.hpp"

#include <csetjmp>

namespace ql3::pg {

// A server error on its way through C++ frames. The copy lives in the memory context that was current when
// enter() began (error_home), because contexts made further in, such as a scratch, are deleted while the
// exception passes; enter() re-raises it whole.
struct pg_error {
  ErrorData* data;
};

// Copies the error that has just landed, makes `context` current and clears the server's error state. Never fails:
// where the copy itself runs out of memory, a static error with the SQLSTATE of the original is returned.
ErrorData* take_server_error(MemoryContext context) noexcept;

// Where errors are kept until enter() ends; set by enter() alone.
class error_home {
 public:
  error_home() noexcept : outer_(present_) { present_ = CurrentMemoryContext; }
  ~error_home() noexcept { present_ = outer_; }
  error_home(const error_home&) = delete;
  error_home& operator=(const error_home&) = delete;
  static MemoryContext present() noexcept { return present_; }

 private:
  static inline constinit MemoryContext present_ = nullptr;
  MemoryContext outer_;
};

// Puts PG_exception_stack and error_context_stack back, also when a leaf throws (which it must not do).
class stack_keeper {
 public:
  stack_keeper() noexcept
      : exception_stack_(PG_exception_stack), context_stack_(error_context_stack) {}
  ~stack_keeper() noexcept { restore(); }
  stack_keeper(const stack_keeper&) = delete;
  stack_keeper& operator=(const stack_keeper&) = delete;
  void restore() noexcept {
    PG_exception_stack = exception_stack_;
    error_context_stack = context_stack_;
  }

 private:
  sigjmp_buf* exception_stack_;
  ErrorContextCallback* context_stack_;
};

template <class Leaf>
[[gnu::noinline]] auto call(Leaf&& leaf) -> std::invoke_result_t<Leaf&> {
  using result = std::invoke_result_t<Leaf&>;
  static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Leaf>>,
                "a leaf may capture references and PODs only");
  static_assert(std::is_void_v<result> || std::is_trivially_destructible_v<result>,
                "the result of a server call must be trivially destructible");
  stack_keeper keeper;
  MemoryContext const context = CurrentMemoryContext;
  sigjmp_buf landing;
  if (sigsetjmp(landing, 0) == 0) {
    PG_exception_stack = &landing;
    return leaf();
  }
  keeper.restore();
  throw pg_error{take_server_error(context)};
}

// What enter() carries out of its catch block: PODs only.
struct failure {
  ErrorData* server;
  char sqlstate[6];
  char message[512];
  char detail[512];
  char hint[512];
};

void keep(failure& slot, const error& thrown) noexcept;
void keep(failure& slot, const char* sqlstate, const char* message) noexcept;
[[noreturn]] void raise(const failure& slot);

template <class Body>
Datum enter(FunctionCallInfo fcinfo, Body body) {
  failure slot{};
  try {
    error_home here;
    return body(fcinfo);
  } catch (const pg_error& thrown) {
    slot.server = thrown.data;
  } catch (const error& thrown) {
    keep(slot, thrown);
  } catch (const std::bad_alloc&) {
    keep(slot, sqlstate::out_of_memory, "out of memory");
  } catch (const std::exception& thrown) {
    keep(slot, sqlstate::internal_error, thrown.what());
  } catch (...) {
    keep(slot, sqlstate::internal_error, "unknown C++ exception");
  }
  raise(slot);
}

// True for errors that must never be absorbed: the user's cancel, timeouts of the session, shutdown.
bool must_pass(const ErrorData* data) noexcept;

// The internal subtransaction of discard() and keep_if(). Whichever way it ends, the caller stands again in the memory
// context and under the resource owner in which it began. No destructor: only those two know how it must end.
class subtransaction {
 public:
  subtransaction() : context_(CurrentMemoryContext), owner_(CurrentResourceOwner) {
    call([this] {
      BeginInternalSubTransaction(nullptr);
      MemoryContextSwitchTo(context_);
    });
  }
  subtransaction(const subtransaction&) = delete;
  subtransaction& operator=(const subtransaction&) = delete;
  void keep() {
    call([this] {
      ReleaseCurrentSubTransaction();
      return_to_caller();
    });
  }
  void roll_back() {
    call([this] {
      RollbackAndReleaseCurrentSubTransaction();
      return_to_caller();
    });
  }

 private:
  void return_to_caller() noexcept {
    MemoryContextSwitchTo(context_);
    CurrentResourceOwner = owner_;
  }

  MemoryContext context_;
  ResourceOwner owner_;
};

// Runs `body` in an internal subtransaction that is always rolled back, and answers the server error it raised, or
// nullptr. A cancel or shutdown is re-thrown, as is every C++ exception; the subtransaction is rolled back first.
// `body` must copy what it needs into the context that was current at the call: nothing else survives.
template <class Body>
ErrorData* discard(Body&& body) {
  subtransaction inner;
  ErrorData* raised = nullptr;
  try {
    body();
  } catch (const pg_error& thrown) {
    raised = thrown.data;
  } catch (...) {
    inner.roll_back();
    throw;
  }
  inner.roll_back();
  if (raised != nullptr && must_pass(raised)) throw pg_error{raised};
  return raised;
}

// Runs `body` in an internal subtransaction that is kept when it answers true and rolled back when it answers false.
// An error rolls back and goes on to the caller.
template <class Body>
void keep_if(Body&& body) {
  subtransaction inner;
  try {
    if (body()) {
      inner.keep();
      return;
    }
  } catch (...) {
    // Also when the release itself failed: the caller must not be left one level too deep.
    inner.roll_back();
    throw;
  }
  inner.roll_back();
}

inline void check_for_interrupts() {
  if (InterruptPending) call([] { CHECK_FOR_INTERRUPTS(); });
}

// A notice below ERROR. It may allocate and so may fail: always guarded.
void warn(const char* sqlstate, std::string_view message, std::string_view hint = {});

}  // namespace ql3::pg

// The C shell of one SQL function. BODY is `Datum name(FunctionCallInfo)` in namespace ql3::pg.
#define QL3_FUNCTION(SQL_NAME, BODY)                                                        \
  extern "C" {                                                                              \
  _Pragma("GCC visibility push(default)") PG_FUNCTION_INFO_V1(SQL_NAME);                    \
  Datum SQL_NAME(PG_FUNCTION_ARGS) { return ::ql3::pg::enter(fcinfo, BODY); }               \
  _Pragma("GCC visibility pop")                                                             \
  }
