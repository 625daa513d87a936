/// The parts of a path.
package enum PathParts {
  /// The part after the last slash.
  package static func name(of path: String) -> Substring {
    path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...]
  }

  /// The path of the folder that contains what is at a path.
  package static func parent(of path: String) -> String {
    let path = withoutSlashes(path)
    let parent = path.dropLast(name(of: path).count + 1)
    return parent.isEmpty ? path.hasPrefix("/") ? "/" : "." : String(parent)
  }

  /// The path without the slashes at its end.
  package static func withoutSlashes(_ path: String) -> String {
    var path = path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return path
  }
}
