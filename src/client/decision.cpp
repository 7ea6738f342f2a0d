#include "client/decision.hpp"

#include <fmt/format.h>

#include "client/text.hpp"
#include "core/limits.hpp"

namespace ql3 {

namespace {

std::string note_of(std::string_view word, const std::string& text) {
  return clean_text(text.empty() ? std::string(word) : fmt::format("{}: {}", word, text), note_max);
}

}  // namespace

Decision decide(const ProbeAnswer& answer, int failure_count) {
  Decision decision;
  switch (answer.verdict) {
    case Verdict::running: decision.note = note_of("running", answer.reason); break;
    case Verdict::not_running:
      decision.conclude = true;
      decision.verdict = to_text(Verdict::not_running);
      decision.evidence = answer.evidence;
      decision.note = note_of("not_running", answer.reason);
      break;
    case Verdict::unknown:
      decision.note = note_of("unknown", std::string(to_text(answer.why)));
      if (answer.why != Why::provider_unavailable && failure_count >= unknown_retries) {
        decision.how = disposition::manual;
      }
      break;
    case Verdict::bad: decision.note = note_of("bad answer", answer.reason); break;
  }
  return decision;
}

Decision without_transition(const Decision& conclusion) {
  Decision decision;
  decision.how = disposition::resolved;
  decision.note =
      clean_text(fmt::format("the source has no transition; {}", conclusion.note), note_max);
  return decision;
}

Decision after_failed_transition(const std::string& sqlstate) {
  Decision decision;
  decision.note = fmt::format("the transition failed with SQLSTATE {}", sqlstate);
  return decision;
}

}  // namespace ql3
