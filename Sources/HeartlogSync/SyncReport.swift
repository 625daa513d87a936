import Heartlog

/// The result of a sync.
public struct SyncReport: Hashable, Sendable {
  /// The amount that was transferred in one direction.
  public struct Amount: Hashable, Sendable {
    /// Commits that were new to the receiver.
    public var commits: UInt64 = 0
    /// Events in those commits; `nil` in a dry run, or if the number is not known.
    package var events: UInt64?
    /// Bytes that went through the carrier, including the messages of the dialogue.
    public var bytes: UInt64 = 0
  }

  /// A stream in which the two ends have different commits with the same numbers.
  public struct Fork: Hashable, Sendable {
    /// The replica whose stream it is.
    public let replica: ReplicaID
    /// The name of that replica as shown to people.
    public let name: String
    /// The last commit that both ends have (0: none); `nil` if it was not determined.
    package let lastCommon: CommitNumber?
    /// Whether the stream was ended after that commit; otherwise it was skipped.
    public let isEnded: Bool
  }

  /// A stream of which some commits were due but not received, or are here and not sent. The other streams are not affected.
  public struct SkippedStream: Hashable, Sendable {
    /// Why the commits were not received or sent.
    public enum Cause: String, Sendable {
      /// This store does not take them yet; the next sync tries again.
      case waiting
      /// They have a wall time that is not believed.
      case clock
      /// Their device has a key, and did not sign them.
      case unsigned
      /// They do not lead to the root that came with them.
      case refused
      /// There are too many streams: the others were received and sent.
      case full
      /// This store is damaged; `reason` says where.
      case damaged
      /// The peer cannot read them, because its store is damaged.
      case peerDamaged
      /// They are here, and their device has not signed them, or cannot, because its store cannot be written: they are not sent. A sync
      /// that receives them at the same time may not have noted the signature yet.
      case unsent

      /// Whether nothing is wrong: another sync, with another device perhaps, brings what is missing.
      package var isPassing: Bool { self == .waiting || self == .unsent }
    }

    /// The replica whose stream it is.
    public let replica: ReplicaID
    /// The name of that replica as shown to people.
    public let name: String
    /// The first commit that was not received or sent.
    package let firstCommit: CommitNumber
    /// Why, for programs.
    public let cause: Cause
    /// Why, for people: a phrase without a full stop.
    public let reason: String

    /// Why a stream cannot be read: not every failed call is damage.
    static func reason(_ error: HeartlogError) -> String {
      "\(error.code == .corrupt ? "this store is damaged" : "this store cannot be read"): \(error.description)"
    }
  }

  /// A device whose clock is ahead of this one's by an hour or more.
  public struct ClockAhead: Hashable, Sendable {
    /// The replica of the device; `nil` for a peer that has no commit of its own.
    public let replica: ReplicaID?
    /// The name of the device as shown to people; `nil` if it is not known.
    public let name: String?
    /// How far its clock is ahead.
    public let milliseconds: Milliseconds
  }

  /// Counts of the files in a folder.
  package struct FolderFiles: Hashable, Sendable {
    /// Run files that are whole according to their names.
    package var runs = 0
    /// Files that are known but not downloaded yet.
    package var placeholders = 0
    /// The number of files whose content does not match their names: half copied, or damaged.
    package var damaged: Int { damagedNames.count }
    /// Their names, sorted.
    package var damagedNames: [String] = []
    /// Run files that a file-syncing program kept under another name.
    package var copies = 0
    /// All other files.
    package var foreign = 0
    /// Objects that were refused because they are not encrypted, and the vault is.
    package var plain = 0
    /// Objects of a key epoch that this device cannot read.
    package var locked = 0
    /// Run files of revoked devices with commits that do not count.
    package var revoked = 0
    /// Run files that wait for an earlier one.
    package var waiting = 0
    /// Files that this store wrote.
    package var written = 0
    /// Files of its own that this store removed after merging them.
    package var removed = 0

    package init() {}
  }

  /// What a sync left to the next one when its deadline came, or when it was cancelled.
  public struct Unfinished: Hashable, Sendable {
    /// Commits that are still to be received; `nil` if the ends had not compared what they have. In a folder, judged by the names of files.
    public var commitsToReceive: UInt64?
    /// Commits that are still to be sent; `nil` if that is not known, as with folders.
    public var commitsToSend: UInt64?

    package init() {}
  }

  /// The report of a sync that ended before the ends had compared what they have.
  static func unfinished(_ options: SyncOptions) -> SyncReport {
    var report = SyncReport()
    report.isDryRun = options.isDryRun
    report.unfinished = Unfinished()
    return report
  }

