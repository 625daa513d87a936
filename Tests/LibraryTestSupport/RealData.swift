import Foundation
import Heartlog
import Testing

/// Real answers of the five apps' services, which are not part of the repository: in the folder that
/// HEARTLOG_DATA names, or else in `../shared/data` beside the package.
public enum RealData {
  public static let folder: URL? = {
    let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let folder =
      ProcessInfo.processInfo.environment["HEARTLOG_DATA"].map { URL(filePath: $0) }
      ?? package.deletingLastPathComponent().appending(path: "shared/data")
    var isFolder: ObjCBool = false
    let exists = FileManager.default.fileExists(atPath: folder.path, isDirectory: &isFolder)
    return exists && isFolder.boolValue ? folder : nil
  }()

  public static func bytes(_ path: String) throws -> [UInt8] {
    Array(try Data(contentsOf: #require(folder).appending(path: path)))
  }

  public static func json(_ path: String) throws -> JSONValue { try JSONValue.parse(bytes(path)) }
}

extension Trait where Self == ConditionTrait {
  /// Skips a test where the real data is absent.
  public static var needsRealData: Self {
    .enabled(if: RealData.folder != nil, "no real data: set HEARTLOG_DATA or clone beside shared/data")
  }
}

/// What the store gives back for an item that it was given.
public func stored<Item: FavoriteItem>(
  _ item: Item, isFavorite: Bool = false, favoritedDate: Date? = nil
) throws -> Item {
  try FieldDecoder.decode(
    Item.self, id: item.id.favoriteID, isFavorite: isFavorite,
    favoritedDate: favoritedDate.map { Milliseconds(($0.timeIntervalSince1970 * 1_000).rounded()) },
    fields: FieldEncoder.fields(of: item))
}
