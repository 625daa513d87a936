import CPeers

/// Somebody else's store, or a raw limit, behind its calls in C.
final class CPeer: Peer, @unchecked Sendable {
  // Unchecked: the handle is for one thread, or takes any number of them, as the peer in C says.
  private let calls: bench_peer
  private let handle: UnsafeMutableRawPointer
  private let folder: String
  private let trace: Trace
  private let durability: bench_durability

  init(_ name: String, _ folder: String, _ trace: Trace, _ waiting: Waiting) throws {
    guard let calls = bench_peer_named(name)?.pointee else { throw Failure("there is no peer \"\(name)\"") }
    self.calls = calls
    self.folder = folder
    self.trace = trace
    durability = waiting == .durable ? BENCH_DURABLE : BENCH_BUFFERED
    guard let handle = calls.open(folder, durability) else { throw Failure("\(name) does not open") }
    self.handle = handle
  }

  private init(connectedTo peer: CPeer, _ handle: UnsafeMutableRawPointer) {
    calls = peer.calls
    folder = peer.folder
    trace = peer.trace
    durability = peer.durability
    self.handle = handle
  }

  func connection() -> any Peer {
    guard let handle = calls.connect?(folder, durability) else { return self }
    return CPeer(connectedTo: self, handle)
  }

  func commit(_ places: Range<Int>) {
    let operations = UnsafeBufferPointer(rebasing: trace.operations[places])
    calls.commit(handle, operations.baseAddress, operations.count)
  }

  func commitAwaited(_ place: Int) async throws { throw Failure("only Heartlog is awaited") }

  func isFavorite(_ place: Int) -> Bool {
    let id = trace.operations[place].id
    return calls.is_favorite(handle, id.bytes, id.length)
  }

  func item(_ place: Int) -> Int {
    let id = trace.operations[place].id
    return calls.item(handle, id.bytes, id.length)
  }

  func page(_ limit: Int) -> Int { calls.page(handle, limit) }

  func favoriteCount() -> Int? { calls.favorites.map { $0(handle) } }
  func flush() {}

  func compact() { calls.compact?(handle) }
  func close() { calls.close(handle) }
}
