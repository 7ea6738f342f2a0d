// The checks of ql3_ready: what each finds becomes one row, and nothing that it finds is an error of the call.
// docs/ready.md names them all.
#pragma once

#include "result_set.hpp"
#include "session.hpp"

namespace ql3::pg {

// A text that grows in the memory of the call.
class long_text {
 public:
  long_text() : buffer_(call([] { return makeStringInfo(); })) {}
  long_text& operator<<(std::string_view piece) {
    call([&] { appendBinaryStringInfo(buffer_, piece.data(), static_cast<int>(piece.size())); });
    return *this;
  }
  long_text& operator<<(std::int64_t number) {
    call([&] { appendStringInfo(buffer_, INT64_FORMAT, number); });
    return *this;
  }
  bool empty() const noexcept { return buffer_->len == 0; }
  std::string_view view() const noexcept { return {buffer_->data, static_cast<std::size_t>(buffer_->len)}; }

 private:
  StringInfo buffer_;
};

constexpr std::string_view level_error = "error";
constexpr std::string_view level_warning = "warning";
constexpr std::string_view for_recovery = "recovery";
constexpr std::string_view for_dispatch = "dispatch";
constexpr std::string_view for_both = "recovery, dispatch";
constexpr std::string_view for_upgrade = "upgrade";

// What a check is: its rows differ in what was found alone.
struct check {
  std::string_view name;  // stable
  std::string_view level;
  std::string_view needed_for;
};

class readiness {
 public:
  explicit readiness(FunctionCallInfo fcinfo) : result_(fcinfo) {}
  void good(const check& which, std::string_view detail) { add(which, true, detail, {}); }
  void bad(const check& which, std::string_view detail, std::string_view remedy) { add(which, false, detail, remedy); }

  // Runs one check in a subtransaction of its own. An error in it is a row that is not ok; want of memory or disk
  // (class 53) passes.
  template <class Body>
  void run(const check& which, Body&& body) {
    MemoryContext const home = CurrentMemoryContext;
    // The rows go into the store of the call, which outlives the subtransaction; a check adds them last.
    ErrorData* const raised = discard([&] {
      try {
        body();
      } catch (const error& thrown) {
        bad(which, thrown.message(), thrown.hint());
      }
    });
    MemoryContextSwitchTo(home);
    if (raised != nullptr) failed(which, raised);
  }

 private:
  void add(const check& which, bool ok, std::string_view detail, std::string_view remedy);
  void failed(const check& which, ErrorData* raised);

  result_set result_;
};

// The installation: versions, capabilities, the catalog against the contract, rights against what was granted.
void check_versions(readiness& to);
void check_installation(readiness& to);
void check_rights(readiness& to);
void check_ledger(readiness& to);
// Settings of the server that a promise stands on.
void check_settings(readiness& to);
// The present state: primary or standby, standbys, halts, sources, what others put in our way.
void check_state(readiness& to);
void check_sources(readiness& to);

}  // namespace ql3::pg
