// What a supervisor counts, for Prometheus to scrape.
#pragma once

#include <memory>
#include <string>

#include "client/supervisor.hpp"

namespace ql3::cli {

// Serves /metrics on `address` ("127.0.0.1:9188", "[::1]:9188"; port 0: any, told in the log) for
// as long as it lives, on a thread of its own. It never touches a database: a scrape costs
// nobody anything. Thread rule: any thread.
class Metrics {
 public:
  // std::invalid_argument when it cannot listen there.
  explicit Metrics(const std::string& address);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // Counts what a pass did. `cell` is the number of its database.
  void count(int cell, const PassReport& report);

 private:
  struct Registered;
  std::unique_ptr<Registered> registered_;
};

}  // namespace ql3::cli
