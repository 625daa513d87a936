@_exported import HeartlogEvents
@_exported import HeartlogState

#if Tracing
  @_exported import HeartlogTracing
#endif
import HeartlogStorage

/// An error of a store, with a code to switch on, a message, and the place where it occurred.
public struct HeartlogError: Error, Sendable, CustomStringConvertible {
  /// The kind of error. Later versions may add codes, so a `switch` needs a default.
  public enum Code: String, Sendable {
    /// A name, a value or a call breaks a rule.
    case invalid
    /// An item cannot be encoded as fields, or stored fields cannot be decoded as an item.
    case invalidItem
    /// Bytes on disk differ from what was written. Undamaged data can still be read.
    case corrupt
    /// The store was written by a later version of Heartlog.
    case newerFormat
    /// There is no store at this path.
    case notAStore
    /// There already is something at this path.
    case exists
    /// The folder, or the store in its current state, cannot be written.
    case readOnly
    /// Another process has been writing for too long, or was stopped while it wrote. The message names it, where the system tells.
    /// Try again.
    case locked
    /// The disk is full, a quota is used up, or a file would exceed its size limit. Nothing of the commit was written.
    case diskFull
    /// Another error of the disk or the system. The message names the system call.
    case inputOutput
    /// This device's clock shows a time before 1970 or after 2199, which no other device would accept. Nothing was written.
    case wrongClock
    /// An fsync failed. The commit may or may not be there: see <doc:WhatCanGoWrong>.
    case outcomeUnknown
    /// The task was cancelled before its commit entered the queue. Nothing was written.
    case cancelled
    /// The log does not contain the event or the replica.
    case notFound
    /// A peer was silent for too long, or the sync was called off. Try again.
    case timedOut
    /// A peer broke the protocol, or sent something other than it announced.
    case peer
    /// The peer's store belongs to another vault. Nothing was exchanged.
    case otherVault
    /// The hub does not know this device's key as one of the vault's. Another device of the vault can admit it.
    case notAdmitted
    /// The vault is encrypted, and this device has no key to it, or not any more. Nothing was exchanged.
    case noKey
    /// A programming error in the calling code.
    case misuse
  }

  /// The kind of error, to switch on.
  public let code: Code
  /// One sentence, without a full stop.
  public let message: String
  /// The path of the file concerned; nil if there is none.
  public let file: String?
  /// The offset in bytes from the start of `file`.
  public let offset: UInt64?
  /// The commits concerned, as far as they are known.
  public let commits: ClosedRange<CommitNumber>?

  /// Creates an error, for an app's own layer on top of a store.
  ///
  /// - Parameters:
  ///   - code: the kind of error.
  ///   - message: one sentence, without a full stop.
  ///   - file: the path of the file concerned.
  ///   - offset: the offset in bytes from the start of `file`.
  ///   - commits: the commits concerned, as far as they are known.
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

  /// The message, followed by the file, offset and commits if they are known.
  public var description: String {
    StorageError(.malformed, message, file: file, offset: offset, commits: commits).description
  }

  /// Whether ``FavoritesStore/repair(at:name:isDryRun:progress:)`` can rebuild the file that the error is about.
  public var isRepairable: Bool { code == .corrupt && StorageError(.corrupt, message, file: file).isMendable }

  /// Whether the error is about a file that a cloud client keeps elsewhere: nothing is lost.
  package var isNotDownloaded: Bool {
    code == .corrupt && StorageError(.corrupt, message, file: file).isNotDownloaded
  }

  /// Whether the error is about a damaged segment, which can be mended from another copy.
  package var isOfSegment: Bool {
    code == .corrupt && StorageError(.corrupt, message, file: file).isOfSegment
  }
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
      // A caller that opens a log at given positions handles these itself, by reading from the start.
      case .otherLog, .otherHistory, .misuse: .misuse
      }
    self.init(code, error.reason, file: error.file, offset: error.offset, commits: error.commits)
  }
}

/// Runs calls of the layers below and converts their errors to `HeartlogError`.
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
