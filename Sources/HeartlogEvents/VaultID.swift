/// The id of a vault, which is the set of replicas that belong together: 128 random bits.
public struct VaultID: Hashable, Sendable, Comparable, CustomStringConvertible {
  private let high: UInt64
  private let low: UInt64

  private init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Reads 16 bytes; nil for any other count.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 16 else { return nil }
    high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    low = bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Reads 32 lower-case hexadecimal digits; nil for any other text.
  public init?(_ text: some StringProtocol) {
    guard let bytes = Hexadecimal.bytes(text) else { return nil }
    self.init(bytes: bytes)
    guard description == text else { return nil }
  }

  /// Makes a new id.
  public static func random(using generator: inout some RandomNumberGenerator) -> VaultID {
    VaultID(high: generator.next(), low: generator.next())
  }

  /// The 16 bytes.
  public var bytes: [UInt8] {
    withUnsafeBytes(of: high.bigEndian) { Array($0) } + withUnsafeBytes(of: low.bigEndian) { Array($0) }
  }

  /// Orders by bytes.
  public static func < (a: VaultID, b: VaultID) -> Bool { (a.high, a.low) < (b.high, b.low) }

  /// 32 lower-case hexadecimal digits.
  public var description: String { Hexadecimal.text(bytes) }
}
