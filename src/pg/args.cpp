#include "args.hpp"

extern "C" {
#include "mb/pg_wchar.h"
#include "utils/fmgrprotos.h"
}

namespace ql3::pg {

namespace {

struct elements {
  Datum* values;
  bool* nulls;
  int count;
};

elements open_array(Datum value, const char* name, Oid type, int width, bool by_value, char alignment) {
  struct shape {
    ArrayType* array;
    int dimensions;
    int count;
  };
  shape found = call([&] {
    ArrayType* array = DatumGetArrayTypeP(value);
    return shape{array, ARR_NDIM(array), ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array))};
  });
  if (found.dimensions > 1)
    throw error(sqlstate::invalid_parameter,
                (message_text<160>() << name << " has " << found.dimensions << " dimensions, not one").view());
  check_array_length(found.count, name);
  return call([&] {
    elements read{};
    deconstruct_array(found.array, type, width, by_value, alignment, &read.values, &read.nulls, &read.count);
    return read;
  });
}

[[noreturn]] void refuse_null_element(const char* name, int at) {
  throw error(sqlstate::null_argument,
              (message_text<160>() << "element " << at + 1 << " of " << name << " must not be null").view());
}

}  // namespace

Datum arguments::datum(int position, const char* name) const {
  if (is_null(position)) refuse_null(name);
  return fcinfo_->args[position].value;
}

std::string_view arguments::text(int position, const char* name) const { return text_of(datum(position, name)); }

std::optional<std::string_view> arguments::maybe_text(int position) const {
  if (is_null(position)) return std::nullopt;
  return text_of(fcinfo_->args[position].value);
}

std::int32_t arguments::number32(int position, const char* name) const { return DatumGetInt32(datum(position, name)); }
std::int64_t arguments::number(int position, const char* name) const { return DatumGetInt64(datum(position, name)); }
bool arguments::boolean(int position, const char* name) const { return DatumGetBool(datum(position, name)); }
interval_parts arguments::length(int position, const char* name) const { return parts_of(datum(position, name)); }

std::string_view arguments::kind(int position) const {
  std::string_view value = text(position, "kind");
  check_kind(value);
  return value;
}

std::string_view arguments::id(int position) const {
  std::string_view value = text(position, "id");
  check_id(value);
  return value;
}

std::string_view arguments::owner(int position) const {
  std::string_view value = text(position, "owner");
  check_owner(value);
  return value;
}

std::string_view arguments::reason(int position) const {
  std::string_view value = text(position, "reason");
  check_reason(value);
  return kept_note(value);
}

bounded<std::string_view> arguments::texts(int position, const char* name) const {
  bounded<std::string_view> result;
  const elements read = open_array(datum(position, name), name, TEXTOID, -1, false, TYPALIGN_INT);
  for (int at = 0; at < read.count; ++at) {
    if (read.nulls[at]) refuse_null_element(name, at);
    result.push_back(text_of(read.values[at]));
  }
  return result;
}

bounded<std::optional<std::string_view>> arguments::maybe_texts(int position, const char* name) const {
  bounded<std::optional<std::string_view>> result;
  const elements read = open_array(datum(position, name), name, TEXTOID, -1, false, TYPALIGN_INT);
  for (int at = 0; at < read.count; ++at) {
    if (read.nulls[at]) result.push_back(std::nullopt);
    else result.push_back(text_of(read.values[at]));
  }
  return result;
}

