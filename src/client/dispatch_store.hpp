// What a writer asks the control database, and what it may answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "client/claim_token.hpp"
#include "client/clock.hpp"
#include "client/duration.hpp"
#include "client/export.hpp"
#include "core/dispatch.hpp"

namespace ql3 {

// A token or permit id. There is no way to make one of a text, so none can be stored and used
// again, and it has no printing of its own: the text leaves it only as a statement's parameter.
class QL3_API OneTimeId {
 public:
  // From the operating system's generator. std::system_error when it gives nothing.
  static OneTimeId random() { return OneTimeId(ClaimToken::random()); }

  OneTimeId(const OneTimeId&) = delete;
  OneTimeId& operator=(const OneTimeId&) = delete;

  const std::string& parameter() const noexcept { return id_.parameter(); }

 private:
  explicit OneTimeId(ClaimToken id) : id_(std::move(id)) {}
  ClaimToken id_;
};

// One action on one item of one request.
struct DispatchRequest {
  std::string request_uid;
  std::string item;
  std::string action;
  // A JSON object.
  std::string arguments = "{}";
  // This process, in the owner pattern.
  std::string writer;
  // How long after the last sign of life recovery may look at the attempt.
  Milliseconds observe_after = std::chrono::minutes(5);
};

// How far the log of the answering server has come. On one database it only grows.
struct LogPlace {
  std::int64_t timeline = 0;
  std::int64_t position = 0;
  friend constexpr bool operator==(const LogPlace&, const LogPlace&) = default;
};

// The server at `now` has lost something of what it had at `before`: it was rolled back, or is
// another one.
constexpr bool is_behind(const LogPlace& now, const LogPlace& before) noexcept {
  return now.timeline < before.timeline || now.position < before.position;
}

enum class ClaimVerdict { recorded, released, identity_conflict, concluded, foreign, halted };

struct ClaimAnswer {
  ClaimVerdict verdict;
  // State of the attempt that stands for the item, when there is one.
  std::string state;
  std::string detail;
  LogPlace place;
};

struct PermitAnswer {
  bool granted;
  // Where it was granted, of the server that did, from after the permission.
  LogPlace place;
};

enum class ExtendAnswer { extended, foreign, concluded, absent };
enum class SettleAnswer { recorded, foreign, concluded, absent };
enum class ReassertAnswer { recorded, foreign, concluded };

// The dispatch calls of one writable primary over one connection. Every call is one statement in a
// transaction of its own and waits at most `limit`; it returns when the statement has completed
// and its commit is confirmed, also by the standbys. Everything else is a StoreError; `lost_reply`
// also stands for a commit whose wait for the standbys was cancelled, `malformed` for an answer
// that is not understood. Every call but permit may be repeated with the same arguments.
// Thread rule: one thread at a time.
class QL3_API DispatchStore {
 public:
  virtual ~DispatchStore() = default;

  virtual ClaimAnswer claim(const DispatchRequest& request, const OneTimeId& token,
                            Clock::Length limit) = 0;
  virtual PermitAnswer permit(const DispatchRequest& request, const OneTimeId& token,
                              const OneTimeId& permit, Clock::Length limit) = 0;
  virtual ExtendAnswer extend(const DispatchRequest& request, const OneTimeId& token,
                              Clock::Length limit) = 0;
  // `permit` is null where none was asked for.
  virtual SettleAnswer settle(const DispatchRequest& request, const OneTimeId& token, outcome what,
                              const std::optional<std::string>& detail, const OneTimeId* permit,
                              Clock::Length limit) = 0;
  virtual ReassertAnswer reassert(const DispatchRequest& request, const OneTimeId& token,
                                  outcome what, Clock::Length limit) = 0;

  // Closes the connection for good: an answer that is still on its way is never read. The next
  // call makes a fresh one and looks the hosts up again.
  virtual void drop() noexcept = 0;
};

}  // namespace ql3
