@_exported import HeartlogEngine
@_exported import HeartlogFormat
@_exported import HeartlogState

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension FieldCodingError: HeartlogErrorConvertible {
  package var heartlogError: HeartlogError { HeartlogError(.invalidItem, description) }
}

// An alert shows an error's `localizedDescription`: the same sentence as its description, without the file and the place in it.

extension HeartlogError: LocalizedError {
  public var errorDescription: String? { message }
}

extension MalformedError: LocalizedError {
  public var errorDescription: String? { description }
}
