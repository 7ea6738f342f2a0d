#include "vanished.hpp"

#include <algorithm>

#include "judgements.hpp"
#include "session.hpp"

namespace ql3::pg {

namespace {

constexpr int max_vanished_default = 3;
// How far back it looks, and how many owners can be asked for.
constexpr long looked_at_max = 32;

int max_vanished_owners = max_vanished_default;

constexpr std::string_view expired = "expired";

constinit statement latest_of{
    "SELECT owner, result, version, run_id, status, lost_at FROM ql3.judgements"
    " WHERE kind = $1 AND id = $2 ORDER BY judgement_id DESC LIMIT $3",
    TEXTOID, TEXTOID, INT8OID};

}  // namespace

bool vanished_too_often(const locked_control& of, std::int32_t failure_count, instant clock) {
  boost::container::static_vector<std::string_view, looked_at_max + 1> owners;
  owners.push_back(of.owner.value_or(std::string_view{}));
  bool on_record = false;
  rows const past = latest_of.run(params().text(of.kind).text(of.id).number(looked_at_max));
  for (int at = 0; at < past.size(); ++at) {
    facts then{};
    then.lost_at = past.time(at, 6);
    if (std::optional<std::string_view> const status = past.maybe_text(at, 5)) then.status = status;
    then.run_id = past.text(at, 4);
    if (past.text(at, 2) != expired || !of.is_incident_of(then)) break;
    // A takeover that was put back has been here before.
    if (past.number(at, 3) == of.control.version) {
      on_record = true;
      continue;
    }
    std::string_view const owner = past.maybe_text(at, 1).value_or(std::string_view{});
    if (std::find(owners.begin(), owners.end(), owner) == owners.end()) owners.push_back(owner);
  }
  if (!on_record)
    write_judgement({of.kind, of.id, of.control.version, of.owner, of.run_id, of.status, of.lost_at,
                     to_text(disposition::retry), {}, {}, {}, expired, failure_count, clock});
  return max_vanished_owners > 0 && static_cast<int>(owners.size()) >= max_vanished_owners;
}

void define_vanished_settings() {
  DefineCustomIntVariable("ql3.max_vanished_owners",
                          "Parks a target whose claims ran out in a row with so many distinct owners; 0 never does.",
                          "A target that ends whoever probes it takes no more of them with it.", &max_vanished_owners,
                          max_vanished_default, 0, looked_at_max, PGC_SUSET, 0, nullptr, nullptr, nullptr);
}

}  // namespace ql3::pg
