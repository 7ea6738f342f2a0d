// What a probe says: whatever the bytes, an answer; never a good verdict from what is no answer.
#include <nlohmann/json.hpp>

#include "client/probe_json.hpp"
#include "core/limits.hpp"
#include "fuzz.hpp"

using namespace ql3;
using namespace ql3::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = bytes(data, size);
  Target target;
  target.kind = size > 0 && data[0] == ' ' ? "dispatch" : "job";
  target.id = "a";
  const ProbeAnswer answer = parse_answer(text, target);
  require(answer.verdict != Verdict::unknown || answer.why != Why::none, "unknown has a reason");
  if (answer.verdict != Verdict::unknown)
    require(nlohmann::json::accept(text), "a verdict comes from JSON only");
  require(answer.evidence.size() <= evidence_max, "evidence is within its limit");
  if (!answer.evidence.empty())
    require(nlohmann::json::parse(answer.evidence).is_object(), "evidence is an object");
  return 0;
}
