import Dispatch
import Heartlog
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Tells other hubs on the same database in which vaults objects were put, and hears it from them.
///
/// A notice is a hint. It is sent after the commit, on a connection of its own that does not wait for the disk: notices within the
/// transactions would make these wait for each other.
final class PostgresNotices: Sendable {
  private struct State {
    var waiting: Set<VaultID> = []
    var isSending = false
    var isClosed = false
  }

  static let channel = "heartlog"
  private static let idDigits = 32
  /// PostgreSQL takes 8,000 bytes.
  private static let vaultsMax = 200
  private static let pauseMilliseconds: Int32 = 250

  private let address: String
  private let connections: PostgresConnections
  private let sending = DispatchQueue(label: "heartlog.hub.notices.sending")
  private let listening = DispatchQueue(label: "heartlog.hub.notices.listening")
  private let state = Mutex(State())

  init(_ address: String) {
    self.address = address
    connections = PostgresConnections(address, idleMax: 1)
  }

  /// Tells the other hubs, together with what waits.
  func send(_ vaults: Set<VaultID>) {
    state.withLock { state in
      state.waiting.formUnion(vaults)
      guard !state.waiting.isEmpty, !state.isSending, !state.isClosed else { return }
      state.isSending = true
      sending.async { self.send() }
    }
  }

  private func send() {
    while let vaults = next() {
      // A hub that misses a notice finds the objects when it is asked for them.
      _ = try? connections.use { (connection) throws(HeartlogError) in
        try connection.run(.notify, [.text(vaults.map(\.description).joined())])
      }
    }
  }

  private func next() -> [VaultID]? {
    state.withLock { state in
      let vaults = Array(state.waiting.prefix(Self.vaultsMax))
      guard !vaults.isEmpty else {
        state.isSending = false
        return nil
      }
      state.waiting.subtract(vaults)
      return vaults
    }
  }

  /// From now on calls `body` for each vault that another hub, or this one, tells.
  func listen(_ body: @escaping @Sendable (VaultID) -> Void) {
    listening.async {
      let connection = PostgresConnection(self.address)
      var isListening = false
      while !self.state.withLock({ $0.isClosed }) {
        do throws(HeartlogError) {
          if !isListening {
            _ = try connection.run(text: "listen \(Self.channel)")
            isListening = true
          }
          for payload in try connection.notices(milliseconds: Self.pauseMilliseconds) {
            for vault in Self.vaults(payload) { body(vault) }
          }
        } catch {
          connection.close()
          isListening = false
          usleep(UInt32(Self.pauseMilliseconds) * 1_000)
        }
      }
    }
  }

  func close() {
    state.withLock { $0.isClosed = true }
    listening.sync {}
    sending.sync {}
  }

  private static func vaults(_ payload: String) -> [VaultID] {
    let digits = Array(payload.utf8)
    return stride(from: 0, to: digits.count, by: idDigits).compactMap { start in
      VaultID(String(decoding: digits[start..<min(digits.count, start + idDigits)], as: UTF8.self))
    }
  }
}
