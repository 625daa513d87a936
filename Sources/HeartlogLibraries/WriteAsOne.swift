import Heartlog

extension FavoritesStore {
  /// `write { }` for a body that throws nothing but the one error.
  @discardableResult
  func writeAsOne<R>(_ body: () throws(HeartlogError) -> R) throws(HeartlogError) -> R {
    do { return try write { try body() } } catch let error as HeartlogError { throw error } catch {
      throw HeartlogError(.inputOutput, String(describing: error))
    }
  }
}
