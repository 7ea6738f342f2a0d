// A dispatch with libql3: posts to URL at most once for this item of this request. The library makes token and permit
// id, gives a permission up whose answer was lost, and stores the outcome however long that takes.
//
//   dispatch CONNINFO REQUEST ITEM URL        exits as `ql3 dispatch` does
//   g++ -std=c++20 dispatch.cpp -o dispatch $(pkg-config --cflags --libs ql3 libcurl)
#include <exception>
#include <iostream>
#include <string>

#include <curl/curl.h>
#include <nlohmann/json.hpp>
#include <ql3/dispatch.hpp>
#include <ql3/dispatch_pg_store.hpp>
#include <unistd.h>

// Called once or not at all. What it throws counts as unknown.
ql3::CallResult post(const std::string& url, const std::string& body) {
  CURL* const curl = curl_easy_init();
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.c_str());
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, 60L);
  const CURLcode end = curl_easy_perform(curl);
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_cleanup(curl);
  if (end != CURLE_OK) return {ql3::outcome::unknown, curl_easy_strerror(end)};  // it may have arrived
  const ql3::outcome what = status / 100 == 2 ? ql3::outcome::succeeded : ql3::outcome::failed;
  return {what, "HTTP " + std::to_string(status)};
}

int exit_code(const ql3::DispatchReport& report) {
  using End = ql3::DispatchEnd;
  switch (report.end) {
    case End::recorded:
      return report.what == ql3::outcome::succeeded ? 0 : report.what == ql3::outcome::failed ? 10 : 15;
    case End::foreign: return 11;
    case End::concluded: return 12;
    case End::identity_conflict: return 13;
    case End::halted: return 14;  // until an operator has spoken
    case End::left: return 15;
    case End::not_sent: return 16;
    case End::refused: break;
  }
  return 3;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  try {
    ql3::ConnectionOptions connection;
    connection.dsn = argv[1];
    ql3::PgDispatchStore store(connection), extending(connection);
    ql3::Dispatcher dispatcher(store, extending);
    ql3::DispatchRequest request;
    request.request_uid = argv[2];
    request.item = argv[3];
    request.action = "restart";
    request.arguments = nlohmann::json{{"url", argv[4]}}.dump();
    request.writer = "pid-" + std::to_string(getpid());
    const std::string body = nlohmann::json{{"request", argv[2]}, {"item", argv[3]}}.dump();
    const ql3::DispatchReport report =
        dispatcher.dispatch(request, [&](const ql3::DispatchStop&) { return post(argv[4], body); });
    std::cout << to_text(report.end) << " " << report.detail << std::endl;
    return exit_code(report);
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 2;
  }
}
