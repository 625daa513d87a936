/// The location of the store.
enum StoreLocation {
  static let folderName = "favorites.heartlog"

  /// `--store`, else `$HEARTLOG_STORE`, else a folder in the platform's data directory. An empty variable counts as unset.
  static func directory(
    option: String?, environment: [String: String]
  ) throws(CommandError) -> String {
    if let option { return option }
    if let named = environment["HEARTLOG_STORE"], !named.isEmpty { return named }
    #if canImport(Darwin)
      let parts = ("Library/Application Support", "Heartlog")
    #else
      let parts = (".local/share", "heartlog")
      // The XDG Base Directory Specification says to ignore a path that is not absolute.
      if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") {
        return join(data, parts.1, folderName)
      }
    #endif
    guard let home = environment["HOME"], !home.isEmpty else {
      throw .usage(
        "no store is named, and HOME is not set", hint: "Name the store with --store DIR.")
    }
    return join(home, parts.0, parts.1, folderName)
  }

  private static func join(_ base: String, _ parts: String...) -> String {
    var base = base[...]
    while base.utf8.count > 1, base.hasSuffix("/") { base.removeLast() }
    return parts.reduce(base == "/" ? "" : String(base)) { "\($0)/\($1)" }
  }
}
