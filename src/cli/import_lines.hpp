// The lines of `ql3 import`: ID, state and failure count with tabs between, read page by page.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace ql3::cli {

// One page as array literals of the server.
struct ImportPage {
  int size = 0;
  std::string ids, states, failure_counts;
};

class ImportLines {
 public:
  // std::invalid_argument for a file that cannot be read; "-" is the standard input.
  explicit ImportLines(const std::string& file);
  // The next page; of size 0 at the end. std::invalid_argument names the line that is no such line.
  ImportPage next();

 private:
  bool read_line(std::string& line);

  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  long long number_ = 0;
};

}  // namespace ql3::cli
