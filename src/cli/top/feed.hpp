// The database behind ql3 top, on a thread of its own: a server that does not answer must not keep
// the keys from working.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "cli/acting.hpp"
#include "cli/top/model.hpp"

namespace ql3::cli {

// One look. Bounded by the views, and by `rows_max` of each. StoreError.
TopSnapshot read_snapshot(Connection& connection);

class TopFeed {
 public:
  // One thing that happened: a look, a look that failed, or the answer of a release.
  struct News {
    std::optional<TopSnapshot> seen;
    std::string lost;
    std::string told;
  };

  // `wake` is an eventfd that is written for every piece of news.
  TopFeed(const DatabaseOptions& options, Milliseconds interval, int wake);
  // Waits for a statement in flight, at most its limit.
  ~TopFeed();

  void look_now();
  void release(TopRelease wish);
  std::deque<News> take();
  // Nothing is being asked, so that the end need not wait.
  bool idle() const;

 private:
  void run(const std::stop_token& stop);
  void publish(News news);
  News look();
  News act(const TopRelease& wish);

  Connection reading_;
  Connection acting_;
  const Milliseconds interval_;
  const int wake_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  bool wanted_ = false;
  bool busy_ = false;
  std::deque<TopRelease> wishes_;
  std::deque<News> news_;
  std::jthread thread_;
};

ConnectionOptions top_connection(const DatabaseOptions& options);

}  // namespace ql3::cli
