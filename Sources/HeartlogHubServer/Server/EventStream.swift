import CMicrohttpd
import Heartlog
import HeartlogFiles
import HeartlogHub

/// One answer to `GET …/changes`: "Changes" in docs/hub.md.
///
/// Unchecked: what changes is guarded by `condition`, the connection included: it is suspended while `isSuspended` says so.
final class EventStream: @unchecked Sendable {
  let member: VaultMember
  let token: Digest
  let start = MonotonicClock.nanoseconds()
  let end: UInt64
  private let connection: ConnectionHandle
  /// Closes the connection.
  private let drop: @Sendable () -> Void
  private let condition = Condition()
  private var pending: [UInt8] = Array(":\n\n".utf8)
  private var isSuspended = false
  private var isEnded = false
  private var cursor: String?
  private var lastEvent = MonotonicClock.nanoseconds()

  init(
    member: VaultMember, token: Digest, end: UInt64, after cursor: String?, connection: ConnectionHandle,
    drop: @escaping @Sendable () -> Void
  ) {
    self.member = member
    self.token = token
    self.end = end
    self.cursor = cursor
    self.connection = connection
    self.drop = drop
  }

  static let listMax = 100
  /// Each stream has one all the time.
  private static let bufferBytes = 1_024
  /// Half of what the page promises, less a little.
  static let silence: UInt64 = 15 * 1_000_000_000
  /// How long a client may take for an event.
  private static let takingMax = UInt64(HubLimits.silenceSeconds) * 1_000_000_000

  /// Fills a buffer of the library with what is to be sent. Suspends the connection if there is nothing.
  ///
  /// - Returns: How many bytes were copied, or how the stream ends.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    condition.withLock {
      if !pending.isEmpty {
        let count = min(pending.count, buffer.count)
        pending.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        pending.removeFirst(count)
        return count
      }
      if isEnded { return -1 }
      isSuspended = true
      connection.suspend()
      return 0
    }
  }

  /// Sends what was put after the cursor. Returns false if the client has not taken the event before.
  func send(from service: HubService) throws(HubRefusal) -> Bool {
    let (cursor, isBusy) = condition.withLock { (self.cursor, !pending.isEmpty && !isSuspended) }
    if isBusy { return false }
    let list = try refusals { () throws(HeartlogError) in
      try service.engine.list(after: cursor, limit: Self.listMax, as: member)
    }
    if list.entries.isEmpty, !list.startsOver {
      condition.withLock { self.cursor = list.cursor }
      return true
    }
    var writer = JSONWriter()
    writer.beginObject()
    let isWhole = !list.hasMore && !list.startsOver
    if isWhole {
      list.append(to: &writer)
    } else {
      writer.name("cursor")
      writer.value(list.head)
    }
    writer.endObject()
    let id = isWhole ? list.cursor : list.head
    append(Array("id: \(id)\ndata: ".utf8) + writer.bytes + Array("\n\n".utf8), cursor: id)
    return true
  }

  /// Sends a comment if nothing was sent for long. Returns whether it did.
  func keepAlive(_ now: UInt64) -> Bool {
    let isSilent = condition.withLock { isSuspended && now >= lastEvent + Self.silence }
    if isSilent { append(Array(":\n\n".utf8), cursor: nil) }
    return isSilent
  }

  /// Closes the connection of a client that has not taken an event for too long.
  func dropIfStuck(_ now: UInt64) {
    let isStuck = condition.withLock { !pending.isEmpty && !isSuspended && now >= lastEvent + Self.takingMax }
    if isStuck { drop() }
  }

  private func append(_ bytes: [UInt8], cursor: String?) {
    condition.withLock {
      if let cursor { self.cursor = cursor }
      pending.append(contentsOf: bytes)
      lastEvent = MonotonicClock.nanoseconds()
      wake()
    }
  }

  /// Ends the stream once what waits was sent.
  func finish() {
    condition.withLock {
      isEnded = true
      wake()
    }
  }

  private func wake() {
    guard isSuspended else { return }
    isSuspended = false
    connection.resume()
  }

  /// The response of the library that reads from this stream.
  func response() -> OpaquePointer? {
    let context = Unmanaged.passRetained(self).toOpaque()
    let response = MHD_create_response_from_callback(
      UInt64.max, Self.bufferBytes,
      { context, _, buffer, count in
        guard let context, let buffer else { return -2 }
        let stream = Unmanaged<EventStream>.fromOpaque(context).takeUnretainedValue()
        let start = UnsafeMutableRawPointer(buffer)
        return stream.read(into: UnsafeMutableRawBufferPointer(start: start, count: count))
      }, context, { context in context.map { Unmanaged<EventStream>.fromOpaque($0).release() } })
    if response == nil { Unmanaged<EventStream>.fromOpaque(context).release() }
    return response
  }
}
