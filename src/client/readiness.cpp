#include "client/readiness.hpp"

#include "client/store_error.hpp"

namespace ql3 {

namespace {

constexpr char statement[] =
    "SELECT check_name, level, ok, needed_for, detail, remedy FROM ql3.ql3_ready()";

}  // namespace

std::vector<ReadyCheck> ask_ready(Connection& connection, Clock::Length limit) {
  const Result result = connection.query(statement, {}, limit);
  // A sound database has all its checks: nothing at all is not "ready".
  if (result.rows() == 0) throw StoreError(StoreCode::malformed, "ql3_ready answered no check");
  std::vector<ReadyCheck> checks;
  for (int row = 0; row < result.rows(); ++row) {
    checks.push_back({std::string(result.text(row, 0)), result.text(row, 1) != "warning",
                      result.boolean(row, 2), std::string(result.text(row, 3)),
                      std::string(result.text(row, 4)), std::string(result.text(row, 5))});
  }
  return checks;
}

}  // namespace ql3
