// Storing how an attempt ended, however long it takes.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "client/clock.hpp"
#include "client/dispatch_store.hpp"
#include "client/events.hpp"
#include "client/store_error.hpp"

namespace ql3 {

// Repeats, with growing and jittered pauses and a fresh connection after every error, until the
// database has answered. An outcome is never lost because of its text.
class OutcomeStorage {
 public:
  OutcomeStorage(DispatchStore& store, const DispatchRequest& request, const OneTimeId& token,
                 Clock::Length answer_limit, const Tell& listener, Clock& clock);

  // Stores what a call has come to; every error is waited out, because the call cannot be taken
  // back. An attempt whose row is gone is asserted again. Absent: `stop` came first.
  std::optional<SettleAnswer> keep_result(outcome what, const std::string& detail,
                                          const OneTimeId& permit, std::stop_token stop);

  // Stores that nothing was and will be sent. Absent: `stop` or `until` came first, or the
  // database refused in a way that repeating does not change; the attempt stays for recovery.
  // REQUIRES: nobody can call any more. `permit` is null when none was ever asked for.
  std::optional<SettleAnswer> keep_not_sent(const std::string& detail, const OneTimeId* permit,
                                            std::stop_token stop,
                                            std::optional<Clock::Time> until = {});

 private:
  struct Fact {
    outcome what;
    std::optional<std::string> detail;
    const OneTimeId* permit;
    bool called;
  };

  std::optional<SettleAnswer> keep(Fact fact, std::stop_token stop,
                                   std::optional<Clock::Time> until);
  SettleAnswer store_once(const Fact& fact);
  void tell_of(const char* what);

  DispatchStore& store_;
  const DispatchRequest& request_;
  const OneTimeId& token_;
  const Clock::Length answer_limit_;
  const Tell& listener_;
  Clock& clock_;
  std::string told_;
  Clock::Time told_at_;
};

}  // namespace ql3
