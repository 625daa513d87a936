#if canImport(Darwin)
  import Dispatch
  import notify

  /// A notification that all processes of a machine can post and receive, apps and their extensions included: notify(3).
  final class DarwinNotification: LockFileWatch {
    private let token: Int32

    /// Calls `received` after each post, until it is released.
    init(_ name: String, path: String, _ received: @escaping @Sendable () -> Void) throws(FileError) {
      var token: Int32 = 0
      let status = notify_register_dispatch(name, &token, DispatchQueue.global()) { _ in received() }
      guard status == UInt32(NOTIFY_STATUS_OK) else {
        throw SystemCall("watch", path).error(Int32(ENOSPC))
      }
      self.token = token
    }

    deinit { notify_cancel(token) }

    static func post(_ name: String) { notify_post(name) }
  }
#endif
