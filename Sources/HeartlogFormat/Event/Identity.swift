/// The identity of a replica: one device's copy of a store, which is the only writer of its stream.
///
/// 128 random bits, written as 32 lowercase hexadecimal digits. Replicas compare by their bytes.
public struct ReplicaID: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// The first eight bytes, as a big-endian integer.
  package let high: UInt64
  /// The last eight bytes, as a big-endian integer.
  package let low: UInt64

  /// Creates an identity from two big-endian halves.
  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Returns a new identity from the system's random number generator.
  package static func random() -> ReplicaID {
    var generator = SystemRandomNumberGenerator()
    return random(using: &generator)
  }

  /// Returns a new identity from `generator`.
  package static func random(using generator: inout some RandomNumberGenerator) -> ReplicaID {
    ReplicaID(high: generator.next(), low: generator.next())
  }

  /// Creates an identity from 32 hexadecimal digits; nil for any other text.
  public init?(_ text: some StringProtocol) {
    guard let bytes = Hexadecimal.bytes(text), let id = ReplicaID(bytes: bytes) else { return nil }
    self = id
  }

  /// Creates an identity from exactly 16 bytes; nil for any other count.
  package init?(bytes: some Collection<UInt8>) {
    let bytes = Array(bytes)
    guard bytes.count == 16 else { return nil }
    func word(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
    self.init(high: word(0..<8), low: word(8..<16))
  }

  /// The 16 bytes, most significant first.
  package var bytes: [UInt8] {
    (0..<16).map { index in
      let word = index < 8 ? high : low
      return UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * (index % 8)))
    }
  }

  public static func < (a: ReplicaID, b: ReplicaID) -> Bool {
    a.high != b.high ? a.high < b.high : a.low < b.low
  }

  public var description: String { Hexadecimal.text(bytes) }
}

/// The number of a commit in its replica's stream, from 1 without gaps.
public struct CommitNumber: RawRepresentable, Hashable, Sendable, Comparable, CustomStringConvertible {
  public let rawValue: UInt64

  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// The next number.
  package var next: CommitNumber { CommitNumber(rawValue: rawValue &+ 1) }

  public static func < (a: CommitNumber, b: CommitNumber) -> Bool { a.rawValue < b.rawValue }
  public var description: String { String(rawValue) }
}

/// The number of an event in its replica's stream, from 1 without gaps.
package struct SequenceNumber: RawRepresentable, Hashable, Sendable, Comparable, CustomStringConvertible {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  package static func < (a: SequenceNumber, b: SequenceNumber) -> Bool { a.rawValue < b.rawValue }
  package var description: String { String(rawValue) }
}

/// The identity of an event, written `REPLICA:SEQUENCE`.
public struct EventID: Hashable, Sendable, CustomStringConvertible {
  /// The replica that wrote the event.
  public let replica: ReplicaID
  /// Its number in that replica's stream.
  package let sequence: SequenceNumber

  /// Creates the identity of an event.
  ///
  /// - Parameters:
  ///   - replica: the replica that wrote the event.
  ///   - sequence: its number in that replica's stream.
  package init(replica: ReplicaID, sequence: SequenceNumber) {
    self.replica = replica
    self.sequence = sequence
  }

  public var description: String { "\(replica):\(sequence)" }
}

/// The id of a vault, which is the set of replicas that belong together: 128 random bits.
package struct VaultID: Hashable, Sendable, Comparable, CustomStringConvertible {
  private let high: UInt64
  private let low: UInt64

  private init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Reads 16 bytes; nil for any other count.
  package init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 16 else { return nil }
    high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    low = bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Reads 32 lower-case hexadecimal digits; nil for any other text.
  package init?(_ text: some StringProtocol) {
    guard let bytes = Hexadecimal.bytes(text) else { return nil }
    self.init(bytes: bytes)
    guard description == text else { return nil }
  }

  /// Makes a new id.
  package static func random(using generator: inout some RandomNumberGenerator) -> VaultID {
    VaultID(high: generator.next(), low: generator.next())
  }

  /// The 16 bytes.
  package var bytes: [UInt8] { high.bigEndianBytes + low.bigEndianBytes }

  /// Orders by bytes.
  package static func < (a: VaultID, b: VaultID) -> Bool { (a.high, a.low) < (b.high, b.low) }

  /// 32 lower-case hexadecimal digits.
  package var description: String { Hexadecimal.text(bytes) }
}
