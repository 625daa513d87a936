import HeartlogEvents
import HeartlogFiles

/// Why storage could not do what was asked.
package struct StorageError: Error, Sendable, CustomStringConvertible {
  package enum Code: Sendable {
    /// Bytes on disk that are not what was written.
    case corrupt
    /// Made by a later version of the format.
    case newerFormat
    /// Nothing that is a store at this place.
    case notAStore
    /// A store, or something else, is there already.
    case exists
    /// The place, or the store as it stands, cannot be written.
    case readOnly
    /// Another process holds the lock.
    case locked
    /// No space is left, or a file may not become so large.
    case diskFull
    /// Any other refusal of the system.
    case inputOutput
    /// A failed fsync: the commits may or may not be there when the store is opened again.
    case outcomeUnknown
    /// Something that the format has no room for.
    case malformed
    /// A position of another log, or of a stream that was ended in front of it.
    case otherLog
    /// A position whose stream is shorter here, or has other commits: something that was there is gone, or was changed.
    case otherHistory
    /// A call that only a programmer can mend: a store used after a fork, or after it was closed.
    case misuse
  }

  /// In one place: whoever asks whether there was an error passes on a word, not ten.
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
  /// A sentence without a full stop.
  package var reason: String { content.reason }
  package var file: String? { content.file }
  package var offset: UInt64? { content.offset }
  /// The commits concerned, as far as known.
  package var commits: ClosedRange<CommitNumber>? { content.commits }

  /// Whether it is about a file beside the segments, which `StoreRepair` can make anew.
  package var isMendable: Bool {
    guard code == .corrupt, let file else { return false }
    return file.hasSuffix("/store") || file.hasSuffix("/\(StreamEnd.name)")
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

/// Runs calls on files and gives their errors the storage's type.
func onFiles<R>(_ body: () throws(FileError) -> R) throws(StorageError) -> R {
  do { return try body() } catch { throw StorageError(error) }
}

/// Runs calls of this target and gives every error that they can throw the storage's type.
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
