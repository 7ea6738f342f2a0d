// ql3 verify: what breaks a promise in the rows of a database.
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/log.hpp"
#include "client/connection.hpp"

namespace ql3::cli {

namespace {

constexpr Clock::Length limit = std::chrono::minutes(10);

nlohmann::ordered_json cell(const Result& result, int row, int column) {
  if (result.is_null(row, column)) return nullptr;
  return std::string(result.text(row, column));
}

}  // namespace

int verify(const DatabaseOptions& options) {
  ConnectionOptions wanted;
  wanted.dsn = options.dsn;
  wanted.read_write = false;  // a standby can be asked too
  wanted.application_name = "ql3 verify";
  wanted.on_notice = [](std::string_view state, std::string_view message) {
    log::warn("server: {} (SQLSTATE {})", message, state);
  };
  Connection connection(wanted);
  const Result result =
      connection.query("SELECT rule, kind, id, detail FROM ql3.ql3_verify()", {}, limit);
  if (options.json) {
    nlohmann::ordered_json broken = nlohmann::ordered_json::array();
    for (int row = 0; row < result.rows(); ++row) {
      broken.push_back({{"rule", cell(result, row, 0)},
                        {"kind", cell(result, row, 1)},
                        {"id", cell(result, row, 2)},
                        {"detail", cell(result, row, 3)}});
    }
    const nlohmann::ordered_json report = {{"sound", result.rows() == 0}, {"broken", broken}};
    fmt::print("{}\n",
               report.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else if (result.rows() == 0) {
    fmt::print("sound\n");
  } else {
    for (int row = 0; row < result.rows(); ++row) {
      const auto word = [&](int column) {
        return result.is_null(row, column) ? std::string_view("-") : result.text(row, column);
      };
      fmt::print("{:<24} {} {}: {}\n", word(0), word(1), word(2), word(3));
    }
  }
  std::fflush(stdout);
  return result.rows() == 0 ? done : not_converged;
}

}  // namespace ql3::cli
