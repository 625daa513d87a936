import HeartlogEvents
import HeartlogFiles

/// An error of the storage layer.
package struct StorageError: Error, Sendable, CustomStringConvertible {
  package enum Code: Sendable {
    /// Bytes on disk differ from what was written.
    case corrupt
    /// The store was written in a later version of the format.
    case newerFormat
    /// There is no store at this path.
    case notAStore
    /// A store or something else already exists at this path.
    case exists
    /// The directory, or the store in its present state, cannot be written.
    case readOnly
    /// Another process holds the lock.
    case locked
    /// No space is left, or the file would exceed a size limit.
    case diskFull
    /// Any other error of the operating system.
    case inputOutput
    /// An fsync failed: whether the commits are durable is not known.
    case outcomeUnknown
    /// A value that the format cannot represent.
    case malformed
    /// A position from another log, or from a stream that was ended before that position.
    case otherLog
    /// A position whose stream is shorter here or has other commits: data was removed or changed.
    case otherHistory
    /// A programming error: the store was used after a fork or after it was closed.
    case misuse
  }

  /// Boxed, so that a function that checks for an error passes one word instead of ten.
  private final class Content: Sendable {
    let code: Code
    let reason: String
    let file: String?
    let offset: UInt64?
    let commits: ClosedRange<CommitNumber>?

    init(
      _ code: Code, _ reason: String, file: String?, offset: UInt64?, commits: ClosedRange<CommitNumber>?
    ) {
      self.code = code
      self.reason = reason
      self.file = file
      self.offset = offset
      self.commits = commits
    }
  }

  private let content: Content

  package var code: Code { content.code }
  /// A sentence without a final period.
  package var reason: String { content.reason }
  package var file: String? { content.file }
  package var offset: UInt64? { content.offset }
  /// The commits concerned, if known.
  package var commits: ClosedRange<CommitNumber>? { content.commits }

  /// Whether the error concerns a file other than a segment, which `StoreRepair` can rebuild.
  package var isMendable: Bool {
    guard code == .corrupt, let file else { return false }
    return file.hasSuffix("/store") || file.hasSuffix("/\(StreamEnd.name)")
  }

  /// Whether the error concerns a file that a cloud client keeps elsewhere.
  package var isNotDownloaded: Bool {
    code == .corrupt && file?.hasSuffix(StoreDirectory.placeholderEnding) == true
  }

  /// Whether the error concerns a segment, which can be mended from another copy.
  package var isOfSegment: Bool {
    guard code == .corrupt, let name = file?.split(separator: "/").last else { return false }
    return SegmentFile(name: String(name)) != nil
  }

  package init(
    _ code: Code, _ reason: String, file: String? = nil, offset: UInt64? = nil,
    commits: ClosedRange<CommitNumber>? = nil
  ) {
    content = Content(code, reason, file: file, offset: offset, commits: commits)
  }

  init(_ error: FileError) {
    let code: Code =
      if error.isDiskFull { .diskFull } else if error.isReadOnly { .readOnly } else { .inputOutput }
    self.init(code, error.description, file: error.path)
  }

  init(_ error: MalformedError) { self.init(.malformed, error.reason) }

  package var description: String {
    var text = reason
    if let file, !reason.contains(file) { text += ", in \(file)" }
    if let offset { text += " at offset \(offset)" }
    if let commits {
      text +=
        commits.lowerBound == commits.upperBound
        ? ", commit \(commits.lowerBound)" : ", commits \(commits.lowerBound) to \(commits.upperBound)"
    }
    return text
  }
}

/// Runs calls on files and converts their errors to `StorageError`.
func onFiles<R>(_ body: () throws(FileError) -> R) throws(StorageError) -> R {
  do { return try body() } catch { throw StorageError(error) }
}

/// Runs calls of this target and converts every error that they can throw to `StorageError`.
func storageErrors<R>(_ body: () throws -> R) throws(StorageError) -> R {
  do { return try body() } catch let error as StorageError {
    throw error
  } catch let error as MalformedError {
    throw StorageError(error)
  } catch let error as FileError {
    throw StorageError(error)
  } catch {
    throw StorageError(.inputOutput, String(describing: error))
  }
}
