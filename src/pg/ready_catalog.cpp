#include "ready_catalog.hpp"

#include "args.hpp"
#include "catalog_form.hpp"
#include "contract.hpp"

namespace ql3::pg {

namespace {

constexpr int shown_max = 12;  // differences that a detail spells out

}  // namespace

long_text* differences::next() {
  if (++count_ > shown_max) return nullptr;
  if (count_ > 1) detail_ << "; ";
  return &detail_;
}

void differences::note(std::string_view text) {
  if (long_text* to = next()) *to << text;
}

std::string_view differences::detail() {
  if (count_ > shown_max) detail_ << "; and " << std::int64_t{count_ - shown_max} << " more";
  return detail_.view();
}

// Both are in byte order: one walk through the two.
std::int64_t find_changes(differences& seen, std::string_view extension, std::string_view contract) {
  rows const found = read_catalog_form(extension);
  contract_line line{};
  bool more = next_line(contract, line);
  int at = 0;
  while (more || at < found.size()) {
    bool const here = at < found.size();
    std::string_view const object = here ? found.text(at, form_object) : std::string_view{};
    bool const shipped = more && (!here || line.object <= object);
    bool const present = here && (!more || object <= line.object);
    std::string_view const form = present ? found.text(at, form_text) : std::string_view{};
    if (!present || !shipped || form != line.form)
      if (long_text* text = seen.next()) {
        *text << (!present ? "missing: " : !shipped ? "not ours: " : "changed: ") << (shipped ? line.object : object);
        if (present && shipped) *text << " (shipped: " << line.form << ") (here: " << form << ")";
      }
    if (shipped) more = next_line(contract, line);
    if (present) ++at;
  }
  return found.size();
}

void compare_catalog(readiness& to, const check& which, std::string_view extension, std::string_view contract) {
  differences seen;
  std::int64_t const objects = find_changes(seen, extension, contract);
  if (!seen.none()) {
    to.bad(which, seen.detail(), reinstall);
    return;
  }
  unsigned char digest[digest_size];
  digest_of(contract.data(), contract.size(), digest);
  long_text detail;
  detail << objects << " objects as shipped, digest ";
  for (int byte = 0; byte < 8; ++byte) {
    constexpr char hex[] = "0123456789abcdef";
    char const two[] = {hex[digest[byte] >> 4], hex[digest[byte] & 15]};
    detail << std::string_view(two, 2);
  }
  to.good(which, detail.view());
}

}  // namespace ql3::pg
