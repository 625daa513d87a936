import Heartlog
import HeartlogFiles

/// The log files of a directory. Used by one thread at a time.
///
/// Unchecked: the engine hands it from the thread that opens it to the one that writes.
final class LogFolder: @unchecked Sendable {
  private let path: String
  private let files: any FileSystem
  private let fileBytesMax: Int
  /// The file that grows.
  private(set) var number: UInt32
  private var file: any OpenFile
  private(set) var size: UInt64

  private init(
    path: String, files: any FileSystem, fileBytesMax: Int, number: UInt32, file: any OpenFile, size: UInt64
  ) {
    self.path = path
    self.files = files
    self.fileBytesMax = fileBytesMax
    self.number = number
    self.file = file
    self.size = size
  }

  // MARK: Opening

  /// Opens the files and reads them. A frame at the end of the last one that is not whole was never durable, and is cut off.
  ///
  /// - Throws: `corrupt` if anything else is damaged.
  static func open(
    _ path: String, _ files: any FileSystem, fileBytesMax: Int
  ) throws(HeartlogError) -> (LogFolder, DirectoryIndex) {
    let numbers = try hubErrors { () throws(FileError) -> [UInt32] in try Self.numbers(in: path, files) }
    var index = DirectoryIndex()
    var number: UInt32 = 1
    var size: UInt64 = 0
    for each in numbers {
      number = each
      let file = try hubErrors { () throws(FileError) in
        try files.open(name(each, in: path), each == numbers.last ? .readWrite : .read)
      }
      index.files[each] = DirectoryIndex.File(file: file)
      size = try replay(file, each, in: path, into: &index, isLast: each == numbers.last)
    }
    let file = try hubErrors { () throws(FileError) in
      if let file = index.files[number]?.file {
        // The name of the last file may not be durable yet.
        try files.synchronizeDirectory(path)
        return file
      }
      return try create(number, in: path, files)
    }
    if numbers.isEmpty { index.files[number] = DirectoryIndex.File(file: file) }
    let folder = LogFolder(
      path: path, files: files, fileBytesMax: fileBytesMax, number: number, file: file, size: size)
    return (folder, index)
  }

  private static let temporaryEnding = ".new"

  private static func name(_ number: UInt32, in path: String) -> String { "\(path)/objects-\(number).log" }

  /// The numbers of the files, in order. What a rewriting left that did not end is removed.
  private static func numbers(in path: String, _ files: any FileSystem) throws(FileError) -> [UInt32] {
    var numbers: [UInt32] = []
    for name in try files.entries(of: path) where name.hasPrefix("objects-") {
      if name.hasSuffix(".log" + temporaryEnding) { try files.remove(path + "/" + name) }
      guard name.hasSuffix(".log"), let number = UInt32(name.dropFirst(8).dropLast(4)) else { continue }
      if name == PathParts.name(of: Self.name(number, in: path)) { numbers.append(number) }
    }
    return numbers.sorted()
  }

  private static func create(
    _ number: UInt32, in path: String, _ files: any FileSystem
  ) throws(FileError) -> any OpenFile {
    let file = try files.open(name(number, in: path), .createNew)
    try files.synchronizeDirectory(path)
    return file
  }

  /// - Returns: The bytes of the file's frames.
  private static func replay(
    _ file: any OpenFile, _ number: UInt32, in path: String, into index: inout DirectoryIndex, isLast: Bool
  ) throws(HeartlogError) -> UInt64 {
    let name = name(number, in: path)
    let fileBytes = try hubErrors { () throws(FileError) in try file.size() }
    var offset: UInt64 = 0
    while offset < fileBytes {
      let start = offset
      let body = try hubErrors { () throws(FileError) in
        try LogFrame.body(in: file, at: start, fileBytes: fileBytes)
      }
      guard let body else {
        let isTorn = try hubErrors { () throws(FileError) in
          guard isLast, fileBytes - start <= UInt64(LogFrame.bytesMax) else { return false }
          return try !LogFrame.hasWholeFrame(in: file, after: start, fileBytes: fileBytes)
        }
        guard isTorn else { throw HeartlogError(.corrupt, "a damaged frame", file: name, offset: start) }
        try hubErrors { () throws(FileError) in
          try file.truncate(to: start)
          try file.synchronize()
        }
        return start
      }
      do {
        try body.withUnsafeBytes { body in
          var reader = ByteReader(body)
          while !reader.isAtEnd {
            let (record, offset) = try LogRecord.read(&reader)
            let place = start + UInt64(LogFrame.headerBytes + offset)
            guard let place = UInt32(exactly: place), index.apply(record, file: number, offset: place) else {
              throw MalformedError("a record that cannot follow those before it")
            }
          }
        }
      } catch { throw HeartlogError(.corrupt, "\(error)", file: name, offset: start) }
      offset += UInt64(LogFrame.headerBytes + body.count)
    }
    return offset
  }

