#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// An alert shows an error's `localizedDescription`: the same sentence as its description.

extension HeartlogError: LocalizedError {
  public var errorDescription: String? { description }
}

extension FieldCodingError: LocalizedError {
  public var errorDescription: String? { description }
}

extension MalformedError: LocalizedError {
  public var errorDescription: String? { description }
}
