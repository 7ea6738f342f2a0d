#include "cli/bench.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "cli/exit_code.hpp"
#include "cli/log.hpp"

namespace ql3::cli {
namespace {

namespace fs = std::filesystem;

// Where this program was installed (PREFIX/bin), or built (build/bin of a source tree).
constexpr const char* places[] = {"../share/ql3/bench/ql3_bench", "../../test/bench/ql3_bench"};

fs::path program() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* const place : places) {
    fs::path path = (here / place).lexically_normal();
    if (fs::exists(path, error)) return path;
  }
  return {};
}

}  // namespace

int bench(const std::vector<std::string>& arguments) {
  const fs::path path = program();
  if (path.empty()) {
    log::error("the benchmark is not installed beside this program");
    return not_ready;
  }
  std::vector<char*> words = {const_cast<char*>(path.c_str())};
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execv(path.c_str(), words.data());
  log::error("{}: {}", path.string(), std::strerror(errno));
  return not_ready;
}

}  // namespace ql3::cli
