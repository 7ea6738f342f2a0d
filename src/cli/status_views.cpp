#include "cli/status_views.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "client/store_error.hpp"

namespace ql3::cli {

namespace {

constexpr Clock::Length limit = std::chrono::seconds(10);
constexpr std::size_t cell_width = 60;

struct Query {
  const char* name;
  const char* title;
  const char* statement;
  std::vector<std::string> columns;
};

// Ages are whole seconds. A few rows each, so that all of it is one screen.
const Query queries[] = {
    {"backlog",
     "met by claims",
     "SELECT kind, state, targets || CASE WHEN more THEN '+' ELSE '' END,"
     " pg_catalog.date_trunc('second', oldest_age)::text, most_failures, paused"
     " FROM ql3.backlog ORDER BY kind, state LIMIT 12",
     {"kind", "state", "targets", "oldest_age", "most_failures", "paused"}},
    {"claims",
     "claims by owner",
     "SELECT owner, pg_catalog.count(*),"
     " pg_catalog.date_trunc('second', pg_catalog.max(held_for))::text,"
     " pg_catalog.date_trunc('second', pg_catalog.min(lease_left))::text FROM ql3.claims"
     " WHERE lease_left > '0' GROUP BY owner ORDER BY 2 DESC, 1 LIMIT 4",
     {"owner", "targets", "longest_held", "least_lease_left"}},
    {"parked",
     "parked",
     "SELECT kind, pg_catalog.count(*), pg_catalog.min(id),"
     " pg_catalog.date_trunc('second',"
     " pg_catalog.statement_timestamp() - pg_catalog.min(parked_at))::text,"
     " coalesce(reason, 'no reason') FROM ql3.parked"
     " GROUP BY kind, 5 ORDER BY 2 DESC, kind LIMIT 4",
     {"kind", "targets", "one_of_them", "for", "reason"}},
    {"failing",
     "failing most",
     "SELECT kind, id, state, failure_count, coalesce(max_failures::text, 'never'),"
     " coalesce(detail, '') FROM ql3.failing ORDER BY failure_count DESC, kind, id LIMIT 4",
     {"kind", "id", "state", "failures", "parks_at", "detail"}},
    {"dispatches",
     "dispatches open",
     "SELECT standing, pg_catalog.count(*),"
     " pg_catalog.date_trunc('second', pg_catalog.max(age))::text,"
     " pg_catalog.min(attempt::text) FROM ql3.dispatches_open"
     " GROUP BY standing ORDER BY standing",
     {"standing", "attempts", "oldest_age", "one_of_them"}},
    {"halted",
     "DISPATCH IS HALTED",
     "SELECT cause,"
     " CASE WHEN halt IS NULL THEN '-' ELSE"
     " pg_catalog.date_trunc('second', pg_catalog.statement_timestamp() - since)::text END,"
     " coalesce(halt::text, 'ql3 explain dispatch ?'), reason FROM ql3.dispatch_halted"
     " ORDER BY since DESC LIMIT 3",
     {"cause", "for", "halt", "reason"}},
    {"horizon",
     "holds back VACUUM for more than a minute",
     "SELECT holder, name, coalesce(role, ''), pg_catalog.date_trunc('second', age)::text,"
     " transactions FROM ql3.ql3_horizon() WHERE age > '1 min' OR since IS NULL LIMIT 3",
     {"holder", "name", "role", "age", "transactions"}},
};

// Counts are numbers, paused is a boolean; everything else is text, also an id of digits.
nlohmann::ordered_json value_of(const Result& rows, int row, int column, const std::string& name) {
  if (rows.is_null(row, column)) return nullptr;
  if (name == "paused") return rows.boolean(row, column);
  const std::string text(rows.text(row, column));
  const bool count = name == "targets" || name == "most_failures" || name == "failures" ||
                     name == "attempts" || name == "transactions";
  if (count && text.find_first_not_of("0123456789") == std::string::npos) return std::stoll(text);
  return text;
}

std::string shown(const nlohmann::ordered_json& value, const std::string& column) {
  if (value.is_null()) return "-";
  if (value.is_boolean()) return value.get<bool>() ? column : "-";
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  if (text.size() <= cell_width) return text;
  std::size_t kept = cell_width - 1;
  while (kept > 0 && (static_cast<unsigned char>(text[kept]) & 0xC0U) == 0x80U) --kept;
  return text.substr(0, kept) + "…";
}

}  // namespace

std::optional<std::vector<Section>> read_sections(Connection& connection) {
  std::vector<Section> sections;
  for (const Query& query : queries) {
    Section section{query.name, query.title, query.columns, nlohmann::ordered_json::array()};
    try {
      const Result rows = connection.query(query.statement, {}, limit);
      for (int row = 0; row < rows.rows(); ++row) {
        nlohmann::ordered_json one;
        for (std::size_t at = 0; at < query.columns.size(); ++at) {
          const std::string& column = query.columns[at];
          one[column] = value_of(rows, row, static_cast<int>(at), column);
        }
        section.rows.push_back(std::move(one));
      }
    } catch (const StoreError& error) {
      if (error.code() == StoreCode::denied) return std::nullopt;
      throw;
    }
    sections.push_back(std::move(section));
  }
  return sections;
}

void print_sections(const std::vector<Section>& sections) {
  for (const Section& section : sections) {
    if (section.rows.empty()) continue;
    // The title stands in the place of the first column's name.
    std::vector<std::vector<std::string>> lines = {section.columns};
    lines[0][0] = section.title;
    for (const auto& row : section.rows) {
      std::vector<std::string> line;
      for (const std::string& column : section.columns) {
        line.push_back(shown(row[column], column));
      }
      line[0].insert(0, "  ");
      lines.push_back(std::move(line));
    }
    std::vector<std::size_t> widths(section.columns.size(), 0);
    for (const auto& line : lines) {
      for (std::size_t at = 0; at < line.size(); ++at) {
        widths[at] = std::max(widths[at], line[at].size());
      }
    }
    widths.back() = 0;
    for (const auto& line : lines) {
      std::string text;
      for (std::size_t at = 0; at < line.size(); ++at) {
        text += fmt::format("{}{:<{}}", at == 0 ? "" : "  ", line[at], widths[at]);
      }
      fmt::print("{}\n", text);
    }
  }
}

}  // namespace ql3::cli
