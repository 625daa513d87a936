#include <microhttpd.h>

/// Starts a daemon with the options of an array: Swift does not import functions of any number of arguments.
static inline struct MHD_Daemon *heartlog_start_daemon(
    unsigned int flags, uint16_t port, MHD_AccessHandlerCallback handler, void *context,
    struct MHD_OptionItem *options) {
  return MHD_start_daemon(flags, port, NULL, NULL, handler, context, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

/// The port on which a daemon listens; 0 if it is not known.
static inline uint16_t heartlog_daemon_port(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
  return info == NULL ? 0 : info->port;
}

/// The address of a client; NULL if it is not known.
static inline const struct sockaddr *heartlog_client_address(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  return info == NULL ? NULL : info->client_addr;
}

/// How many bytes the headers of a request have; 0 if it is not known.
static inline size_t heartlog_request_header_bytes(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  return info == NULL ? 0 : info->header_size;
}

/// The socket of a connection; -1 if it is not known.
static inline int heartlog_connection_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : (int)info->connect_fd;
}

/// What the callback for new connections has kept for one.
static inline void *heartlog_connection_context(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == NULL ? NULL : info->socket_context;
}

/// Whether a connection begins; otherwise it ends.
static inline int heartlog_is_new_connection(enum MHD_ConnectionNotificationCode code) {
  return code == MHD_CONNECTION_NOTIFY_STARTED;
}

/// Whether the library was built with TLS.
static inline enum MHD_Result heartlog_has_tls(void) { return MHD_is_feature_supported(MHD_FEATURE_TLS); }
