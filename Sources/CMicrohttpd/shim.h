#include <dlfcn.h>
#include <microhttpd.h>

// The library is loaded when something is first served, not linked: loading it, and GnuTLS with it, takes longer than most commands do. Its
// functions are called through these addresses.
struct heartlog_http {
  __typeof__(&MHD_start_daemon) start_daemon;
  __typeof__(&MHD_stop_daemon) stop_daemon;
  __typeof__(&MHD_get_daemon_info) get_daemon_info;
  __typeof__(&MHD_get_connection_info) get_connection_info;
  __typeof__(&MHD_get_connection_values) get_connection_values;
  __typeof__(&MHD_is_feature_supported) is_feature_supported;
  __typeof__(&MHD_create_response_from_buffer) create_response_from_buffer;
  __typeof__(&MHD_create_response_from_callback) create_response_from_callback;
  __typeof__(&MHD_add_response_header) add_response_header;
  __typeof__(&MHD_queue_response) queue_response;
  __typeof__(&MHD_destroy_response) destroy_response;
  __typeof__(&MHD_suspend_connection) suspend_connection;
  __typeof__(&MHD_resume_connection) resume_connection;
};

/// Finds the functions of a loaded library. Returns 0 if it lacks one.
static inline int heartlog_http_find(void *library, struct heartlog_http *http) {
#define HEARTLOG_FIND(name) \
  if (!(http->name = (__typeof__(http->name))dlsym(library, "MHD_" #name))) return 0;
  HEARTLOG_FIND(start_daemon)
  HEARTLOG_FIND(stop_daemon)
  HEARTLOG_FIND(get_daemon_info)
  HEARTLOG_FIND(get_connection_info)
  HEARTLOG_FIND(get_connection_values)
  HEARTLOG_FIND(is_feature_supported)
  HEARTLOG_FIND(create_response_from_buffer)
  HEARTLOG_FIND(create_response_from_callback)
  HEARTLOG_FIND(add_response_header)
  HEARTLOG_FIND(queue_response)
  HEARTLOG_FIND(destroy_response)
  HEARTLOG_FIND(suspend_connection)
  HEARTLOG_FIND(resume_connection)
#undef HEARTLOG_FIND
  return 1;
}

/// What a daemon calls, each time with `context`. All but `handle` may be NULL.
struct heartlog_handlers {
  void *context;
  MHD_AccessHandlerCallback handle;
  /// With the first line of a request.
  void *(*begin)(void *context, const char *target, struct MHD_Connection *connection);
  MHD_RequestCompletedCallback end;
  MHD_NotifyConnectionCallback connection;
};

/// Starts a daemon: Swift does not import functions of any number of arguments. NULL if it cannot listen.
///
/// With a certificate and its key, in PEM, it serves TLS. They must stay where they are as long as it runs.
static inline struct MHD_Daemon *heartlog_start_daemon(
    const struct heartlog_http *http, const struct sockaddr *address, struct heartlog_handlers handlers, unsigned int threads,
    unsigned int connections, unsigned int seconds, size_t connection_bytes, const char *certificate, const char *key) {
  unsigned int flags = MHD_USE_EPOLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME;
  struct MHD_OptionItem tls[] = {
      {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)certificate},
      {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)key},
      {MHD_OPTION_END, 0, NULL}};
  if (certificate) flags |= MHD_USE_TLS;
  if (address->sa_family == AF_INET6) flags |= MHD_USE_IPv6;
  return http->start_daemon(
      flags, 0, NULL, NULL, handlers.handle, handlers.context, MHD_OPTION_SOCK_ADDR, address,
      MHD_OPTION_THREAD_POOL_SIZE, threads, MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_CONNECTION_TIMEOUT,
      seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_bytes, MHD_OPTION_URI_LOG_CALLBACK, handlers.begin,
      handlers.context, MHD_OPTION_NOTIFY_COMPLETED, handlers.end, handlers.context, MHD_OPTION_NOTIFY_CONNECTION,
      handlers.connection, handlers.context, MHD_OPTION_ARRAY, certificate ? tls : tls + 2, MHD_OPTION_END);
}

/// The port on which a daemon listens; 0 if it is not known.
static inline uint16_t heartlog_daemon_port(const struct heartlog_http *http, struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = http->get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
  return info == NULL ? 0 : info->port;
}

/// The address of a client; NULL if it is not known.
static inline const struct sockaddr *heartlog_client_address(
    const struct heartlog_http *http, struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = http->get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  return info == NULL ? NULL : info->client_addr;
}

/// How many bytes the headers of a request have; 0 if it is not known.
static inline size_t heartlog_request_header_bytes(const struct heartlog_http *http, struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      http->get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  return info == NULL ? 0 : info->header_size;
}

/// The socket of a connection; -1 if it is not known.
static inline int heartlog_connection_socket(const struct heartlog_http *http, struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = http->get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : (int)info->connect_fd;
}

/// What the callback for new connections has kept for one.
static inline void *heartlog_connection_context(const struct heartlog_http *http, struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = http->get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == NULL ? NULL : info->socket_context;
}

/// Whether a connection begins; otherwise it ends.
static inline int heartlog_is_new_connection(enum MHD_ConnectionNotificationCode code) {
  return code == MHD_CONNECTION_NOTIFY_STARTED;
}
