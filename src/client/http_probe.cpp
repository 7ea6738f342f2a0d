#include "client/http_probe.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include <curl/curl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "client/pipe_signal.hpp"
#include "client/probe_json.hpp"

namespace ql3 {

namespace {

// All the headers of an answer together; libcurl would take any amount.
constexpr std::size_t headers_max = 64 * 1024;

struct Free {
  void operator()(CURLU* url) const noexcept { curl_url_cleanup(url); }
  void operator()(CURL* easy) const noexcept { curl_easy_cleanup(easy); }
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
  void operator()(char* text) const noexcept { curl_free(text); }
};
struct FreeMulti {
  void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
};

template <typename T>
T* made(T* pointer) {
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

// Once for the process, and only in one that has such a probe.
void start_library() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) throw std::runtime_error("no HTTP client: libcurl cannot be started");
}

std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return {};
  const std::unique_ptr<char, Free> owned(text);
  return text;
}

bool system_has_folder() {
  const char* const folder = curl_version_info(CURLVERSION_NOW)->capath;
  return folder != nullptr && access(folder, R_OK | X_OK) == 0;
}

// One request and its answer.
class Exchange {
 public:
  Exchange(const std::string& url, const std::string& scheme, const std::string& ca_file,
           std::string candidate, Milliseconds timeout)
      : candidate_(std::move(candidate)), timeout_(timeout) {
    for (const char* line : {"Content-Type: application/json", "Accept: application/json",
                             // No waiting for a "100 Continue".
                             "Expect:"}) {
      // The head stays the same once there is one.
      headers_.reset(made(curl_slist_append(headers_.release(), line)));
    }
    set(CURLOPT_URL, url.c_str());
    only(scheme);
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDS, candidate_.data());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(candidate_.size()));
    set(CURLOPT_HTTPHEADER, headers_.get());
    set(CURLOPT_USERAGENT, "ql3");
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_FOLLOWLOCATION, 0L);
    // Neither the environment's proxies nor .netrc.
    set(CURLOPT_PROXY, "");
    set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    set(CURLOPT_SSL_VERIFYPEER, 1L);
    set(CURLOPT_SSL_VERIFYHOST, 2L);
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    trust(ca_file);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_FRESH_CONNECT, 1L);
    set(CURLOPT_FORBID_REUSE, 1L);
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(connect_limit().count()));
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
    set(CURLOPT_WRITEFUNCTION, &Exchange::body);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_HEADERFUNCTION, &Exchange::header);
    set(CURLOPT_HEADERDATA, this);
  }

  // Empty when the answer came whole with status 200, else why it does not count.
  std::string run(const std::stop_token& stop) {
    const Added added(multi_.get(), easy_.get());
    const std::stop_callback wake(stop, [this] { curl_multi_wakeup(multi_.get()); });
    for (;;) {
      int running = 0;
      if (curl_multi_perform(multi_.get(), &running) != CURLM_OK) return "the request failed";
      if (const auto ended = result()) return verdict(*ended);
      if (stop.stop_requested()) return "stopped before it answered";
      // libcurl's own timers are in this wait; the limit only guards against none being set.
      curl_multi_poll(multi_.get(), nullptr, 0, 1000, nullptr);
    }
  }

  const std::string& answer() const noexcept { return answer_; }

 private:
  struct Added {
    Added(CURLM* multi, CURL* easy) : multi_(multi), easy_(easy) {
      if (curl_multi_add_handle(multi_, easy_) != CURLM_OK) throw std::bad_alloc();
    }
    ~Added() { curl_multi_remove_handle(multi_, easy_); }
    Added(const Added&) = delete;
    Added& operator=(const Added&) = delete;
    CURLM* multi_;
    CURL* easy_;
  };

  template <typename Value>
  void set(CURLoption option, Value value) {
    const CURLcode code = curl_easy_setopt(easy_.get(), option, value);
    if (code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
    // A libcurl without TLS, say: better no probe than one that does less than it promises.
    if (code != CURLE_OK) throw std::runtime_error("libcurl does not know an option of the probe");
  }

  void only(const std::string& scheme) {
#if LIBCURL_VERSION_NUM >= 0x075500
    set(CURLOPT_PROTOCOLS_STR, scheme.c_str());
#else
    set(CURLOPT_PROTOCOLS, static_cast<long>(scheme == "https" ? CURLPROTO_HTTPS : CURLPROTO_HTTP));
#endif
  }

  // Of the system's two forms of the same authorities the folder is looked into for one; the file
  // would be read whole, for each request.
  void trust(const std::string& ca_file) {
    if (!ca_file.empty()) {
      set(CURLOPT_CAINFO, ca_file.c_str());
      set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    } else if (system_has_folder()) {
      set(CURLOPT_CAINFO, static_cast<const char*>(nullptr));
    }
  }

  Milliseconds connect_limit() const { return std::min(timeout_, HttpProbe::connect_max); }

  std::optional<CURLcode> result() {
    int left = 0;
    while (const CURLMsg* const message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg == CURLMSG_DONE) return message->data.result;
    }
    return std::nullopt;
  }

  // In words of our own: libcurl's could name the host.
  std::string verdict(CURLcode code) const {
    if (too_large_) return fmt::format("the answer has more than {} bytes", answer_max);
    switch (code) {
      case CURLE_OK: break;
      case CURLE_OPERATION_TIMEDOUT: return late();
      case CURLE_COULDNT_RESOLVE_HOST: return "its host name cannot be resolved";
      case CURLE_COULDNT_CONNECT: return "it cannot be reached";
      case CURLE_PEER_FAILED_VERIFICATION: return "its certificate is not trusted";
      case CURLE_SSL_CACERT_BADFILE: return "the file of certificates cannot be used";
      case CURLE_SSL_CONNECT_ERROR: return "no TLS connection";
      case CURLE_GOT_NOTHING:
      case CURLE_SEND_ERROR:
      case CURLE_RECV_ERROR:
      case CURLE_PARTIAL_FILE: return "the connection broke before the answer was whole";
      default:
        return fmt::format("the request failed with code {} of libcurl", static_cast<int>(code));
    }
    long status = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    return status == 200 ? std::string() : fmt::format("HTTP status {}", status);
  }

  std::string late() const {
    curl_off_t connected = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_PRETRANSFER_TIME_T, &connected);
    return connected == 0 ? fmt::format("no connection within {}", to_text(connect_limit()))
                          : fmt::format("no answer within {}", to_text(timeout_));
  }

  // Another number than that of the bytes ends the transfer. No exception may pass through libcurl.
  static std::size_t body(char* data, std::size_t, std::size_t size, void* self) noexcept {
    auto& mine = *static_cast<Exchange*>(self);
    if (size > answer_max - mine.answer_.size()) return mine.refuse(size);
    try {
      mine.answer_.append(data, size);
    } catch (const std::bad_alloc&) {
      return size + 1;
    }
    return size;
  }

  static std::size_t header(char*, std::size_t, std::size_t size, void* self) noexcept {
    auto& mine = *static_cast<Exchange*>(self);
    if (size > headers_max - mine.headers_seen_) return mine.refuse(size);
    mine.headers_seen_ += size;
    return size;
  }

  std::size_t refuse(std::size_t size) noexcept {
    too_large_ = true;
    return size + 1;
  }

  const std::string candidate_;
  const Milliseconds timeout_;
  std::string answer_;
  std::size_t headers_seen_ = 0;
  bool too_large_ = false;
  std::unique_ptr<curl_slist, Free> headers_;
  // The multi goes last: an easy handle keeps its connections in it.
  std::unique_ptr<CURLM, FreeMulti> multi_{made(curl_multi_init())};
  std::unique_ptr<CURL, Free> easy_{made(curl_easy_init())};
};

}  // namespace

