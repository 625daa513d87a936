import Heartlog

extension FavoritesLibrary {
  /// The file that holds this library's favorites, newest first. JSON Lines hold every visible item, favorite or not, and so does every
  /// file of settings, which are no favorites.
  ///
  /// - Throws: `invalidItem` for an item that the format cannot hold.
  public func exportFile(format: any FileFormat) throws(LibraryError) -> [UInt8] {
    let holdsAll = format is JSONLinesFormat || name == PlaybackSettings.library
    let items = holdsAll ? all().filter(\.isVisible) : favorites()
    return try format.write(items.map(FileItem.init), of: name)
  }
}
