/// Why an object, an epoch or a recovery code is refused.
package enum EncryptionError: Error, Hashable, Sendable {
  /// The bytes break a rule of the format.
  case malformed(String)
  /// A later version of Heartlog made it.
  case laterVersion(UInt8)
  /// A signature is not that of the key that it should be of.
  case wrongSignature(String)
  /// The key that was given is not the one that is needed.
  case wrongKey(String)
  /// A chunk does not decrypt: it was changed, moved, or belongs to an object of another name or vault.
  case doesNotDecrypt(chunk: UInt64)
  /// A recovery code that cannot be right.
  case wrongCode(String)
}

extension EncryptionError: CustomStringConvertible {
  /// A sentence without a full stop.
  package var description: String {
    switch self {
    case .malformed(let reason), .wrongSignature(let reason), .wrongKey(let reason), .wrongCode(let reason):
      reason
    case .laterVersion(let version):
      "version \(version), which a later Heartlog made; this one knows version 1"
    case .doesNotDecrypt(let chunk):
      "chunk \(chunk) does not decrypt: it was changed, or it is of another object"
    }
  }

  /// Runs what reads bytes by the rules of the format.
  static func reading<R>(_ body: () throws(MalformedError) -> R) throws(EncryptionError) -> R {
    do throws(MalformedError) { return try body() } catch { throw .malformed(error.reason) }
  }
}