HttpProbe::HttpProbe(const std::string& url, HttpProbeOptions options)
    : url_(url), ca_file_(std::move(options.ca_file)) {
  start_library();
  const std::unique_ptr<CURLU, Free> parsed(made(curl_url()));
  const bool good = url.find('\0') == std::string::npos &&
                    curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) == CURLUE_OK;
  if (good) scheme_ = part_of(parsed.get(), CURLUPART_SCHEME);
  if (scheme_ != "http" && scheme_ != "https") {
    throw std::invalid_argument("the URL is no http or https address with a host");
  }
  if (ca_file_.empty()) return;
  if (scheme_ != "https") {
    throw std::invalid_argument("a file of certificates goes with https only");
  }
  if (access(ca_file_.c_str(), R_OK) != 0) {
    throw std::invalid_argument(
        fmt::format("the file of certificates \"{}\" cannot be read", ca_file_.substr(0, 200)));
  }
}

ProbeAnswer HttpProbe::judge(const Target& target, const ProbeCall& call) {
  const PipeSignalHeld quiet;
  // libcurl takes 0 for no limit.
  const auto timeout =
      std::max(std::chrono::duration_cast<Milliseconds>(call.timeout), Milliseconds(1));
  Exchange exchange(url_, scheme_, ca_file_, candidate_json(target), timeout);
  std::string fault = exchange.run(call.stop);
  return fault.empty() ? parse_answer(exchange.answer(), target) : no_answer(std::move(fault));
}

}  // namespace ql3
