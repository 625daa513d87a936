#if !canImport(Darwin)
  import CCurl

  #if canImport(Musl)
    import Musl
  #else
    import Glibc
  #endif

  /// The functions of libcurl, which is loaded when they are first needed.
  ///
  /// Safe to send: the addresses of functions never change.
  struct CurlLibrary: @unchecked Sendable {
    let set: UnsafeMutableRawPointer
    let makeEasy: heartlog_curl_easy_init
    let resetEasy: heartlog_curl_easy_done
    let endEasy: heartlog_curl_easy_done
    let message: heartlog_curl_easy_strerror
    let append: heartlog_curl_slist_append
    let free: heartlog_curl_slist_free_all
    let makeMulti: heartlog_curl_multi_init
    let endMulti: heartlog_curl_multi_cleanup
    let add: heartlog_curl_multi_change
    let remove: heartlog_curl_multi_change
    let perform: heartlog_curl_multi_perform
    let poll: heartlog_curl_multi_poll
    let read: heartlog_curl_multi_info_read

    /// It stays loaded: libcurl has threads and state of its own.
    static let shared = Result { () throws(HTTPFailure) in try CurlLibrary() }

    /// By the names that Debian, Fedora, Alpine and others give it. All have the same interface.
    private static let names = ["libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so"]

    private init() throws(HTTPFailure) {
      guard let library = Self.names.lazy.compactMap({ dlopen($0, RTLD_NOW | RTLD_LOCAL) }).first else {
        throw HTTPFailure(
          .missingLibrary,
          "libcurl is not installed, which a hub is reached with: on Debian and Ubuntu, apt install libcurl4"
        )
      }
      func address(_ name: String) throws(HTTPFailure) -> UnsafeMutableRawPointer {
        guard let address = dlsym(library, name) else {
          throw HTTPFailure(
            .missingLibrary, "the libcurl of this system is older than 7.66: it has no \(name)")
        }
        return address
      }
      func function<F>(_ name: String, _ type: F.Type) throws(HTTPFailure) -> F {
        // dlsym returns the address of a function as that of data.
        unsafeBitCast(try address(name), to: type)
      }
      let initialize = try function("curl_global_init", heartlog_curl_global_init.self)
      set = try address("curl_easy_setopt")
      makeEasy = try function("curl_easy_init", heartlog_curl_easy_init.self)
      resetEasy = try function("curl_easy_reset", heartlog_curl_easy_done.self)
      endEasy = try function("curl_easy_cleanup", heartlog_curl_easy_done.self)
      message = try function("curl_easy_strerror", heartlog_curl_easy_strerror.self)
      append = try function("curl_slist_append", heartlog_curl_slist_append.self)
      free = try function("curl_slist_free_all", heartlog_curl_slist_free_all.self)
      makeMulti = try function("curl_multi_init", heartlog_curl_multi_init.self)
      endMulti = try function("curl_multi_cleanup", heartlog_curl_multi_cleanup.self)
      add = try function("curl_multi_add_handle", heartlog_curl_multi_change.self)
      remove = try function("curl_multi_remove_handle", heartlog_curl_multi_change.self)
      perform = try function("curl_multi_perform", heartlog_curl_multi_perform.self)
      poll = try function("curl_multi_poll", heartlog_curl_multi_poll.self)
      read = try function("curl_multi_info_read", heartlog_curl_multi_info_read.self)
      // SSL, as CURL_GLOBAL_DEFAULT has it.
      guard initialize(3) == CURLE_OK else { throw HTTPFailure(.missingLibrary, "libcurl does not start") }
    }
  }
#endif
