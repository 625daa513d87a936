import Heartlog
import HeartlogFiles

@testable import HeartlogSync

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Random texts that are the same in every run.
struct SeededRandomSource: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  // SplitMix64.
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  mutating func text(_ count: Int) -> String {
    String((0..<count).map { _ in Character(Unicode.Scalar(UInt8.random(in: 0x21...0x7E, using: &self))) })
  }
}

enum Pipes {
  /// Two channels over two pipes, as a command's ends are.
  static func channels() throws -> (any ByteChannel, any ByteChannel) {
    var there: [Int32] = [0, 0]
    var back: [Int32] = [0, 0]
    guard pipe(&there) == 0, pipe(&back) == 0 else { throw HeartlogError(.inputOutput, "no pipes") }
    return (
      DescriptorChannel(input: back[0], output: there[1]), DescriptorChannel(input: there[0], output: back[1])
    )
  }
}

// Carriers and sessions take stores; within the package they take anything that ships streams.

extension StoreCarrier {
  init(_ peer: any ShippedStreams, description: String) { self.init(streams: peer, description: description) }

  func sync(_ store: any ShippedStreams, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    try sync(streams: store, options: options)
  }
}

extension CommandCarrier {
  func sync(_ store: any ShippedStreams, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    try sync(streams: store, options: options)
  }
}

extension FolderCarrier {
  func sync(_ store: any ShippedStreams, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    try carrier.sync(store, options: options)
  }
}

extension FavoritesStore {
  /// By replica: the last commit and the root of its stream.
  func roots() throws -> [ReplicaID: String] {
    try Dictionary(
      uniqueKeysWithValues: streamHeads().map { head in
        (head.replica, "\(head.commit) \(head.root)")
      })
  }
}