  /// Whether this was a dry run: nothing was written, and the amounts are what would be received and sent.
  package var isDryRun = false
  /// The other store's replica; `nil` if there is no other store, or it has no commit of its own.
  package var peer: ReplicaID?
  /// The name of the peer as shown to people; `nil` if it is not known.
  package var peerName: String?
  /// How far the peer's clock is ahead of this one's, including the transit time of the message; negative if
  /// it is behind; `nil` without a dialogue.
  package var peerClockAheadMilliseconds: Milliseconds?
  /// What was received; in a dry run, what would be received.
  public var received = Amount()
  /// What was sent; in a dry run, what would be sent. If the sync ended early, what was sent by then: the peer has not confirmed it.
  public var sent = Amount()
  /// What is left to the next sync; `nil` unless the deadline came, or this one was cancelled, before it was done.
  public var unfinished: Unfinished?
  /// Items whose state was changed by the received commits.
  public var changedItems: UInt64 = 0
  /// Streams that either end knows.
  package var streams = 0
  /// The forks that were found.
  public var forks: [Fork] = []
  /// The streams of which some due commits were not received, or could not be sent.
  public var skipped: [SkippedStream] = []
  /// What a peer with a damaged store reported: what is damaged, where, and what to run there. The sound part
  /// of its store was received.
  public var peerDamage: String?
  /// The devices whose clocks are ahead by an hour or more, according to their commits or to the peer's
  /// greeting.
  public var clocksAhead: [ClockAhead] = []
  /// What was erased here because a device asked for it.
  package var erasure = ErasureReport()
  /// Why something that a device asked to erase could not be erased here; the next sync tries again. `nil` if nothing is left to do.
  package var erasureFailure: String?
  /// The recovery code of the vault that this device has encrypted. It is reported until a sync that reports it succeeds, and never again.
  public var recoveryCode: String?
  /// Counts of the folder's files; `nil` unless the sync was with a folder.
  package var folder: FolderFiles?
  /// Files in the folder that are not downloaded yet, or half copied: a later sync reads them.
  public var waitingFiles: Int { folder.map { $0.placeholders + $0.damaged } ?? 0 }

  package init() {}

  /// Whether everything due was received and sent, apart from commits that wait or are not signed yet: false if the sync ended early, a
  /// store is damaged, or commits were refused.
  public var isComplete: Bool { unfinished == nil && !hasFaults }

  /// Whether a store is damaged, or commits were refused: another sync does not help.
  package var hasFaults: Bool {
    peerDamage != nil || erasureFailure != nil || !skipped.allSatisfy { $0.cause.isPassing }
  }

  /// Names the streams of which the store has commits that their devices did not sign: it does not send them.
  ///
  /// - Parameters:
  ///   - heads: the streams before the sync, which may have brought signatures.
  ///   - error: why the own stream could not be signed. Without it, more commits of the own stream were written during the sync.
  mutating func nameHeld(
    _ heads: some Sequence<StreamHead>, in store: FavoritesStore, signingFailure error: HeartlogError?
  ) throws(HeartlogError) {
    func reason(_ head: StreamHead) -> String? {
      guard head.replica == store.replica else {
        return "the device has not signed them; they reach others if it comes back, or once it is retired"
      }
      return error.map { "they are signed once its store can be written: \($0.description)" }
    }
    guard heads.contains(where: { $0.holdsMore && reason($0) != nil }) else { return }
    for head in try store.streamHeads()
    where head.holdsMore && !skipped.contains(where: { $0.replica == head.replica }) {
      guard let reason = reason(head) else { continue }
      skipped.append(
        SkippedStream(
          replica: head.replica, name: head.name, firstCommit: head.commit.next, cause: .unsent,
          reason: reason))
    }
  }

  /// Erases what devices ask for. If that fails, the rest of the sync is not affected.
  mutating func applyErasures(in store: FavoritesStore) {
    do throws(HeartlogError) { erasure = try store.applyErasures() } catch {
      erasureFailure = error.description
    }
  }
}

extension SyncReport {
  /// A clock at least this far ahead is reported.
  static let clockAheadMillisecondsMin: Milliseconds = 3_600_000

  /// Reports the devices whose clocks were far ahead at the last of their commits in the store.
  mutating func noteClocks(of replicas: [ReplicaID], in store: FavoritesStore, now: Milliseconds) {
    for replica in replicas {
      guard let wallTime = store.lastWallTime(of: replica), wallTime - now >= Self.clockAheadMillisecondsMin
      else { continue }
      // If the streams cannot be listed, the device is still reported, without its name.
      let head = try? store.streamHead(of: replica)
      noteClock(of: replica, called: head?.name, ahead: wallTime - now)
    }
  }

  /// Reports a device once, if its clock is far ahead.
  mutating func noteClock(of replica: ReplicaID?, called name: String?, ahead milliseconds: Milliseconds) {
    guard milliseconds >= Self.clockAheadMillisecondsMin,
      replica == nil || !clocksAhead.contains(where: { $0.replica == replica })
    else { return }
    clocksAhead.append(
      ClockAhead(replica: replica, name: name.flatMap { $0.isEmpty ? nil : $0 }, milliseconds: milliseconds))
  }
}

extension FavoritesStore {
  /// The damage that prevents writes to the store, if any.
  var corruption: Finding? { findings.first { $0.verdict == .corrupt } }

  /// Reports a sync, and what it moved, to the store's tracer.
  func traced(_ sync: () throws(HeartlogError) -> SyncReport) throws(HeartlogError) -> SyncReport {
    guard trace.isOn else { return try sync() }
    let conflictCount = conflicts.count
    let report = try trace.span(.sync, sync)
    guard !report.isDryRun else { return report }
    trace.count(.receivedCommits, by: report.received.commits)
    trace.count(.receivedBytes, by: report.received.bytes)
    trace.count(.sentCommits, by: report.sent.commits)
    trace.count(.sentBytes, by: report.sent.bytes)
    trace.count(.conflicts, by: UInt64(max(0, conflicts.count - conflictCount)))
    return report
  }
}
