import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What the readers of this module take: a JSON text, as `Data`, bytes or a string, or a value parsed from one.
public protocol JSONSource {
  /// Returns the value.
  ///
  /// - Throws: `LibraryError.invalidAnswer` if the text is not JSON.
  func json() throws(LibraryError) -> JSONValue
}

extension JSONValue: JSONSource {
  /// The value itself.
  public func json() -> JSONValue { self }
}

extension Array: JSONSource where Element == UInt8 {
  public func json() throws(LibraryError) -> JSONValue {
    do { return try JSONValue.parse(self) } catch { throw .invalidAnswer(error.reason) }
  }
}

extension Data: JSONSource {
  public func json() throws(LibraryError) -> JSONValue { try Array(self).json() }
}

extension String: JSONSource {
  public func json() throws(LibraryError) -> JSONValue { try Array(utf8).json() }
}
