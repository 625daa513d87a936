import Dispatch
import HeartlogFiles
import HeartlogFormat
import Synchronization

/// A PostgreSQL database, for any number of hubs: "PostgreSQL" in docs/hub.md.
final class PostgresDatabase: HubDatabase {
  let dialect = SQLDialect(
    // What two hubs that start at once must not both do.
    prelude: "select pg_advisory_xact_lock(\(0x6865_6172_746c_6f67)); create schema if not exists heartlog",
    counters: "with (fillfactor = 70)",
    // A vacuum of a part is short.
    objects: "partition by hash (vault)",
    // What is in it is worth ten minutes.
    unlogged: "unlogged",
    // Contents are encrypted or compressed already. Those that fit into a page stay in the row: the rest of the page takes small ones.
    epilogue: """
      do $$ begin
        for part in 0..3 loop
          execute format(
            'create table objects_%s partition of objects for values with (modulus 4, remainder %s)', part, part);
          execute format('alter table objects_%s alter column bytes set storage external', part);
          execute format('alter table objects_%s set (toast_tuple_target = 8160)', part);
        end loop;
      end $$
      """)
  private let address: String
  private let connections: ConnectionPool<PostgresConnection>

  // Notices are sent after the commit, on a connection that does not wait for the disk: within the transactions they would make these wait for
  // each other.
  private let sending = DispatchQueue(label: "heartlog.hub.notices.sending")
  private let listening = DispatchQueue(label: "heartlog.hub.notices.listening")
  private let unsent = Mutex<Set<VaultID>>([])
  private let isClosed = Mutex(false)

  private static let pauseMilliseconds: Int32 = 250
  /// PostgreSQL takes 8,000 bytes in a notice.
  private static let noticeVaultsMax = 200

  /// - Parameter address: What `psql` takes, for example `postgresql://user@host/database`.
  init(_ address: String) {
    self.address = address
    connections = ConnectionPool(idleMax: 6) { PostgresConnection(address) }
  }

  func read<R>(_ body: (any SQLConnection) throws -> R) throws -> R {
    try connections.use(body)
  }

  func write<R>(_ body: (any SQLConnection) throws -> R) throws -> R {
    try connections.use { try $0.transaction(body) }
  }

  func announce(_ vaults: Set<VaultID>) {
    let isFirst = unsent.withLock { unsent in
      defer { unsent.formUnion(vaults) }
      return unsent.isEmpty
    }
    if isFirst { sending.async { self.send() } }
  }

  private func send() {
    var vaults = unsent.withLock { unsent in
      defer { unsent = [] }
      return Array(unsent)[...]
    }
    while !vaults.isEmpty {
      let payload = vaults.prefix(Self.noticeVaultsMax).map(\.description).joined(separator: " ")
      vaults = vaults.dropFirst(Self.noticeVaultsMax)
      // A hub that misses a notice finds the objects when it is asked for them.
      try? read { connection in
        _ = try connection.run(
          "select set_config('synchronous_commit', 'off', true), pg_notify('heartlog', $1)", .text(payload))
      }
    }
  }

  func observe(_ body: @escaping @Sendable (VaultID) -> Void) {
    listening.async {
      let connection = PostgresConnection(self.address)
      var isListening = false
      while !self.isClosed.withLock({ $0 }) {
        do {
          if !isListening {
            try connection.run(script: "listen heartlog")
            isListening = true
          }
          for payload in try connection.notices(milliseconds: Self.pauseMilliseconds) {
            for vault in payload.split(separator: " ") { VaultID(String(vault)).map(body) }
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
    isClosed.withLock { $0 = true }
    listening.sync {}
    sending.sync {}
    connections.close()
  }
}
