// Owners, kinds, ids and reasons: the predicate, the pattern in words and the refusal agree.
#include "core/names.hpp"

#include "core/limits.hpp"
#include "fuzz.hpp"

using namespace ql3;
using namespace ql3::fuzz;

namespace {

bool only(std::string_view value, std::string_view allowed) {
  return value.find_first_not_of(allowed) == std::string_view::npos;
}

constexpr std::string_view lower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kind_characters = "abcdefghijklmnopqrstuvwxyz0123456789_";
constexpr std::string_view alphanumeric =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
constexpr std::string_view owner_characters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view value = bytes(data, size);
  const bool kind = !value.empty() && value.size() <= 63 && only(value, kind_characters) &&
                    lower.find(value.front()) != std::string_view::npos;
  const bool owner = !value.empty() && value.size() <= 128 && only(value, owner_characters) &&
                     alphanumeric.find(value.front()) != std::string_view::npos;
  require(is_kind(value) == kind, "the kind pattern");
  require(is_owner(value) == owner, "the owner pattern");
  require(refuses("22023", [&] { check_kind(value); }) == !kind, "check_kind");
  require(refuses("22023", [&] { check_verdict(value); }) == !kind, "check_verdict");
  require(refuses("22023", [&] { check_owner(value); }) == !owner, "check_owner");
  require(refuses("22023", [&] { check_id(value); }) == (value.empty() || value.size() > 255), "check_id");
  require(refuses("22023", [&] { check_reason(value); }) == only(value, " \t\n\v\f\r"), "check_reason");
  require(refuses(value == dispatch_kind ? "42939" : "22023", [&] { check_source_kind(value); }) ==
              (!kind || value == dispatch_kind),
          "check_source_kind");
  try {
    check_kind(value);
  } catch (const error& refused) {
    require_hidden(value, refused.message());
  }
  return 0;
}
