// docs/errors.md says of every SQLSTATE that the server raises what the client makes of it.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "client/store_error.hpp"

namespace {

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> found;
  std::size_t at = 2;
  for (std::size_t end; (end = line.find(" | ", at)) != std::string::npos; at = end + 3) {
    found.push_back(line.substr(at, end - at));
  }
  found.push_back(line.substr(at, line.size() - at - 2));
  return found;
}

TEST(errors_page, agrees_with_the_clients_own_table) {
  const auto page =
      std::filesystem::path(__FILE__).parent_path() / ".." / ".." / "docs" / "errors.md";
  std::ifstream file(page);
  ASSERT_TRUE(file) << page;
  int checked = 0;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| ")) continue;
    const std::vector<std::string> row = cells(line);
    const std::string& state = row.front();
    if (row.size() != 5 || state.size() != 5 ||
        state.find_first_not_of("0123456789ABCDEFP") != std::string::npos) {
      continue;
    }
    const ql3::StoreCode code = ql3::code_of_sqlstate(state);
    EXPECT_EQ(row[3], ql3::to_text(code)) << line;
    EXPECT_EQ(row[4], ql3::is_retryable(code) ? "yes" : "no") << line;
    ++checked;
  }
  EXPECT_GE(checked, 80);
}

}  // namespace