bounded<std::int64_t> arguments::numbers(int position, const char* name) const {
  bounded<std::int64_t> result;
  const elements read =
      open_array(datum(position, name), name, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
  for (int at = 0; at < read.count; ++at) {
    if (read.nulls[at]) refuse_null_element(name, at);
    result.push_back(DatumGetInt64(read.values[at]));
  }
  return result;
}

bounded<std::int32_t> arguments::numbers32(int position, const char* name) const {
  bounded<std::int32_t> result;
  const elements read = open_array(datum(position, name), name, INT4OID, sizeof(int32), true, TYPALIGN_INT);
  for (int at = 0; at < read.count; ++at) {
    if (read.nulls[at]) refuse_null_element(name, at);
    result.push_back(DatumGetInt32(read.values[at]));
  }
  return result;
}

bounded<std::optional<interval_parts>> arguments::maybe_lengths(int position, const char* name) const {
  bounded<std::optional<interval_parts>> result;
  const elements read =
      open_array(datum(position, name), name, INTERVALOID, sizeof(Interval), false, TYPALIGN_DOUBLE);
  for (int at = 0; at < read.count; ++at) {
    if (read.nulls[at]) result.push_back(std::nullopt);
    else result.push_back(parts_of(read.values[at]));
  }
  return result;
}

interval_parts parts_of(Datum value) {
  const Interval* interval = DatumGetIntervalP(value);
  return {interval->time, interval->day, interval->month};
}

void digest_of(const void* bytes, std::size_t size, unsigned char (&digest)[digest_size]) {
  // Through the SQL-callable function: the one way that is the same on every supported major.
  Datum const input = bytea_datum(static_cast<const unsigned char*>(bytes), size);
  Datum const hashed = call([&] { return DirectFunctionCall1(sha256_bytea, input); });
  std::memcpy(digest, VARDATA_ANY(DatumGetPointer(hashed)), digest_size);
}

token read_token(const arguments& given, int position, const char* name) {
  token read;
  std::memcpy(read.bytes, DatumGetUUIDP(given.datum(position, name))->data, token_size);
  check_token(read.bytes, name);
  digest_of(read.bytes, token_size, read.digest);
  return read;
}

token random_token() {
  token made;
  if (!pg_strong_random(made.bytes, token_size))
    throw error(sqlstate::internal_error, "could not generate random bytes for a token");
  make_v4(made.bytes);
  digest_of(made.bytes, token_size, made.digest);
  return made;
}

request_bytes::request_bytes() : buffer_(call([] { return makeStringInfo(); })) {}

void request_bytes::append(const char* bytes, std::size_t size) {
  // Where there is room nothing can fail. (One byte is the server's own end of the string.)
  if (static_cast<std::size_t>(buffer_->maxlen - buffer_->len) > size) {
    std::memcpy(buffer_->data + buffer_->len, bytes, size);
    buffer_->len += static_cast<int>(size);
    return;
  }
  call([&] { appendBinaryStringInfo(buffer_, bytes, static_cast<int>(size)); });
}

request_bytes& request_bytes::add(std::string_view field) {
  add(static_cast<std::int64_t>(field.size()));
  append(field.data(), field.size());
  return *this;
}

request_bytes& request_bytes::add(std::int64_t field) {
  // Most significant byte first: the digest is the same on every machine.
  char bytes[8];
  for (int at = 0; at < 8; ++at)
    bytes[at] = static_cast<char>((static_cast<std::uint64_t>(field) >> (56 - 8 * at)) & 0xff);
  append(bytes, sizeof bytes);
  return *this;
}

request_bytes& request_bytes::add(std::optional<std::string_view> field) {
  add(std::int64_t{field ? 1 : 0});
  return field ? add(*field) : *this;
}

request_bytes& request_bytes::add(std::optional<std::int64_t> field) {
  add(std::int64_t{field ? 1 : 0});
  return field ? add(*field) : *this;
}

void request_bytes::digest(unsigned char (&digest)[digest_size]) const {
  digest_of(buffer_->data, static_cast<std::size_t>(buffer_->len), digest);
}

bool database_is_utf8() { return GetDatabaseEncoding() == PG_UTF8; }

std::string_view kept_note(std::string_view note, std::size_t limit) {
  if (note.size() <= limit) return note;
  if (database_is_utf8()) return cut_text(note, limit);
  // Other multibyte encodings: the server's own clip.
  int const kept =
      call([&] { return pg_mbcliplen(note.data(), static_cast<int>(note.size()), static_cast<int>(limit)); });
  return note.substr(0, static_cast<std::size_t>(kept));
}

}  // namespace ql3::pg
