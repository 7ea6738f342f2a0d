// A dispatch store that follows a script, and a clock that sleeps no real time.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "client/dispatch.hpp"
#include "client/dispatch_store.hpp"
#include "client/store_error.hpp"

namespace ql3::test {

// For the thread that made it a wait is over at once and moves the clock to its end. Other threads
// wait until somebody has moved the clock.
class JumpingClock final : public Clock {
 public:
  Time now() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
            Time until) override {
    if (std::this_thread::get_id() == jumper_) {
      const std::lock_guard held(mutex_);
      now_ = std::max(now_, until);
    } else if (now() < until) {
      changed.wait_for(lock, std::chrono::milliseconds(1));
    }
  }
  void advance(Length length) {
    const std::lock_guard lock(mutex_);
    now_ += length;
  }

 private:
  mutable std::mutex mutex_;
  const std::thread::id jumper_ = std::this_thread::get_id();
  Time now_{std::chrono::hours(1)};
};

struct Message {
  std::string what;  // claim, permit, extend, settle, reassert, drop
  std::string word;  // outcome of a settle or reassert
  std::optional<std::string> detail;
  std::string token;
  std::string permit;  // empty: none
};

// Answers as its hooks say; without a hook, with the good word. A hook gets the number of the try,
// from 1, and may throw.
class ScriptedStore final : public DispatchStore {
 public:
  std::function<ClaimAnswer(int)> on_claim;
  std::function<PermitAnswer(int)> on_permit;
  std::function<ExtendAnswer(int)> on_extend;
  std::function<SettleAnswer(int, const Message&)> on_settle;
  std::function<ReassertAnswer(int)> on_reassert;

  std::vector<Message> messages() const {
    const std::lock_guard lock(mutex_);
    return messages_;
  }
  std::vector<Message> messages(const std::string& what) const {
    std::vector<Message> found;
    for (const Message& message : messages()) {
      if (message.what == what) found.push_back(message);
    }
    return found;
  }
  int count(const std::string& what) const { return static_cast<int>(messages(what).size()); }
  // A statement was sent after the last drop.
  bool connected() const {
    const std::lock_guard lock(mutex_);
    return !messages_.empty() && messages_.back().what != "drop";
  }

  ClaimAnswer claim(const DispatchRequest&, const OneTimeId& token, Clock::Length) override {
    const int number = record({"claim", {}, {}, token.parameter(), {}});
    return on_claim ? on_claim(number) : ClaimAnswer{ClaimVerdict::recorded, "claimed", {}, {1, 1}};
  }
  PermitAnswer permit(const DispatchRequest&, const OneTimeId& token, const OneTimeId& permit,
                      Clock::Length) override {
    const int number = record({"permit", {}, {}, token.parameter(), permit.parameter()});
    return on_permit ? on_permit(number) : PermitAnswer{true, {1, 2}};
  }
  ExtendAnswer extend(const DispatchRequest&, const OneTimeId& token, Clock::Length) override {
    const int number = record({"extend", {}, {}, token.parameter(), {}});
    return on_extend ? on_extend(number) : ExtendAnswer::extended;
  }
  SettleAnswer settle(const DispatchRequest&, const OneTimeId& token, outcome what,
                      const std::optional<std::string>& detail, const OneTimeId* permit,
                      Clock::Length) override {
    const Message message{"settle", std::string(to_text(what)), detail, token.parameter(),
                          permit == nullptr ? "" : permit->parameter()};
    const int number = record(message);
    return on_settle ? on_settle(number, message) : SettleAnswer::recorded;
  }
  ReassertAnswer reassert(const DispatchRequest&, const OneTimeId& token, outcome what,
                          Clock::Length) override {
    const int number = record({"reassert", std::string(to_text(what)), {}, token.parameter(), {}});
    return on_reassert ? on_reassert(number) : ReassertAnswer::recorded;
  }
  void drop() noexcept override { record({"drop", {}, {}, {}, {}}); }

 private:
  int record(const Message& message) {
    const std::lock_guard lock(mutex_);
    messages_.push_back(message);
    int number = 0;
    for (const Message& one : messages_) number += one.what == message.what ? 1 : 0;
    return number;
  }

  mutable std::mutex mutex_;
  std::vector<Message> messages_;
};

inline StoreError refusal(const char* sqlstate) {
  return StoreError(sqlstate, ServerText{"no", "", ""});
}
inline StoreError lost() { return StoreError(StoreCode::lost_reply, "test"); }
inline StoreError down() { return StoreError(StoreCode::unreachable, "test"); }

inline DispatchRequest switchover() {
  return {"ops-1",      "mssql",
          "switchover", R"({"source": "a", "candidate": "b"})",
          "writer:1",   std::chrono::minutes(5)};
}

}  // namespace ql3::test
