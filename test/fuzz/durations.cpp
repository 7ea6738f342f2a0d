// Durations of the command line: what is read is written back to the same.
#include "client/duration.hpp"

#include "fuzz.hpp"

using namespace ql3;
using namespace ql3::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view value = bytes(data, size);
  const std::optional<Milliseconds> read = parse_duration(value);
  const std::string fault = duration_fault(value, std::chrono::seconds(1), std::chrono::hours(1));
  if (!read) {
    require(!fault.empty(), "what is no duration is a fault");
    return 0;
  }
  require(read->count() >= 0, "a duration has no sign");
  require(parse_duration(to_text(*read)) == read, "a duration is written back to the same");
  require(fault.empty() == (*read >= std::chrono::seconds(1) && *read <= std::chrono::hours(1)), "the limits");
  return 0;
}
