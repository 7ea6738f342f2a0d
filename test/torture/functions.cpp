// The SQL functions of the module.
#include "torture.hpp"

#include <csignal>

#include "pg/args.hpp"
#include "pg/scratch.hpp"

extern "C" {
#include "storage/proc.h"
}

namespace ql3::pg::torture {

namespace {

// In a loop that only an interrupt ends, and not a wait: what a claim does between two rows.
void spin() {
  for (;;) {
    witness here;
    check_for_interrupts();
    pg_usleep(100);
  }
}

constinit statement echo{"SELECT $1", TEXTOID};
constinit statement again{"SELECT torture.fail($1, $2)", TEXTOID, TEXTOID};

Datum fail_inside(FunctionCallInfo fcinfo) {
  arguments const given(fcinfo);
  inside(given.text(0, "places"), given.text(1, "way"));
  return text_datum("went well");
}

// What a discarded failure answers: "SQLSTATE message | detail | hint", or "none".
Datum absorb(FunctionCallInfo fcinfo) {
  arguments const given(fcinfo);
  std::string_view const way = given.text(0, "way");
  ErrorData* const raised = discard([&] {
    witness here;
    inside("plain", way);
  });
  if (raised == nullptr) return text_datum("none");
  auto shown = [](const char* text) {
    return text == nullptr ? std::string_view() : std::string_view(text);
  };
  message_text<1024> text;
  text << unpack_sql_state(raised->sqlerrcode) << " " << shown(raised->message) << " | "
       << shown(raised->detail) << " | " << shown(raised->hint);
  return text_datum(text.view());
}

// What a failed call must leave as it found it.
Datum state(FunctionCallInfo) {
  Oid user;
  int context;
  GetUserIdAndSecContext(&user, &context);
  message_text<512> text;
  text << "witnesses " << witness::alive() << ", nesting " << GetCurrentTransactionNestLevel()
       << ", interrupts held " << static_cast<std::int64_t>(InterruptHoldoffCount) << ", role "
       << call([&] { return const_cast<const char*>(GetUserNameFromId(user, true)); }) << " "
       << context << ", exceptions in flight " << (std::current_exception() == nullptr ? 0 : 1)
       << ", read only " << (XactReadOnly ? 1 : 0) << ", lock held "
       << (LWLockHeldByMe(AddinShmemInitLock) ? 1 : 0);
  return text_datum(text.view());
}

Datum memory(FunctionCallInfo) {
  return Int64GetDatum(
      static_cast<std::int64_t>(MemoryContextMemAllocated(TopMemoryContext, true)));
}

// Many failures in one call, each absorbed.
Datum absorb_many(FunctionCallInfo fcinfo) {
  arguments const given(fcinfo);
  std::string_view const way = given.text(0, "way");
  int const times = given.number32(1, "times");
  std::int64_t absorbed = 0;
  in_session([&] {
    for (int at = 0; at < times; ++at) {
      check_for_interrupts();
      scratch step;
      if (discard([&] { fail(way); }) != nullptr) ++absorbed;
    }
  }, versions_may::differ);
  return Int64GetDatum(absorbed);
}

// Deaf to interrupts while first the user cancels, then a time limit runs out.
Datum cancel_then(FunctionCallInfo fcinfo) {
  int const milliseconds = arguments(fcinfo).number32(0, "milliseconds");
  call([&] {
    HOLD_INTERRUPTS();
    kill(MyProcPid, SIGINT);
    while (!QueryCancelPending) pg_usleep(1000);
    for (int waited = 0; waited < milliseconds; ++waited) pg_usleep(1000);
    RESUME_INTERRUPTS();
    CHECK_FOR_INTERRUPTS();
  });
  return BoolGetDatum(true);
}

// By how many bytes a call grows that runs a statement and keeps its text, each time in a scratch
// of its own.
Datum growth(FunctionCallInfo fcinfo) {
  arguments const given(fcinfo);
  int const times = given.number32(0, "times");
  Size before = 0;
  Size after = 0;
  in_session([&] {
    for (int at = 0; at < times; ++at) {
      scratch step;
      char text[1024];
      std::memset(text, 'x', sizeof text);
      rows const found = echo.run(params().text(std::string_view(text, sizeof text)));
      (void)keep_text(found.text(0, 1));
      if (at == 10) before = MemoryContextMemAllocated(TopMemoryContext, true);
      after = MemoryContextMemAllocated(TopMemoryContext, true);
    }
  }, versions_may::differ);
  return Int64GetDatum(static_cast<std::int64_t>(after) - static_cast<std::int64_t>(before));
}

}  // namespace

void inside(std::string_view places, std::string_view way) {
  witness here;
  std::size_t const slash = places.find('/');
  std::string_view const place = places.substr(0, slash);
  auto rest = [&] {
    witness deeper;
    if (slash != std::string_view::npos)
      inside(places.substr(slash + 1), way);
    else if (way == "spin")
      spin();
    else if (way != "well")
      fail(way);
  };
  if (place == "plain") return rest();
  if (place == "session") return in_session(rest, versions_may::differ);
  if (place == "scratch") {
    scratch step;
    return rest();
  }
  if (place == "discard") {
    // Absorbs, and fails anew with what it absorbed: the copy must have survived the roll-back.
    if (ErrorData* const raised = discard(rest)) throw pg_error{raised};
    return;
  }
  if (place == "context") {
    // Where an error lands, the memory context is the one that call() was entered with.
    MemoryContext const before = CurrentMemoryContext;
    try {
      rest();
    } catch (const pg_error&) {
      if (CurrentMemoryContext == before) throw;
      throw error(sqlstate::internal_error, "the memory context was not put back");
    }
    return;
  }
  if (place == "keep_if") {
    keep_if([&] {
      rest();
      return true;
    });
    return;
  }
  if (place == "sql") {
    // Through the server and back into C++: an error crosses the boundary twice.
    (void)again.run(params().text(std::string_view("session")).text(way));
    return;
  }
  throw error(sqlstate::invalid_parameter,
              (message_text<128>() << "unknown place " << quoted{place}).view());
}

}  // namespace ql3::pg::torture

extern "C" {
#pragma GCC visibility push(default)
PG_MODULE_MAGIC;
#pragma GCC visibility pop
}

QL3_FUNCTION(ql3_torture_fail, ql3::pg::torture::fail_inside)
QL3_FUNCTION(ql3_torture_absorb, ql3::pg::torture::absorb)
QL3_FUNCTION(ql3_torture_absorb_many, ql3::pg::torture::absorb_many)
QL3_FUNCTION(ql3_torture_cancel_then, ql3::pg::torture::cancel_then)
QL3_FUNCTION(ql3_torture_growth, ql3::pg::torture::growth)
QL3_FUNCTION(ql3_torture_state, ql3::pg::torture::state)
QL3_FUNCTION(ql3_torture_memory, ql3::pg::torture::memory)
