import HeartlogFiles
import HeartlogFormat
import Testing

extension FileSystem {
  /// Makes a file that holds `bytes`.
  @discardableResult
  func make(_ path: String, _ bytes: [UInt8] = []) throws -> any OpenFile {
    let file = try open(path, .createNew)
    try file.put(bytes, at: 0)
    return file
  }

  func bytes(_ path: String) throws -> [UInt8] {
    let file = try open(path, .read)
    return try file.bytes(at: 0, count: Int(try file.size()))
  }
}

extension OpenFile {
  func put(_ bytes: [UInt8], at offset: UInt64) throws {
    var failure: HeartlogError?
    bytes.withUnsafeBytes { buffer in
      do throws(HeartlogError) {
        try write(buffer, at: offset)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
  }

  func bytes(at offset: UInt64, count: Int) throws -> [UInt8] {
    var failure: HeartlogError?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
      do throws(HeartlogError) {
        done = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return bytes
  }
}

/// The errno that `body` fails with, nil where it does not fail.
func failure(_ body: () throws -> Void) -> Int32? {
  do {
    try body()
    return nil
  } catch {
    return (error as? HeartlogError)?.systemCode ?? -1
  }
}

/// Expects that `body` fails as a system call does.
func expectFailure(
  _ operation: String, _ path: String, _ code: Int32, _ location: SourceLocation = #_sourceLocation,
  _ body: () throws -> Void
) {
  let expected = HeartlogError(operation: operation, path: path, code: code)
  let found = #expect(throws: HeartlogError.self, sourceLocation: location, performing: body)
  #expect(
    found?.systemCode == code && found?.description == expected.description && found?.file == path,
    sourceLocation: location)
}
