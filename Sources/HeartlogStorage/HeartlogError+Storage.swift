import HeartlogFiles
import HeartlogFormat

extension FileError: HeartlogErrorConvertible {
  package var heartlogError: HeartlogError { HeartlogError(self) }
}

extension HeartlogError {
  init(_ error: FileError) {
    let code: Code =
      if error.isDiskFull { .diskFull } else if error.isReadOnly { .readOnly } else { .inputOutput }
    self.init(code, error.description, file: error.path)
  }

  /// Whether the error concerns a file other than a segment, which `StoreRepair` can rebuild.
  package var isMendable: Bool {
    guard code == .corrupt, let file else { return false }
    return file.hasSuffix("/store") || file.hasSuffix("/\(StreamEnd.name)")
  }

  /// Whether the error concerns a file that a cloud client keeps elsewhere: nothing is lost.
  package var isNotDownloaded: Bool {
    code == .corrupt && file?.hasSuffix(StoreDirectory.placeholderEnding) == true
  }

  /// Whether the error concerns a segment, which can be mended from another copy.
  package var isOfSegment: Bool {
    guard code == .corrupt, let name = file?.split(separator: "/").last else { return false }
    return SegmentFile(name: String(name)) != nil
  }
}
