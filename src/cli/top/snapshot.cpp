#include "cli/top/snapshot.hpp"

namespace ql3::cli {

nlohmann::ordered_json to_json(const TopSnapshot& snapshot) {
  using json = nlohmann::ordered_json;
  json rows = json::array();
  for (const TopRow& row : snapshot.rows) {
    rows.push_back({{"state", row.state},
                    {"kind", row.kind},
                    {"id", row.id},
                    {"owner", row.owner.empty() ? json(nullptr) : json(row.owner)},
                    {"version", row.version ? json(*row.version) : json(nullptr)},
                    {"failures", row.failures},
                    {"age_seconds", row.age ? json(*row.age) : json(nullptr)},
                    {"detail", row.detail}});
  }
  json counts = json::array();
  for (const TopCount& each : snapshot.counts) {
    counts.push_back({{"kind", each.kind},
                      {"state", each.state},
                      {"targets", each.targets},
                      {"more", each.more},
                      {"paused", each.paused}});
  }
  return {{"at", snapshot.at}, {"writable", snapshot.writable}, {"more", snapshot.more},
          {"backlog", counts}, {"halted", snapshot.halted},     {"rows", rows}};
}

}  // namespace ql3::cli
