@_exported import HeartlogFormat
@_exported import HeartlogState
import HeartlogStorage

#if Tracing
  @_exported import HeartlogTracing
#endif

extension HeartlogError {
  /// Whether ``FavoritesStore/repair(at:name:isDryRun:progress:)`` can rebuild the file that the error is about.
  public var isRepairable: Bool { isMendable }
}

extension FieldCodingError: HeartlogErrorConvertible {
  package var heartlogError: HeartlogError { HeartlogError(.invalidItem, description) }
}
