// What is claimed, by whom, and the store of claims.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/claim_token.hpp"
#include "client/clock.hpp"
#include "client/duration.hpp"
#include "client/export.hpp"
#include "core/state.hpp"

namespace ql3 {

// A target as its source lists it. Times are ISO 8601 in UTC.
struct Target {
  std::string kind;
  std::string id;
  std::optional<std::string> run_id;
  std::optional<std::string> status;
  std::optional<std::string> created_at;
  std::optional<std::string> lost_at;
  // A JSON object with the further columns of the source's row, when it has any.
  std::optional<std::string> source;
};

// A target of a claimed page.
struct ClaimedTarget {
  Target target;
  std::string owner;
  ClaimToken token;
  std::int64_t version;
  // What was left of the lease when the server wrote the row.
  Milliseconds lease_left;
  int failure_count;
};

// Who holds a page.
struct Holder {
  std::string owner;
  ClaimToken token;
};

// One target of it, under the version it was claimed with.
struct Held {
  std::string kind;
  std::string id;
  std::int64_t version;
};

struct ClaimRequest {
  std::string owner;
  int page_size;
  Milliseconds lease;
  // Empty: all attached kinds.
  std::vector<std::string> kinds;
};

enum class Renewed { renewed, fenced };
enum class Settled { settled, fenced };
enum class Concluded { concluded, stale, fenced };
enum class GivenBack { released, fenced };

// The claims of one control database. Every call is one statement and waits at most `limit` for its
// answer; every call may be repeated with the same arguments after a lost reply. All of them throw
// StoreError. Thread rule: one thread at a time.
class QL3_API ClaimStore {
 public:
  virtual ~ClaimStore() = default;

  // At most page_size targets, for `lease` from now. The rows are as the server sent them: whoever
  // calls checks them (check_page). A repeat with the same token takes nothing new.
  virtual std::vector<ClaimedTarget> claim(const ClaimRequest& request, const ClaimToken& token,
                                           Clock::Length limit) = 0;

  // One result for each of `held`, in order.
  virtual std::vector<Renewed> renew_page(const Holder& holder, std::span<const Held> held,
                                          Milliseconds lease, Clock::Length limit) = 0;

  // `delay` goes with retry only; without it the server backs off by the failure count. `note` is
  // UTF-8 of at most 2 KiB; empty is none.
  virtual Settled settle(const Holder& holder, const Held& held, disposition how,
                         std::optional<Milliseconds> delay, const std::string& note,
                         Clock::Length limit) = 0;

  // `evidence` is a JSON text of at most 64 KiB, or empty for none.
  virtual Concluded conclude(const Holder& holder, const Held& held, const std::string& verdict,
                             const std::string& evidence, Clock::Length limit) = 0;

  // For what was not started. One result for each of `held`, in order.
  virtual std::vector<GivenBack> give_back(const Holder& holder, std::span<const Held> held,
                                           Clock::Length limit) = 0;
};

}  // namespace ql3
