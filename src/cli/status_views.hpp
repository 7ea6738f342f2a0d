// The part of ql3 status that is read from the views: what the tables know.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "client/connection.hpp"

namespace ql3::cli {

// One block of the screen: rows of a view, the worst first, at most a few.
struct Section {
  std::string name;
  std::string title;
  std::vector<std::string> columns;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
};

// Every section, also empty ones. Nothing when the role may not read the views.
std::optional<std::vector<Section>> read_sections(Connection& connection);

void print_sections(const std::vector<Section>& sections);

}  // namespace ql3::cli
