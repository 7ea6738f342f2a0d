// Looking without touching: what the attached sources list now.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/claims.hpp"
#include "client/connection.hpp"
#include "client/export.hpp"

namespace ql3 {

struct ObservedTarget {
  Target target;  // of a blind source only the kind is known
  // available, claimed, retry, manual, resolved, or blind: the source could not be read.
  std::string state;
  std::optional<std::string> owner;
  std::optional<std::int64_t> version;
  std::optional<std::string> expires_at;
  std::optional<std::string> next_claim_at;
  int failure_count = 0;
  bool claimable = false;
  // For a blind source its SQLSTATE.
  std::optional<std::string> detail;

  bool blind() const noexcept { return state == "blind"; }
};

struct Observation {
  std::vector<ObservedTarget> rows;
  bool has_more = false;
  // Seen on a primary that takes writes: only there do zero rows prove anything.
  bool writable = false;
};

// What the control row of one target says.
struct TargetState {
  std::string state;
  std::optional<std::string> owner;
  std::optional<std::int64_t> version;
  std::optional<std::string> expires_at;
  std::optional<std::string> next_claim_at;
  int failure_count = 0;
  bool listed = false;
  // The caller's token is the one that holds it; false when no token was given.
  bool held = false;
};

// Thread rule: one thread at a time. Throws StoreError; every call is read-only.
class QL3_API CandidateSource {
 public:
  virtual ~CandidateSource() = default;

  // Up to `page_size` (1 to 128) targets of `kinds` (empty: all), blind sources first.
  virtual Observation observe(int page_size, const std::vector<std::string>& kinds,
                              Clock::Length limit) = 0;

  // Nothing when neither the source nor the control table knows the target.
  virtual std::optional<TargetState> observe_one(const std::string& kind, const std::string& id,
                                                 const ClaimToken* token, Clock::Length limit) = 0;
};

class QL3_API PgCandidateSource final : public CandidateSource {
 public:
  // With options.read_write every look at a server that takes no writes is the last one there: the
  // next goes where the hosts lead then.
  explicit PgCandidateSource(ConnectionOptions options)
      : read_write_(options.read_write), connection_(std::move(options)) {}

  Observation observe(int page_size, const std::vector<std::string>& kinds,
                      Clock::Length limit) override;
  std::optional<TargetState> observe_one(const std::string& kind, const std::string& id,
                                         const ClaimToken* token, Clock::Length limit) override;

 private:
  const bool read_write_;
  Connection connection_;
};

}  // namespace ql3
