import Heartlog

extension DefaultFavoriteCityRepository {
  /// Takes over the favorites of an app's own database, in one commit, or in several if they are very many: of the rows, those whose `isFavorite` is set.
  ///
  /// A city that the store has had before stays as it is: one that was removed since does not come back, and a
  /// second call changes nothing.
  ///
  /// - Parameter cities: the rows, in any order.
  /// - Throws: `HeartlogError` if the store cannot be written.
  @discardableResult
  public func takeOver(_ cities: some Sequence<City>) throws(HeartlogError) -> TakeOverReport {
    try takeOver(cities.filter(\.isFavorite), failures: [], origin: TakeOverOrigin.database)
  }

  /// Takes over the favorites in an array that the app kept in its user defaults, in one commit: as
  /// `takeOver(_:)`, of the records whose `isFavorite` is true. Members that are not known are reported.
  ///
  /// - Parameter array: the JSON array, with entries as in a catalog, or as an encoder writes a `City`.
  /// - Throws: `LibraryError.invalidAnswer` if it is not an array; `HeartlogError` if the store cannot be written.
  @discardableResult
  public func takeOver(persisted array: some JSONSource) throws -> TakeOverReport {
    guard let records = try array.json().array else {
      throw LibraryError.invalidAnswer("persisted cities that are no array")
    }
    let (items, failures) = records.converting { (record) throws(LibraryError) -> City? in
      let city = try City(catalogEntry: record)
      return city.isFavorite ? city : nil
    }
    let unknown = records.unknownMembers(besides: City.catalogMembers)
    return try takeOver(items, failures: failures + unknown, origin: TakeOverOrigin.userDefaults)
  }

  private func takeOver(
    _ cities: [City], failures: [LibraryError], origin: String
  ) throws(HeartlogError) -> TakeOverReport {
    let (storable, refused) = favorites.storable(cities)
    let count = try favorites.takeOver(storable.map { (item: $0, since: nil) }, origin: origin)
    return TakeOverReport(count: count, failures: failures + refused)
  }
}
