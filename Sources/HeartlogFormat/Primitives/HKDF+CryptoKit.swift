#if canImport(Darwin) || HEARTLOG_STAND_INS
  import CryptoKit

  /// HKDF with SHA-256 (RFC 5869) of the system's cryptographic library.
  enum HKDFSHA256 {
    /// `count` bytes, at most 8,160.
    static func derive(_ count: Int, from material: [UInt8], salt: [UInt8], info: [UInt8]) -> [UInt8] {
      HKDF<SHA256>.deriveKey(
        inputKeyMaterial: SymmetricKey(data: material), salt: salt, info: info, outputByteCount: count
      ).withUnsafeBytes { Array($0) }
    }
  }
#endif
