// What ql3 top shows: the views of people on call, read at one moment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace ql3::cli {

// A target that is held, waits or is parked, or an attempt at a dispatch that is open.
struct TopRow {
  // claimed, expired, retry, resolved, available or manual; of an attempt its standing.
  std::string state;
  std::string kind;
  std::string id;
  std::string owner;
  // A target's version; an attempt has none.
  std::optional<long long> version;
  long long failures = 0;
  // Seconds: held, parked or open for, or since it was lost.
  std::optional<long long> age;
  std::string detail;

  bool is_same_as(const TopRow& other) const {
    return kind == other.kind && id == other.id && version.has_value() == other.version.has_value();
  }
  // ql3_release brings back what waits or is parked.
  bool can_be_released() const {
    return version && (state == "manual" || state == "retry" || state == "resolved");
  }
};

struct TopCount {
  std::string kind;
  std::string state;
  long long targets = 0;
  bool more = false;
  bool paused = false;
};

struct TopSnapshot {
  std::string at;  // the server's clock, HH:MM:SS
  bool writable = false;
  // Some view had more rows than are read.
  bool more = false;
  std::vector<TopRow> rows;
  std::vector<TopCount> counts;
  std::vector<std::string> halted;
};

nlohmann::ordered_json to_json(const TopSnapshot& snapshot);

}  // namespace ql3::cli
