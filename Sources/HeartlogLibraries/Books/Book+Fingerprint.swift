import Heartlog
import HeartlogFormat
import HeartlogFiles

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Book {
  /// The bytes at each end of a file that its fingerprint covers.
  private static let fingerprintedBytes = 65_536

  /// The fingerprint of an audio file: its size in bytes, and the SHA-256 of its first and last 64 KiB, as text. Reads
  /// only these.
  ///
  /// - Throws: `HeartlogError` with the code `invalidItem` if the file cannot be read.
  public static func fingerprint(of file: URL) throws(HeartlogError) -> String {
    guard file.isFileURL else { throw HeartlogError(.invalidItem, "\(file) is no file") }
    do throws(FileError) {
      let open = try POSIXFileSystem().open(file.path, .read)
      let size = try open.size()
      let count = Int(min(size, UInt64(fingerprintedBytes)))
      var hasher = SHA256Hasher()
      for offset in [0, size - UInt64(count)] {
        try open.bytes(count, at: offset).withUnsafeBytes { hasher.update($0) }
      }
      return "\(size):\(hasher.finish())"
    } catch {
      throw HeartlogError(.invalidItem, "\(file.lastPathComponent) cannot be read: \(error)")
    }
  }
}
