#include "client/probe_json.hpp"

#include <set>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "client/text.hpp"
#include "core/limits.hpp"
#include "core/names.hpp"

namespace ql3 {

namespace {

using nlohmann::json;

constexpr int depth_max = 64;

struct Refused {
  std::string reason;
  Why why = Why::provider_unavailable;
};

json or_null(const std::optional<std::string>& text) { return text ? json(*text) : json(nullptr); }

// Depth and repeated keys are seen while parsing: a deep value would later be written out by
// recursion, and of two equal keys the last would win in silence.
json parse_strictly(std::string_view text) {
  // The parser takes a NUL for the end of the text.
  if (text.find('\0') != std::string_view::npos) throw Refused{"the answer has a NUL character"};
  bool too_deep = false;
  bool repeated = false;
  std::vector<std::set<std::string>> keys;
  const json::parser_callback_t watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end && !keys.empty()) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.empty()) {
      repeated = !keys.back().insert(parsed.get<std::string>()).second || repeated;
    }
    too_deep = too_deep || depth > depth_max;
    return !too_deep;
  };
  json parsed = json::parse(text.begin(), text.end(), watch, false);
  if (too_deep) throw Refused{"the answer is nested too deep"};
  if (parsed.is_discarded()) throw Refused{"the answer is no JSON"};
  if (!parsed.is_object()) throw Refused{"the answer is no JSON object"};
  if (repeated) throw Refused{"the answer has a key twice"};
  return parsed;
}

// jsonb has no NUL character.
bool has_nul(const json& value) {
  if (value.is_string()) {
    return value.get_ref<const std::string&>().find('\0') != std::string::npos;
  }
  for (const auto& [key, inner] : value.items()) {
    if (value.is_object() && key.find('\0') != std::string::npos) return true;
    if ((inner.is_structured() || inner.is_string()) && has_nul(inner)) return true;
  }
  return false;
}

void check_same(const json& answer, const char* key, const std::optional<std::string>& expected) {
  const auto said = answer.find(key);
  if (said == answer.end()) return;
  if (*said != or_null(expected)) {
    throw Refused{fmt::format("the answer is for another target: its {} differs", key),
                  Why::conflicting_evidence};
  }
}

Verdict verdict_of(const json& answer, bool of_dispatch) {
  const auto said = answer.find("verdict");
  if (said == answer.end() || !said->is_string()) throw Refused{"the answer has no verdict"};
  const auto& word = said->get_ref<const std::string&>();
  static constexpr Verdict others[] = {Verdict::running, Verdict::not_running, Verdict::unknown};
  static constexpr Verdict dispatches[] = {Verdict::succeeded, Verdict::failed, Verdict::running,
                                           Verdict::unknown};
  const std::span<const Verdict> known =
      of_dispatch ? std::span<const Verdict>(dispatches) : std::span<const Verdict>(others);
  for (const Verdict verdict : known) {
    if (word == to_text(verdict)) return verdict;
  }
  throw Refused{fmt::format("the verdict \"{}\" is not known", clean_text(word, 40))};
}

Why why_of(const std::string& reason) {
  for (const Why why :
       {Why::provider_unavailable, Why::identity_unverifiable, Why::conflicting_evidence}) {
    if (reason == to_text(why)) return why;
  }
  throw Refused{
      "the verdict unknown needs the reason provider_unavailable, "
      "identity_unverifiable or conflicting_evidence"};
}

std::string reason_of(const json& answer) {
  const auto said = answer.find("reason");
  if (said == answer.end() || said->is_null()) return {};
  if (!said->is_string()) throw Refused{"the reason is no text"};
  return said->get<std::string>();
}

void check_size(const std::string& evidence) {
  if (evidence.size() > evidence_max) {
    throw Refused{
        fmt::format("the evidence has {} bytes, more than {}", evidence.size(), evidence_max)};
  }
}

std::string evidence_of(const json& answer) {
  const auto said = answer.find("evidence");
  if (said == answer.end() || said->is_null()) return {};
  if (!said->is_object()) throw Refused{"the evidence is no JSON object"};
  if (has_nul(*said)) throw Refused{"the evidence has a NUL character"};
  std::string text = said->dump();
  check_size(text);
  return text;
}

}  // namespace

std::string candidate_json(const Target& target) {
  nlohmann::ordered_json candidate = {{"kind", target.kind},
                                      {"id", target.id},
                                      {"run_id", or_null(target.run_id)},
                                      {"status", or_null(target.status)},
                                      {"created_at", or_null(target.created_at)},
                                      {"lost_at", or_null(target.lost_at)},
                                      {"source", nullptr}};
  if (target.source) {
    auto source = nlohmann::ordered_json::parse(*target.source, nullptr, false);
    if (!source.is_discarded()) candidate["source"] = std::move(source);
  }
  return candidate.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

ProbeAnswer parse_answer(std::string_view text, const Target& target) {
  try {
    const json answer = parse_strictly(text);
    check_same(answer, "kind", target.kind);
    check_same(answer, "id", target.id);
    check_same(answer, "run_id", target.run_id);
    ProbeAnswer parsed;
    parsed.verdict = verdict_of(answer, target.kind == dispatch_kind);
    parsed.reason = reason_of(answer);
    if (parsed.verdict == Verdict::unknown) parsed.why = why_of(parsed.reason);
    parsed.evidence = evidence_of(answer);
    return parsed;
  } catch (const Refused& refused) {
    return {Verdict::unknown, refused.why, refused.reason, {}};
  } catch (const json::exception&) {
    return no_answer("the answer is not the JSON that was asked for");
  }
}

ProbeAnswer vetted(ProbeAnswer answer) {
  try {
    if (answer.verdict < Verdict::running || answer.verdict > Verdict::failed) {
      throw Refused{"the verdict is not known"};
    }
    if (answer.verdict == Verdict::unknown) why_of(std::string(to_text(answer.why)));
    if (answer.evidence.empty()) return answer;
    check_size(answer.evidence);
    answer.evidence = evidence_of({{"evidence", parse_strictly(answer.evidence)}});
    return answer;
  } catch (const Refused& refused) {
    return no_answer(refused.reason);
  } catch (const json::exception&) {
    return no_answer("the evidence is not the JSON that was asked for");
  }
}

}  // namespace ql3
