#include "cli/report_output.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace ql3::cli {

std::string pass_text(const PassReport& report) {
  return fmt::format("{} discovered={} remaining={} failed={} fenced={} has_more={}{}",
                     report.safe ? "safe" : "not safe", report.discovered, report.remaining,
                     report.failed, report.fenced, report.has_more ? "yes" : "no",
                     report.stopped ? " stopped" : "");
}

std::string pass_json(int cell, int pass, const std::string& owner, const PassReport& report) {
  nlohmann::ordered_json json = {
      {"cell", cell},
      {"pass", pass},
      {"owner", owner},
      {"safe", report.safe},
      {"remaining", report.remaining},
      {"failed", report.failed},
      {"discovered", report.discovered},
      {"has_more", report.has_more},
      {"fenced", report.fenced},
      {"stopped", report.stopped},
      {"error", nullptr},
      {"targets", nlohmann::ordered_json::array()},
  };
  if (report.error) {
    json["error"] = {{"code", to_text(report.error->code())},
                     {"sqlstate", report.error->sqlstate()},
                     {"retryable", report.error->retryable()}};
  }
  for (const TargetReport& target : report.targets) {
    json["targets"].push_back({{"kind", target.kind},
                               {"id", target.id},
                               {"verdict", target.verdict},
                               {"outcome", to_text(target.outcome)},
                               {"listed", target.listed},
                               {"note", target.note}});
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace ql3::cli
