import CCrypto

// What Heartlog uses of Apple's CryptoKit, declared as its SDK does and done by libcrypto.

public protocol Digest: Sequence where Element == UInt8 {
  func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R
}

public struct SHA256Digest: Digest {
  fileprivate let bytes: [UInt8]

  public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try bytes.withUnsafeBytes(body)
  }

  public func makeIterator() -> Array<UInt8>.Iterator { bytes.makeIterator() }
}

public struct SHA256 {
  private var context = SHA256_CTX()

  public init() { precondition(SHA256_Init(&context) == 1) }

  public mutating func update(bufferPointer: UnsafeRawBufferPointer) {
    precondition(SHA256_Update(&context, bufferPointer.baseAddress, bufferPointer.count) == 1)
  }

  public func finalize() -> SHA256Digest {
    var copy = context
    var bytes = [UInt8](repeating: 0, count: 32)
    precondition(SHA256_Final(&bytes, &copy) == 1)
    return SHA256Digest(bytes: bytes)
  }
}
