// Probes: they look at the outside world and say what they saw of one target.
#pragma once

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "client/claims.hpp"
#include "client/clock.hpp"
#include "client/export.hpp"

namespace ql3 {

enum class Verdict {
  running,      // still alive: look again later
  not_running,  // proven gone
  unknown,      // the probe cannot tell, or gave no answer that counts; `why` says the reason
  succeeded,    // a dispatch has come to what it was for
  failed        // a dispatch is proven to have failed; "not seen yet" is unknown
};

enum class Why { none, provider_unavailable, identity_unverifiable, conflicting_evidence };

QL3_API std::string_view to_text(Verdict verdict) noexcept;
QL3_API std::string_view to_text(Why why) noexcept;

struct ProbeAnswer {
  Verdict verdict = Verdict::unknown;
  Why why = Why::provider_unavailable;
  // For people; kept in the note of the settle.
  std::string reason;
  // A JSON object for the transition, or empty.
  std::string evidence;
};

// No answer that counts: a crash, a timeout, garbage. unknown(provider_unavailable), with `reason`.
QL3_API ProbeAnswer no_answer(std::string reason);

// What a probe is given beside the target.
struct ProbeCall {
  // Requested when the answer is no longer wanted: the time is over, the claim was lost, or the
  // process ends.
  std::stop_token stop;
  Clock::Length timeout;
};

// A probe only reads: another replica may be looking at the same target. It never learns owner,
// token or version. Thread rule: judge() runs on a thread of its own, one call at a time.
class QL3_API Probe {
 public:
  virtual ~Probe() = default;

  // What this probe is, for logs: "exec:/usr/lib/probes/pid".
  virtual std::string identity() const = 0;

  // May throw anything: whatever is not an answer counts as none. Returns soon after `stop`.
  virtual ProbeAnswer judge(const Target& target, const ProbeCall& call) = 0;
};

// The probes of one supervisor: at most one for a kind, at most 32. Constant while a pass runs.
class QL3_API ProbeRegistry {
 public:
  static constexpr std::size_t size_max = 32;
  static constexpr Milliseconds timeout_default = std::chrono::seconds(5);
  static constexpr Milliseconds timeout_max = std::chrono::seconds(30);

  struct Entry {
    std::shared_ptr<Probe> probe;
    Milliseconds timeout;
  };

  // std::invalid_argument for a kind that is malformed or taken, a timeout that is not
  // positive or above 30 s, and beyond 32 kinds.
  void add(const std::string& kind, std::shared_ptr<Probe> probe,
           Milliseconds timeout = timeout_default);

  // nullptr when no probe was declared for exactly this kind.
  const Entry* find(const std::string& kind) const noexcept;
  std::vector<std::string> kinds() const;

 private:
  std::map<std::string, Entry> entries_;
};

}  // namespace ql3
