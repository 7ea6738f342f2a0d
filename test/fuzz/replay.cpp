// Runs a fuzz target without libFuzzer: every file of its corpus, and a fixed number of mutations of each by a generator
// whose seed is fixed, so that a failure can be repeated.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fuzz.hpp"

namespace {

constexpr int mutations = 400;

void run(const std::string& input) {
  (void)LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

void mutate(std::string& input, std::mt19937& random) {
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  const auto byte = [&] { return static_cast<char>(random() & 0xff); };
  const std::size_t at = below(input.size() + 1);
  switch (random() % 5) {
    case 0: input.insert(at, 1, byte()); break;
    case 1: input.erase(at, 1 + below(4)); break;
    case 2: if (at < input.size()) input[at] = byte(); break;
    case 3: input.insert(at, input.substr(below(input.size() + 1), below(64))); break;
    default: if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << (random() % 8))); break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int files = 0;
  std::mt19937 random(20260719);
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    run(input);
    std::string changed = input;
    for (int n = 0; n < mutations; ++n) {
      mutate(changed, random);
      if (n % 16 == 0) changed = input;
      run(changed);
    }
    ++files;
  }
  run({});
  return files > 0 ? 0 : 1;
}
