/// The parts of a path.
enum PathParts {
  static func name(of path: String) -> Substring {
    path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...]
  }

  static func parent(of path: String) -> String {
    let parent = path.dropLast(name(of: path).count + 1)
    return parent.isEmpty ? path.hasPrefix("/") ? "/" : "." : String(parent)
  }

  /// The path without the slashes at its end.
  static func withoutSlashes(_ path: String) -> String {
    var path = path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return path
  }
}
