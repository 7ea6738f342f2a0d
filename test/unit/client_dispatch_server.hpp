// A control database in memory with one item in it, and a network that does to messages whatever a
// network can do. What an attempt may become is decided by the core, as in the real server.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "client/dispatch_store.hpp"
#include "client/store_error.hpp"
#include "core/dispatch.hpp"

namespace ql3::test {

class FakeServer {
 public:
  struct Attempt {
    std::string token, permit;
    attempt_facts facts;
    int lineage;
  };

  ClaimVerdict claim(const std::string& token) {
    if (Attempt* const own = find(token)) {
      if (own->facts.released) return ClaimVerdict::released;
      if (concluded()) return ClaimVerdict::concluded;
      return ClaimVerdict::recorded;
    }
    if (concluded()) return ClaimVerdict::concluded;
    if (unreleased() > 0) return ClaimVerdict::foreign;
    if (halted()) return ClaimVerdict::halted;
    add({token, {}, {}, timeline_});
    return ClaimVerdict::recorded;
  }

  // Absent: halted.
  std::optional<bool> permit(const std::string& token, const std::string& permit) {
    Attempt* const own = find(token);
    if (own == nullptr) return false;
    own->facts.own_lineage = own->lineage == timeline_;
    if (!may_permit(own->facts) || unreleased() != 1) return false;
    if (halted()) return std::nullopt;
    own->facts.permitted = true;
    own->permit = permit;
    ++position_;
    return true;
  }

  SettleAnswer settle(const std::string& token, outcome what, const std::string& permit) {
    Attempt* const own = find(token);
    if (own == nullptr) return unreleased() > 0 ? SettleAnswer::foreign : SettleAnswer::absent;
    own->facts.own_lineage = own->lineage == timeline_;
    const bool matches = own->facts.permitted && own->permit == permit;
    ++position_;
    return settle_attempt(own->facts, what, matches) == settle_answer::recorded
               ? SettleAnswer::recorded
               : SettleAnswer::concluded;
  }

  ReassertAnswer reassert(const std::string& token, outcome what) {
    if (find(token) != nullptr) {
      return settle(token, what, {}) == SettleAnswer::recorded ? ReassertAnswer::recorded
                                                               : ReassertAnswer::concluded;
    }
    for (Attempt& other : attempts_) {
      if (!has_facts(other.facts) && !other.facts.permitted) other.facts.released = true;
    }
    attempt_facts facts;
    facts.permitted = true;
    facts.writer = what;
    add({token, {}, facts, timeline_});
    return ReassertAnswer::recorded;
  }

  // Recovery and the operator speak about the attempt that stands for the item.
  void judge(outcome what) {
    for (Attempt& one : attempts_) {
      one.facts.own_lineage = one.lineage == timeline_;
      if (judge_attempt(one.facts, what, true)) return;
    }
  }
  void override_with(outcome what) {
    for (Attempt& one : attempts_) {
      if (override_attempt(one.facts, what)) return;
    }
  }

  void promote() { ++timeline_; }
  void confirm() { confirmed_ = timeline_; }
  bool halted() const { return timeline_ != confirmed_; }
  LogPlace place() const { return {timeline_, position_}; }
  const Attempt* attempt(const std::string& token) const {
    return const_cast<FakeServer*>(this)->find(token);
  }

 private:
  Attempt* find(const std::string& token) {
    for (Attempt& one : attempts_) {
      if (one.token == token) return &one;
    }
    return nullptr;
  }
  void add(Attempt attempt) {
    attempts_.push_back(std::move(attempt));
    ++position_;
  }
  bool concluded() const {
    return std::any_of(attempts_.begin(), attempts_.end(), [](const Attempt& one) {
      return !one.facts.released && has_facts(one.facts);
    });
  }
  int unreleased() const {
    return static_cast<int>(std::count_if(attempts_.begin(), attempts_.end(),
                                          [](const Attempt& one) { return !one.facts.released; }));
  }

  std::vector<Attempt> attempts_;
  int timeline_ = 1;
  int confirmed_ = 1;
  std::int64_t position_ = 1;
};

// The process was killed in the middle of a statement.
struct Killed {};

// The server, its past, the network around it and everybody else who uses the item.
class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {}

  bool chance(int percent) { return static_cast<int>(random_() % 100) < percent; }
  template <typename T>
  T one_of(std::initializer_list<T> values) {
    return *(values.begin() + random_() % values.size());
  }

  // One message of a dispatcher. Sooner or later the network is at peace, so that all loops end.
  template <typename Answer>
  Answer send(std::function<Answer(FakeServer&)> execute) {
    happen();
    remember();
    if (faults_ == 0 || !chance(50)) return execute(server);
    --faults_;
    const auto later = [this, execute] {
      delayed_.push_back([execute](FakeServer& at) {
        try {
          execute(at);
        } catch (const StoreError&) {
          // Nobody is there to read it.
        }
      });
    };
    switch (random_() % 9) {
      case 0: throw StoreError(StoreCode::unreachable, "test");
      case 1: throw StoreError(StoreCode::lost_reply, "never arrived");
      case 2: later(); throw StoreError(StoreCode::lost_reply, "arrives later");
      case 3: execute(server); throw StoreError(StoreCode::lost_reply, "answer lost");
      case 4: execute(server); throw StoreError(StoreCode::malformed, "answer not understood");
      case 5: execute(server); throw StoreError("57P01", {});
      case 6: later(); return execute(server);
      case 7:
        if (kills && chance(30)) throw Killed();
        [[fallthrough]];
      default:
        throw StoreError(one_of({"40001", "40P01", "55P03", "53100", "53300", "25006", "57014"}),
                         {});
    }
  }

  // Whatever the rest of the world does between two messages.
  void happen() {
    if (depth_ > 2) return;
    if (!delayed_.empty() && chance(30)) {
      const auto at = static_cast<std::size_t>(random_() % delayed_.size());
      const auto message = delayed_[at];
      delayed_.erase(delayed_.begin() + static_cast<std::ptrdiff_t>(at));
      message(server);
    }
    if (chance(4)) {
      disturbed = true;
      server.judge(one_of({outcome::unknown, outcome::not_sent, outcome::succeeded}));
    }
    if (chance(1)) {
      disturbed = true;
      server.override_with(one_of({outcome::failed, outcome::not_sent, outcome::unknown}));
    }
    if (chance(3)) fail_over();
    if (server.halted() && !lossy && chance(30)) server.confirm();
    if (another && others_ > 0 && chance(15)) {
      --others_;
      ++depth_;
      another();
      --depth_;
    }
  }

  FakeServer server;
  // Runs one more dispatcher on the same item, to its end.
  std::function<void()> another;
  bool kills = false;
  // Commits were lost: nobody may confirm this promotion.
  bool lossy = false;
  // Somebody judged, overrode or promoted: what was said before may not stand.
  bool disturbed = false;

 private:
  void remember() {
    past_.push_back(server);
    if (past_.size() > 6) past_.erase(past_.begin());
  }
  void fail_over() {
    disturbed = true;
    const int timeline = static_cast<int>(server.place().timeline);
    if (!past_.empty() && chance(50)) {
      lossy = true;
      server = past_[static_cast<std::size_t>(random_() % past_.size())];
    }
    while (server.place().timeline <= timeline) server.promote();
    past_.clear();
  }

  std::mt19937_64 random_;
  std::vector<FakeServer> past_;
  std::vector<std::function<void(FakeServer&)>> delayed_;
  int faults_ = 12;
  int others_ = 4;
  int depth_ = 0;
};

}  // namespace ql3::test
