import Heartlog

/// An interface to one library of a store in the words of an app.
public protocol TypedLibrary: Sendable {
  /// The store that everything is read from and written to.
  var store: FavoritesStore { get }
}

extension TypedLibrary {
  /// Makes calls on one of Heartlog's own threads, for tasks, which must not block on a disk.
  ///
  /// ```swift
  /// try await archives.run { try $0.addFavoriteArchive(archive) }
  /// ```
  ///
  /// Each write is a commit of its own. Reading needs none of this.
  ///
  /// - Parameter body: the calls.
  /// - Throws: what `body` throws.
  @discardableResult
  public func run<R: Sendable, E: Error>(
    _ body: @escaping @Sendable (Self) throws(E) -> R
  ) async throws(E) -> R {
    try await store.run { _ throws(E) in try body(self) }
  }
}
