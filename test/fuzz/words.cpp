// Words of states, outcomes and dispositions, and tokens: exactly the words, exactly the versions.
#include "core/dispatch.hpp"
#include "core/fence.hpp"
#include "core/token.hpp"
#include "fuzz.hpp"

using namespace ql3;
using namespace ql3::fuzz;

namespace {

template <class Parsed>
void round_trip(std::string_view value, const Parsed& parsed) {
  require(!parsed || to_text(*parsed) == value, "a word is read exactly");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view value = bytes(data, size);
  round_trip(value, parse_state(value));
  round_trip(value, parse_disposition(value));
  round_trip(value, parse_outcome(value));
  round_trip(value, parse_dispatch_state(value));
  require(refuses("22023", [&] { (void)check_disposition(value); }) == !parse_disposition(value), "check_disposition");
  require(says_running(value) == (value == "running" || value.substr(0, 8) == "running:"), "says_running");
  if (size < 16) return 0;
  unsigned char uuid[16];
  std::memcpy(uuid, data, 16);
  const bool random = is_random_uuid(uuid);
  require(refuses("22023", [&] { check_token(uuid); }) == !random, "check_token");
  make_v4(uuid);
  require(is_random_uuid(uuid), "a made uuid is a random one");
  return 0;
}
