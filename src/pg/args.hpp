// Reading the arguments of a call. Every reader refuses NULL (22004) unless its name says maybe_, and checks the
// documented limits through the core; nothing is clamped, nothing is cut.
#pragma once

#include "spi.hpp"

namespace ql3::pg {

template <class T>
using bounded = boost::container::static_vector<T, page_size_max>;

class arguments {
 public:
  explicit arguments(FunctionCallInfo fcinfo) noexcept : fcinfo_(fcinfo) {}

  bool is_null(int position) const { return position >= PG_NARGS_OF(fcinfo_) || fcinfo_->args[position].isnull; }
  Datum datum(int position, const char* name) const;

  std::string_view text(int position, const char* name) const;
  std::optional<std::string_view> maybe_text(int position) const;
  std::int32_t number32(int position, const char* name) const;
  std::int64_t number(int position, const char* name) const;
  bool boolean(int position, const char* name) const;
  interval_parts length(int position, const char* name) const;

  std::string_view kind(int position) const;
  std::string_view id(int position) const;
  std::string_view owner(int position) const;
  std::string_view reason(int position) const;

  // Arrays: one dimension, no NULL element unless said, at most page_size_max elements.
  bounded<std::string_view> texts(int position, const char* name) const;
  bounded<std::optional<std::string_view>> maybe_texts(int position, const char* name) const;
  bounded<std::int64_t> numbers(int position, const char* name) const;
  bounded<std::int32_t> numbers32(int position, const char* name) const;
  bounded<std::optional<interval_parts>> maybe_lengths(int position, const char* name) const;

 private:
  static int PG_NARGS_OF(FunctionCallInfo fcinfo) { return fcinfo->nargs; }
  FunctionCallInfo fcinfo_;
};

interval_parts parts_of(Datum interval);

// A token: its bytes for the reply, its SHA-256 for everything else.
struct token {
  unsigned char bytes[token_size];
  unsigned char digest[digest_size];
};

// 22023 unless version 4 or 7; the value is never shown.
token read_token(const arguments& given, int position, const char* name = "token");
token random_token();

// SHA-256 of `size` bytes.
void digest_of(const void* bytes, std::size_t size, unsigned char (&digest)[digest_size]);

// Builds the bytes of a request whose digest recognises its repeat: every field with its length in front, so that no
// two requests have the same bytes.
class request_bytes {
 public:
  request_bytes();
  request_bytes& add(std::string_view field);
  request_bytes& add(std::int64_t field);
  request_bytes& add(std::optional<std::string_view> field);
  request_bytes& add(std::optional<std::int64_t> field);
  void digest(unsigned char (&digest)[digest_size]) const;

 private:
  void append(const char* bytes, std::size_t size);
  StringInfoData* buffer_;
};

// The text a note, detail or reason is kept as: cut at a character boundary.
std::string_view kept_note(std::string_view note, std::size_t limit = note_max);
bool database_is_utf8();

}  // namespace ql3::pg
