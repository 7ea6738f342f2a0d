// The attached sources, as the table has them, and resolving one to the relation it names now.
#pragma once

#include "args.hpp"

namespace ql3::pg {

// A row of ql3.recovery_sources. Views live in the memory of the call.
struct source {
  std::string_view kind;
  std::int64_t generation;
  std::string_view schema;
  std::string_view name;
  std::string_view owner;
  std::optional<std::string_view> transition_schema;
  std::optional<std::string_view> transition_name;
  std::optional<std::int32_t> max_failures;
  std::optional<std::int64_t> max_hold;
  std::int64_t version_floor;
  std::optional<std::string_view> paused;  // the reason, while it is paused
};

// Why a source cannot be read.
struct blindness {
  char sqlstate[6];
  char message[256];
};

// The built-in kind comes on top of the users' sources.
template <class T>
using per_source = boost::container::static_vector<T, sources_max + 1>;

// Every attached source, in kind order.
per_source<source> attached_sources();

// The sources of the kinds asked for, in kind order; all attached ones when `kinds` is absent.
// 55000 when nothing is attached; 42704 for a kind that is not; 22023 for an empty or repeating list.
per_source<source> sources_of(const std::optional<bounded<std::string_view>>& kinds);

// Those that are not paused, with a warning for each that is; `all_kinds`: the caller named none. 55000 when nothing is
// left to claim: a pause must not look like an empty page.
per_source<source> unpaused(const per_source<source>& sources, bool all_kinds);
// 55000 for a paused source.
[[noreturn]] void refuse_paused(const source& which);

// The floor of a kind as committed now: read after a target was found to have no row, it is above every version that
// a pruned row of that target had.
std::int64_t current_floor(std::string_view kind);

// The source of one kind, or none when it is not attached. Never read as "any": 42704 belongs to the caller.
std::optional<source> source_of(std::string_view kind);

// The attached sources of a page's kinds, each read once.
class page_sources {
 public:
  // nullptr when the kind is not attached.
  const source* of(std::string_view kind);

 private:
  struct known {
    std::string_view kind;
    std::optional<source> from;
  };
  bounded<known> known_;
};

// 42704 for a kind that was never attached: a typo, not an empty answer.
void require_known_kind(std::string_view kind);

// Kinds argument of claim and observe: absent when NULL; each checked.
std::optional<bounded<std::string_view>> read_kinds(const arguments& given, int position);

// What a source's name stands for now.
struct resolved_source {
  Oid relation;
  Oid owner;
};

// 42P01 when the relation is gone, 42501 when it belongs to somebody else: as blindness, never as an error.
std::optional<blindness> resolve(const source& from, resolved_source& to);

blindness blind(const char* sqlstate, std::string_view message);
blindness blind(const ErrorData* raised);
void warn_blind(const source& which, const blindness& why);

}  // namespace ql3::pg
