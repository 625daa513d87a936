import Heartlog
import HeartlogFiles
import Synchronization

/// Two streams of bytes, one in each direction: all that a session needs from a carrier.
///
/// One thread at a time uses it.
package protocol ByteChannel: Sendable {
  /// Waits for bytes, up to `milliseconds`.
  ///
  /// - Returns: 1 to `count` bytes; an empty array at the end; `nil` if nothing arrived in time.
  func read(atMost count: Int, milliseconds: Int) throws(HeartlogError) -> [UInt8]?

  /// Waits until bytes can be written, up to `milliseconds`, and writes all or a first part of them.
  ///
  /// - Returns: The number of bytes written; 0 if none could be written in time.
  func write(_ bytes: ArraySlice<UInt8>, milliseconds: Int) throws(HeartlogError) -> Int

  /// Closes both directions, so that the peer reads the end. Called once, when no thread reads or writes any
  /// more.
  func close()
}

/// A channel that counts its bytes, and gives up when none has moved for too long.
final class MonitoredChannel: Sendable {
  /// How long one wait lasts before it is checked whether the sync is over; it ends at the deadline.
  private static let sliceMilliseconds = 100
  private static let lastWriteMilliseconds = 1_000

  private let channel: any ByteChannel
  private let inactivityNanosecondsMax: UInt64
  private let options: SyncOptions
  private let lastMove = Atomic<UInt64>(0)
  private let readCount = Atomic<UInt64>(0)
  private let writtenCount = Atomic<UInt64>(0)

  init(_ channel: any ByteChannel, options: SyncOptions) {
    self.channel = channel
    inactivityNanosecondsMax = UInt64(max(1, options.inactivityMillisecondsMax)) * 1_000_000
    self.options = options
  }

  var bytesRead: UInt64 { readCount.load(ordering: .relaxed) }
  var bytesWritten: UInt64 { writtenCount.load(ordering: .relaxed) }

  /// Reads some bytes, at least one; `nil` at the end.
  func readUnlessAtEnd(atMost count: Int) throws(HeartlogError) -> [UInt8]? {
    let start = MonotonicClock.nanoseconds()
    while true {
      try check(since: start)
      guard let bytes = try channel.read(atMost: count, milliseconds: slice) else {
        continue
      }
      guard !bytes.isEmpty else { return nil }
      move()
      readCount.add(UInt64(bytes.count), ordering: .relaxed)
      return bytes
    }
  }

  private var slice: Int { options.millisecondsLeft(atMost: Self.sliceMilliseconds) }

  /// Reads what follows immediately after bytes that were not a message.
  func readRest(atMost count: Int) -> [UInt8] {
    var rest: [UInt8] = []
    while rest.count < count, !options.isOver,
      let bytes = try? channel.read(atMost: count - rest.count, milliseconds: slice),
      !bytes.isEmpty
    {
      rest += bytes
    }
    return rest
  }

  /// Writes all of `bytes`.
  func write(_ bytes: [UInt8]) throws(HeartlogError) {
    var rest = bytes[...]
    let start = MonotonicClock.nanoseconds()
    while !rest.isEmpty {
      try check(since: start)
      let count = try channel.write(rest, milliseconds: slice)
      guard count > 0 else { continue }
      move()
      writtenCount.add(UInt64(count), ordering: .relaxed)
      rest = rest.dropFirst(count)
    }
  }

  /// Writes as much as the channel accepts within a second, or at once if the sync is over, after a failure: the last message, which
  /// the peer may not read.
  func writeLast(_ bytes: [UInt8]) throws(HeartlogError) {
    var rest = bytes[...]
    let milliseconds = options.millisecondsLeft(atMost: Self.lastWriteMilliseconds)
    let end = MonotonicClock.nanoseconds() + UInt64(milliseconds) * 1_000_000
    repeat {
      rest = rest.dropFirst(try channel.write(rest, milliseconds: slice))
    } while !rest.isEmpty && MonotonicClock.nanoseconds() < end
  }

  private func move() { lastMove.store(MonotonicClock.nanoseconds(), ordering: .relaxed) }

  private func check(since start: UInt64) throws(HeartlogError) {
    try options.checkTime()
    // A thread that was busy elsewhere has not been waiting, so the time counts from the start of this wait.
    let still = max(start, lastMove.load(ordering: .relaxed))
    let now = MonotonicClock.nanoseconds()
    guard now > still, now - still > inactivityNanosecondsMax else { return }
    let seconds = Double(inactivityNanosecondsMax / 1_000_000) / 1_000
    throw HeartlogError(.timedOut, "the peer has been silent for \(seconds) seconds")
  }
}
