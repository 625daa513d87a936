import Heartlog
import HeartlogSync

/// One direction of a connection.
///
/// Unchecked: only one strand runs at a time.
private final class Pipe: @unchecked Sendable {
  var bytes: [UInt8] = []
  var isClosed = false
  /// The number of bytes until the connection is cut, and until one is changed; nil if that is not planned.
  var bytesUntilCut: Int?
  var bytesUntilChange: Int?
}

/// One end of a connection between two processes, on a network that delays, cuts and damages.
final class Wire: ByteChannel, @unchecked Sendable {
  private let incoming: Pipe
  private let outgoing: Pipe
  private let process: SimulatedProcess

  private init(_ incoming: Pipe, _ outgoing: Pipe, _ process: SimulatedProcess) {
    self.incoming = incoming
    self.outgoing = outgoing
    self.process = process
  }

  /// What a network does to a connection.
  struct Faults {
    var bytesUntilCut: Int?
    var bytesUntilChange: Int?
  }

  static func connect(
    _ one: SimulatedProcess, _ other: SimulatedProcess, faults: Faults
  ) -> (Wire, Wire) {
    let there = Pipe()
    let back = Pipe()
    there.bytesUntilCut = faults.bytesUntilCut
    back.bytesUntilChange = faults.bytesUntilChange
    return (Wire(back, there, one), Wire(there, back, other))
  }

  func read(atMost count: Int, milliseconds: Int) throws(HeartlogError) -> [UInt8]? {
    var turns = 0
    while incoming.bytes.isEmpty {
      if incoming.isClosed || outgoing.isClosed || process.isDead { return [] }
      // The other end was frozen for too long.
      turns += 1
      if turns > 200 { throw HeartlogError(.timedOut, "the peer was silent for 200 turns") }
      process.strand.pause()
    }
    let bytes = Array(incoming.bytes.prefix(count))
    incoming.bytes.removeFirst(bytes.count)
    return bytes
  }

  func write(_ bytes: ArraySlice<UInt8>, milliseconds: Int) throws(HeartlogError) -> Int {
    if outgoing.isClosed || process.isDead {
      throw HeartlogError(.inputOutput, "the connection is closed")
    }
    var sent = Array(bytes)
    if let left = outgoing.bytesUntilChange {
      if left < sent.count {
        sent[left] ^= 1 << UInt8(left % 8)
        outgoing.bytesUntilChange = nil
      } else {
        outgoing.bytesUntilChange = left - sent.count
      }
    }
    if let left = outgoing.bytesUntilCut {
      if left < sent.count {
        outgoing.bytes += sent.prefix(left)
        close()
        throw HeartlogError(.inputOutput, "the connection was cut")
      }
      outgoing.bytesUntilCut = left - sent.count
    }
    outgoing.bytes += sent
    return bytes.count
  }

  func close() {
    incoming.isClosed = true
    outgoing.isClosed = true
  }
}
