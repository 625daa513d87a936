import Heartlog
import HeartlogSync

/// What is between all devices and a place.
///
/// Unchecked: only one strand runs at a time.
final class Network: @unchecked Sendable {
  static let lost = "no answer"
  var random: RandomSource
  var losesCalls = false
  var isLate = false
  var putCount = 0

  init(_ random: RandomSource) { self.random = random }
}

/// A place as one device sees it: before each call, others may have their turn.
final class RemotePlace: Place, @unchecked Sendable {
  private let place: any Place
  private let network: Network
  private let process: SimulatedProcess
  /// Leaves the beginning of an object whose put broke off; nil for a place that has objects whole or not at all.
  private let leavePart: ((_ name: String, _ part: [UInt8]) -> Void)?

  init(
    _ place: any Place, _ network: Network, _ process: SimulatedProcess,
    leavePart: ((_ name: String, _ part: [UInt8]) -> Void)? = nil
  ) {
    (self.place, self.network, self.process) = (place, network, process)
    self.leavePart = leavePart
  }

  var description: String { "the place" }
  var address: String? { place.address }

  private func calling<R>(
    _ body: () throws(HeartlogError) -> R, brokenOff: () -> Void = {}
  ) throws(HeartlogError) -> R {
    if process.reachesCall() { throw HeartlogError(.inputOutput, "the process is dead") }
    let isLost = network.losesCalls && network.random.chance(4)
    if isLost, network.random.chance(50) {
      brokenOff()
      throw HeartlogError(.inputOutput, "\(Network.lost) to a call")
    }
    let result = try body()
    if isLost { throw HeartlogError(.inputOutput, "\(Network.lost) to a call that was done") }
    return result
  }

  func list(after cursor: PlaceCursor?) throws(HeartlogError) -> ObjectList {
    try calling { () throws(HeartlogError) in
      let list = try place.list(after: cursor)
      // Numbered changes come late in their order; files of a folder in any.
      guard list.startsOver, cursor?.text != "", network.isLate, !(place is MemoryPlace) else {
        return list
      }
      return ObjectList(
        list.entries.filter { _ in !network.random.chance(20) }, cursor: PlaceCursor("late"),
        startsOver: true)
    }
  }

  func get(_ name: String, bytesMax: Int) throws(HeartlogError) -> ObjectContent {
    try calling { () throws(HeartlogError) in try place.get(name, bytesMax: bytesMax) }
  }

  func put(_ name: String, _ bytes: [UInt8]) throws(HeartlogError) {
    try calling(
      { () throws(HeartlogError) in
        try place.put(name, bytes)
        network.putCount += 1
      },
      brokenOff: {
        leavePart?(name, Array(bytes.prefix(network.random.number(0...bytes.count))))
      })
  }

  func delete(_ name: String) throws(HeartlogError) {
    try calling { () throws(HeartlogError) in try place.delete(name) }
  }
}