  // MARK: Appending

  /// Closes the file that grows and begins another one, if it has no room for a frame.
  ///
  /// - Returns: The new file; `nil` if the old one goes on.
  func makeRoom(for frameBytes: Int) throws(FileError) -> (number: UInt32, file: any OpenFile)? {
    guard size > 0, size + UInt64(frameBytes) > UInt64(fileBytesMax) else { return nil }
    file = try Self.create(number + 1, in: path, files)
    number += 1
    size = 0
    return (number, file)
  }

  /// Writes a sealed frame at the end, and makes it durable. After an error nothing is known of the end.
  func append(_ frame: [UInt8]) throws(FileError) {
    try file.write(frame, at: size)
    try file.synchronizeData()
    size += UInt64(frame.count)
  }

  /// Removes what a write that failed has left, so that another frame can stand there.
  func cutBack() throws(FileError) {
    try file.truncate(to: size)
    try file.synchronize()
  }

  // MARK: Rewriting

  /// Writes a closed file anew.
  ///
  /// - Parameters:
  ///   - keeps: Whether a record is kept, whose object is at an offset.
  /// - Returns: The new file, which has taken the old one's name, and where its objects are: name and place before and after.
  func rewrite(
    _ number: UInt32, _ old: any OpenFile, keeps: (LogRecord, _ offset: UInt32) -> Bool
  ) throws(HeartlogError) -> (file: any OpenFile, moves: [Move]) {
    precondition(number != self.number, "the file that grows is not rewritten")
    let name = Self.name(number, in: path)
    let fileBytes = try hubErrors { () throws(FileError) in try old.size() }
    let new = try hubErrors { () throws(FileError) in
      if try files.info(name + Self.temporaryEnding) != nil { try files.remove(name + Self.temporaryEnding) }
      return try files.open(name + Self.temporaryEnding, .createNew)
    }
    var moves: [Move] = []
    var offset: UInt64 = 0
    var newSize: UInt64 = 0
    while offset < fileBytes {
      let start = offset
      let body = try hubErrors { () throws(FileError) in
        try LogFrame.body(in: old, at: start, fileBytes: fileBytes)
      }
      guard let body else { throw HeartlogError(.corrupt, "a damaged frame", file: name, offset: start) }
      var frame = [UInt8](repeating: 0, count: LogFrame.headerBytes)
      do {
        try body.withUnsafeBytes { body in
          var reader = ByteReader(body)
          while !reader.isAtEnd {
            let recordStart = reader.offset
            let (record, offset) = try LogRecord.read(&reader)
            let place = UInt32(start) + UInt32(LogFrame.headerBytes + offset)
            guard keeps(record, place) else { continue }
            let newPlace = UInt32(newSize) + UInt32(frame.count + offset - recordStart)
            frame.append(contentsOf: body[recordStart..<reader.offset])
            if case .object(let vault, _, _, let name, let byteCount) = record {
              let before = ObjectPlace(file: number, offset: place, byteCount: UInt32(byteCount))
              let after = ObjectPlace(file: number, offset: newPlace, byteCount: UInt32(byteCount))
              moves.append(Move(vault: vault, name: name, before: before, after: after))
            }
          }
        }
      } catch { throw HeartlogError(.corrupt, "\(error)", file: name, offset: start) }
      offset += UInt64(LogFrame.headerBytes + body.count)
      guard frame.count > LogFrame.headerBytes else { continue }
      LogFrame.seal(&frame, at: newSize)
      let (sealed, place) = (frame, newSize)
      try hubErrors { () throws(FileError) in try new.write(sealed, at: place) }
      newSize += UInt64(frame.count)
    }
    try hubErrors { () throws(FileError) in
      try new.synchronize()
      try files.rename(name + Self.temporaryEnding, to: name)
      try files.synchronizeDirectory(path)
    }
    return (new, moves)
  }

  /// An object that is elsewhere in a file that was written anew.
  struct Move {
    let vault: VaultID
    let name: String
    let before: ObjectPlace
    let after: ObjectPlace
  }
}

extension HeartlogError {
  init(hub error: FileError) {
    let code: Code = error.isDiskFull ? .diskFull : error.isReadOnly ? .readOnly : .inputOutput
    self.init(code, error.description, file: error.path)
  }
}

/// Runs calls of files, and converts their errors.
func hubErrors<R>(_ body: () throws(FileError) -> R) throws(HeartlogError) -> R {
  do { return try body() } catch { throw HeartlogError(hub: error) }
}
