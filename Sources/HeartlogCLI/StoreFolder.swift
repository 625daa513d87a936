#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The parent folders of a store.
enum StoreFolder {
  /// Creates the missing parent folders of `path`, as `mkdir -p` does.
  static func makeParents(of path: String) throws(CommandError) {
    let parts = path.split(separator: "/").dropLast()
    var parent = path.hasPrefix("/") ? "/" : ""
    for part in parts {
      parent += (parent.isEmpty || parent.hasSuffix("/") ? "" : "/") + part
      guard mkdir(parent, 0o755) != 0, errno != EEXIST else { continue }
      let reason = String(cString: strerror(errno))
      throw CommandError(.cannotCreate, "cannot create the folder \(Quoted(parent))", at: reason)
    }
  }
}
