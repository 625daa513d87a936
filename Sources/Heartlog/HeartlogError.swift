@_exported import HeartlogEvents
@_exported import HeartlogState
import HeartlogStorage

/// Everything that can go wrong with a store: what, where, and as a code to switch on.
public struct HeartlogError: Error, Sendable, CustomStringConvertible {
  /// What kind of thing went wrong. Later versions may add codes: a `switch` over them needs a default.
  public enum Code: String, Sendable {
    /// A name, a value or a call that breaks a rule.
    case invalid
    /// An item that cannot be written as fields, or fields that do not make an item.
    case invalidItem
    /// Bytes on disk that are not what was written. What is sound can still be read.
    case corrupt
    /// Made by a later version of Heartlog.
    case newerFormat
    /// There is no store at this place.
    case notAStore
    /// Something is at this place already.
    case exists
    /// The place, or the store as it stands, cannot be written.
    case readOnly
    /// Another process has been writing for too long: try again.
    case locked
    /// No room is left, or the user's share of it is used up, or a file would be larger than it may be. Nothing of the commit was written.
    case diskFull
    /// Another error of the disk or of the system; the sentence names the call.
    case inputOutput
    /// This device's clock says a time before 1970 or after 2199, which no other device would take: nothing was written.
    case wrongClock
    /// A failed fsync: the commit may or may not be there when the store is opened again.
    case outcomeUnknown
    /// The task was cancelled before its commit stood in line: nothing was written.
    case cancelled
    /// An event or a replica that the log does not have.
    case notFound
    /// A peer that was silent for too long, or a sync that was called off: try again.
    case timedOut
    /// A peer that sends what is no part of the dialogue, or what is not what it announced.
    case peer
    /// A call that only a programmer can mend.
    case misuse
  }

  /// What to switch on.
  public let code: Code
  /// One sentence, without a full stop.
  public let message: String
  /// The path of the file concerned; nil where it is about none.
  public let file: String?
  /// In bytes from the start of `file`.
  public let offset: UInt64?
  /// The commits concerned, as far as known.
  public let commits: ClosedRange<CommitNumber>?

  /// An error for an app's own layer over a store.
  ///
  /// - Parameters:
  ///   - code: what to switch on.
  ///   - message: one sentence, without a full stop.
  ///   - file: the path of the file concerned.
  ///   - offset: in bytes from the start of `file`.
  ///   - commits: those concerned, as far as known.
  public init(
    _ code: Code, _ message: String, file: String? = nil, offset: UInt64? = nil,
    commits: ClosedRange<CommitNumber>? = nil
  ) {
    self.code = code
    self.message = message
    self.file = file
    self.offset = offset
    self.commits = commits
  }

  /// The sentence, and the place where there is one.
  public var description: String {
    StorageError(.malformed, message, file: file, offset: offset, commits: commits).description
  }

  /// Whether it is about a file that ``FavoritesStore/repair(at:name:isDryRun:progress:)`` makes anew.
  public var isRepairable: Bool { code == .corrupt && StorageError(.corrupt, message, file: file).isMendable }
}

extension HeartlogError {
  init(_ error: StorageError) {
    let code: Code =
      switch error.code {
      case .corrupt: .corrupt
      case .newerFormat: .newerFormat
      case .notAStore: .notAStore
      case .exists: .exists
      case .readOnly: .readOnly
      case .locked: .locked
      case .diskFull: .diskFull
      case .inputOutput: .inputOutput
      case .outcomeUnknown: .outcomeUnknown
      case .malformed: .invalid
      // Whoever opens a log at positions falls back on its start.
      case .otherLog, .otherHistory, .misuse: .misuse
      }
    self.init(code, error.reason, file: error.file, offset: error.offset, commits: error.commits)
  }
}

/// Runs calls of the layers below and gives their errors the one public type.
func heartlogErrors<R>(_ body: () throws -> R) throws(HeartlogError) -> R {
  do { return try body() } catch { throw HeartlogError(wrapping: error) }
}

extension HeartlogError {
  init(wrapping error: any Error) {
    self =
      switch error {
      case let error as HeartlogError: error
      case let error as StorageError: HeartlogError(error)
      case let error as MalformedError: HeartlogError(.invalid, error.reason)
      case let error as FieldCodingError: HeartlogError(.invalidItem, error.description)
      default: HeartlogError(.inputOutput, String(describing: error))
      }
  }
}
