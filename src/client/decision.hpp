// From what a probe saw to how the claim ends.
#pragma once

#include <string>
#include <string_view>

#include "client/probe.hpp"
#include "core/state.hpp"

namespace ql3 {

struct Decision {
  // Conclude calls the source's transition; otherwise the claim is settled with `how`.
  bool conclude = false;
  disposition how = disposition::retry;
  std::string verdict;   // handed to the transition
  std::string evidence;  // handed to the transition
  std::string note;      // clean UTF-8 of at most 2 KiB
};

// After this many failures an answer that will not get better by waiting goes to a person.
inline constexpr int unknown_retries = 3;

// The one table of the probe contract:
//   running                          retry, noted "running: …" and so not counted as a failure
//   not_running                      conclude with the verdict not_running
//   unknown, provider_unavailable    retry
//   unknown, otherwise               retry, from the 4th time on manual
//   a verdict of dispatches          as unknown, provider_unavailable
// `failure_count` is that of the claim: failures before this one.
Decision decide(const ProbeAnswer& answer, int failure_count);

// "word: text" or the word alone, clean and cut.
std::string decision_note(std::string_view word, const std::string& text);

// Where the source has no transition: resolved. Its owner moves the row, or the target comes back.
Decision without_transition(const Decision& conclusion);

// Where the transition raised: retry, so that one row that breaks it is put off, counted and in the
// end parked, while the others go on.
Decision after_failed_transition(const std::string& sqlstate);

}  // namespace ql3
