#include "client/dispatch_decision.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/dispatch.hpp"

namespace ql3 {

namespace {

bool is(const nlohmann::json& source, const char* key, bool wanted) {
  const auto value = source.find(key);
  return value != source.end() && value->is_boolean() && value->get<bool>() == wanted;
}

void conclude(Decision& decision, std::string_view verdict, const std::string& evidence) {
  decision.conclude = true;
  decision.verdict = verdict;
  decision.evidence = evidence;
}

}  // namespace

std::optional<Decision> decide_unprobed(const Target& target) {
  if (!target.source) return std::nullopt;
  const auto source = nlohmann::json::parse(*target.source, nullptr, false);
  if (!source.is_object() || !is(source, "permitted", false) || !is(source, "own_lineage", true)) {
    return std::nullopt;
  }
  Decision decision;
  conclude(decision, to_text(outcome::not_sent), R"({"permitted": false})");
  decision.note = "not_sent: it was never permitted";
  return decision;
}

Decision decide_dispatch(const ProbeAnswer& answer, int failure_count) {
  if (answer.verdict == Verdict::not_running) {
    return decide(no_answer("not_running is no verdict on a dispatch"), failure_count);
  }
  // Verdict and note of the words they share are those of every kind.
  Decision decision = decide(answer, failure_count);
  if (answer.verdict == Verdict::succeeded || answer.verdict == Verdict::failed) {
    conclude(decision, to_text(answer.verdict), answer.evidence);
    decision.note = decision_note(to_text(answer.verdict), answer.reason);
  } else if (decision.how == disposition::manual) {
    decision.how = disposition::retry;
    conclude(decision, to_text(outcome::unknown), answer.evidence);
  }
  return decision;
}

}  // namespace ql3
