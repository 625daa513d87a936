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

  /// Boxed, so that a function that checks for an error passes one word instead of ten.
  private final class Box: Sendable {
    let content: Content

    init(_ content: Content) { self.content = content }
  }

  private struct Content: Sendable {
    let code: Code
    /// Composed only where somebody reads it: most failed calls just say that a file is not there.
    let message: @Sendable () -> String
    let file: String?
    var offset: UInt64?
    var commits: ClosedRange<CommitNumber>?
    var mismatch: PositionMismatch?
    var systemCode: Int32?
  }

  private let box: Box
  private var content: Content { box.content }

  /// The kind of error, to switch on.
  public var code: Code { content.code }
  /// One sentence, without a full stop.
  public var message: String { content.message() }
  /// The path of the file concerned; nil if there is none.
  public var file: String? { content.file }
  /// The offset in bytes from the start of `file`.
  public var offset: UInt64? { content.offset }
  /// The commits concerned, as far as they are known.
  public var commits: ClosedRange<CommitNumber>? { content.commits }

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
    box = Box(Content(code: code, message: { message }, file: file, offset: offset, commits: commits))
  }

  /// The message, followed by the file, offset and commits if they are known.
  public var description: String {
    var text = message
    if let file, !message.contains(file) { text += ", in \(file)" }
    if let offset { text += " at offset \(offset)" }
    if let commits {
      text +=
        commits.lowerBound == commits.upperBound
        ? ", commit \(commits.lowerBound)" : ", commits \(commits.lowerBound) to \(commits.upperBound)"
    }
    return text
  }

  /// Why a log cannot be read from a position on. Whoever opens a log at given positions then reads it from the start.
  package enum PositionMismatch: Sendable {
    /// The position is from another log, or from a stream that was ended before that position.
    case otherLog
    /// The stream is shorter here or has other commits: data was removed or changed.
    case otherHistory
  }

  package var mismatch: PositionMismatch? { content.mismatch }

  package init(
    _ mismatch: PositionMismatch, _ message: String, file: String? = nil,
    commits: ClosedRange<CommitNumber>? = nil
  ) {
    box = Box(
      Content(code: .misuse, message: { message }, file: file, commits: commits, mismatch: mismatch))
  }

  /// The `errno` of a system call that failed; nil for other errors.
  package var systemCode: Int32? { content.systemCode }

  package init(
    _ code: Code, file: String, systemCode: Int32, message: @escaping @Sendable () -> String
  ) {
    box = Box(Content(code: code, message: message, file: file, systemCode: systemCode))
  }
}

/// An error of a layer below that is a `HeartlogError` to an app.
package protocol HeartlogErrorConvertible: Error {
  var heartlogError: HeartlogError { get }
}

extension HeartlogError: HeartlogErrorConvertible {
  package var heartlogError: HeartlogError { self }
}

extension MalformedError: HeartlogErrorConvertible {
  package var heartlogError: HeartlogError { HeartlogError(.invalid, reason) }
}

extension HeartlogError {
  @usableFromInline
  package init(wrapping error: any Error) {
    self =
      (error as? any HeartlogErrorConvertible)?.heartlogError
      ?? HeartlogError(.inputOutput, String(describing: error))
  }
}

/// Runs calls and converts every error that they throw to `HeartlogError`.
@inlinable
package func heartlogErrors<R>(_ body: () throws -> R) throws(HeartlogError) -> R {
  do { return try body() } catch { throw HeartlogError(wrapping: error) }
}
