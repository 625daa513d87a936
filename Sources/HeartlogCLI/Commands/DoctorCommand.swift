import Heartlog
import HeartlogSync

/// `heartlog doctor`: names what is wrong with the store, why it matters, and what to do.
enum DoctorCommand: Command {
  static let description = CommandDescription(
    name: "doctor", group: .check, summary: "name what is wrong with the store, and what to do",
    page: """
      Checks permissions, the clock, the disk, every byte of the log, forks, the other devices, the lock, leftovers, the device key and
      versions. Changes nothing. A problem is something wrong; a notice is something to know.

      heartlog doctor  # Check everything.
      heartlog doctor --json  # Print one object a finding.

      Exit code 1: There is a problem other than damage.
      """)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let directory = try context.storeDirectory()
    var faults = try context.withByteProgress("verifying") { progress in
      try FavoritesStore.diagnose(at: directory, progress: progress)
    }
    if !faults.contains(where: { FaultAdvice.of($0.kind).isDamage || $0.kind == .unreadable }) {
      faults += try VaultKeys.faults(of: try context.openForReading())
    }
    let found = faults.map { (fault: $0, advice: FaultAdvice.of($0.kind)) }
    // The order of the examination, problems first.
    let sorted =
      found.filter { $0.advice.severity == .problem } + found.filter { $0.advice.severity == .notice }
    for (fault, advice) in sorted {
      try context.show(Self.json(fault, advice), Self.lines(fault, advice, context))
    }
    let problems = found.count { $0.advice.severity == .problem }
    if !context.isJSON { try context.output.line(Self.summary(problems, found.count - problems)) }
    if found.contains(where: \.advice.isDamage) { return .badInput }
    return problems > 0 ? .no : .success
  }

  private static func summary(_ problems: Int, _ notices: Int) -> String {
    let notes = notices > 0 ? [Quantity.count(notices, "notice")] : []
    return ([problems > 0 ? Quantity.count(problems, "problem") : "no problems"] + notes).joined(
      separator: ", ")
  }

  private static func json(_ fault: Fault, _ advice: FaultAdvice) -> JSONObject {
    [
      "fault": fault.kind.rawValue, "severity": advice.severity.rawValue, "what": advice.what,
      "detail?": fault.detail, "where": fault.place, "why": advice.why, "next": advice.next,
    ]
  }

  private static func lines(_ fault: Fault, _ advice: FaultAdvice, _ context: CommandContext) -> [String] {
    let style = context.style
    let isProblem = advice.severity == .problem
    let mark = style(isProblem ? .failure : .name, advice.severity.rawValue)
    let detail = fault.detail.map { ": \($0)" } ?? ""
    var lines = [
      "\(mark)\(isProblem ? "" : " ")  \(DisplayText.visible(advice.what + detail))",
      "  where  \(DisplayText.visible(fault.place))",
    ]
    let width = min(100, max(40, context.width ?? .max))
    for (label, text) in [("why  ", advice.why), ("next ", advice.next)] {
      for (index, line) in Paragraph.lines(text, width: width - 9).enumerated() {
        lines.append("  \(style(.faint, index == 0 ? label : "     "))  \(line)")
      }
    }
    return lines + [""]
  }
}

/// What a fault means, and what to do about it. docs/cli.md has the same table.
struct FaultAdvice {
  enum Severity: String {
    /// Something is wrong.
    case problem
    /// Nothing is wrong, but a person may want to know.
    case notice
  }

  let severity: Severity
  /// A phrase without its final full stop.
  let what: String
  /// Why it matters, in complete sentences.
  let why: String
  /// What to do next, in complete sentences.
  let next: String
  /// Whether bytes differ from what was written, or cannot be understood.
  let isDamage: Bool

  /// The advice on a fault, taken from the table.
  static func of(_ kind: Fault.Kind) -> FaultAdvice {
    let entry = table.split(separator: "\n\n").first { $0.hasPrefix("\(kind.rawValue), ") }
    guard let entry else { preconditionFailure("the table has every fault") }
    let lines = entry.split(separator: "\n").map(String.init)
    let words = lines[0].split(separator: ": ", maxSplits: 1)
    return FaultAdvice(
      severity: words[0].hasSuffix("notice") ? .notice : .problem, what: String(words[1]), why: lines[1],
      next: lines[2], isDamage: words[0].hasSuffix("damage"))
  }

  /// Of each fault its name, whether it is a notice, a problem or damage, and what it is; then why it matters, and what to do next.
  private static let table = """
    unreadable, problem: this user may not read the store
    Nothing can be shown, and the rest of the store was not checked.
    Run heartlog as the owner of the store, or give its files back to that user with chown.

    unwritable, problem: this user may not write to the store
    Reading works; every command that writes fails.
    Run heartlog as the owner of the store, or allow the owner to write with chmod -R u+w.

    openToOthers, problem: other users of this machine can read the store
    They can also hold its lock, so that nobody can write.
    The next command that writes closes it; chmod -R go= closes it now.

    keyOpenToOthers, problem: other users may read the device key
    Whoever has the key can sign as this device.
    Close it with chmod -R go= on the folder keys. If somebody may have read it, tell the owners of the other devices.

    clockOutOfRange, problem: this device's clock shows a time before 1970 or after 2199
    Nothing can be written: no other device would take it.
    Set the clock right.

    clockBehind, problem: this device's clock is behind its own last write
    The clock was ahead when it wrote, or is behind now. What it wrote then wins over what others write until that time.
    Set the clock right. If it is right, undo what should not win: "heartlog log --since now" lists it.

    clockWasSetBack, notice: this device's clock was set back
    --at and --since refer to the later time for everything after it.
    Nothing, if the clock is right now.

    deviceClockAhead, problem: another device's clock was ahead when it wrote last
    Its taps win over yours until you sync with it, and moments of its events are wrong.
    Set the clock of that device right, then sync with it.

    diskFull, problem: the disk is almost full
    Writes will fail. No acknowledged commit is lost by that.
    Make room. "heartlog compact" makes the log smaller, and the folder snapshots may be removed.

    readOnlyFileSystem, problem: the file system is read-only
    Reading works; every command that writes fails.
    Mount it writable. If the system did this after an error, check the disk first.

    networkFileSystem, problem: the store is on a network file system
    Locks do not work there, so the store is read-only.
    Move the store to a local disk, and sync through a folder: "heartlog sync folder:DIR".

    notDownloaded, damage: a file of the store is not downloaded
    A cloud client keeps it elsewhere. Nothing is lost; what comes before it can be read, and nothing can be written.
    Let the cloud client download the folder, and move the store to a folder that it leaves alone: devices sync through "folder:DIR", not by their stores.

    damagedIdentity, damage: the file that identifies the writer is damaged or missing
    The store cannot be opened. Its log is not affected.
    "heartlog repair --dry-run" shows what can be done, "heartlog repair" does it.

    damagedSegment, damage: part of the log is damaged
    Everything before it can be read. The store is read-only.
    "heartlog repair --from PEER" repairs it with what another device or a folder has. "heartlog repair --salvage DIR" makes a new store of all that can be read.

    lostCommits, damage: acknowledged commits are missing
    A disk or a copy lost them. Other devices may have them.
    Sync with the other devices, which brings back what they have. If this is your own stream, the next write continues as a new replica. Then "heartlog repair" writes anew what a snapshot still has of them. If nobody has them, "heartlog devices retire" their replica: then this ends.

    tornTail, notice: the last batch was not finished
    A process ended while it wrote. The batch was never acknowledged.
    Nothing: the next write cuts it off and keeps a copy.

    damagedEnd, damage: the end of a forked stream is damaged
    That stream is not shown, and the store is read-only.
    "heartlog repair" rebuilds the file and keeps the damaged one.

    damagedCheckpoint, damage: a checkpoint is damaged, or contradicts the log
    It no longer shows how far its device had signed.
    Compare "heartlog verify" with another device. If the roots are equal, remove the file and sync.

    damagedSnapshot, damage: a snapshot is damaged
    The log does not need it. If it differs from the log, one of the two was changed.
    Compare "heartlog verify" with another device, then remove the snapshot.

    damagedKey, damage: the device key is damaged
    Nothing can be signed with it: before its next write the store becomes a new replica.
    Put the file back from a copy of this folder, if there is one; otherwise write, and retire the old replica.

    damagedTrust, damage: the list of confirmed keys is damaged
    It is not known which keys a person has compared.
    Remove the file, and confirm the keys again with "heartlog devices trust".

    damagedLocalFields, damage: part of the values that only this device has is damaged
    An item may lack them, such as where its file is. The log is not affected.
    Let the app find the files of its items again: the next such value makes the file new, without the damaged part. If nothing of it can be read, remove it.

    suspectSegment, notice: the disk once failed to store part of the log
    What could be read was kept, and nothing is appended to it.
    Check the disk; "heartlog verify" shows that the log is whole.

    endedStream, notice: a device's stream forked
    A folder was copied or restored. Both histories continue as replicas of their own.
    Nothing. "heartlog devices" shows both.

    droppedStream, notice: a device was dropped from this store
    Its commits are in this folder, and count for nothing. No sync brings them back.
    Nothing. "heartlog devices keep" takes it back. If you will never want it, remove the files in that folder.

    ownStreamEnded, notice: this device's stream forked
    A folder was copied or restored. The next write continues as a new replica.
    Nothing. "heartlog devices" shows both.

    unseenDevice, notice: a device wrote nothing for three months or more
    What it has may never arrive, and it may have missed yours.
    Sync with it, or mark it with "heartlog devices retire" if it will not come back.

    unshippedCommits, notice: commits of this device are newer than its last sync
    No other device has them: a lost disk would lose them.
    "heartlog sync" with another store or a folder.

    unsignedCommits, notice: commits of another device are here that it has not signed
    They are not shipped until it has: a restored store has them, or one that lost its key.
    Sync with that device. If it will not come back, "heartlog devices retire": then the next sync ships them.

    notAMember, problem: this device is not a member of its encrypted vault
    Nothing that it writes reaches the other devices, and nothing new arrives.
    "heartlog keys join -" takes the present recovery code; "heartlog keys pair PEER" gets the keys from another device.

    voidRecoveryCode, problem: the recovery code that was printed here is void
    Two were made at once. Whoever has only this one can read nothing new.
    Find the good one, and enter it with "heartlog keys join -", or make another one with it.

    damagedVaultKeys, damage: a key of the vault is damaged
    Nothing can be synced through encrypted places.
    Remove the file, and sync: a member's next sync brings it again. If it is keys/recovery, enter the code again.

    provisionalVault, notice: this store has never been synced
    It is the only copy.
    "heartlog sync" with another store or a folder.

    noOtherDevice, notice: no other device has synced with this store
    The folders and hubs that it synced with have a copy of what it wrote.
    Nothing, if this is the only device. Otherwise sync another one with the same folder or hub.

    heldLock, notice: another process is writing
    Writes wait for it, and fail after ten seconds.
    Nothing, unless it stays. The system releases the lock when that process ends.

    missingLock, problem: the file "lock" is missing or cut short
    The log was not checked, because opening it would create the file.
    "heartlog verify" creates it and checks the log; then run the doctor again.

    unfinishedFiles, notice: a process ended before its files were finished
    Nobody reads them; they cost disk space.
    Nothing: the next write removes them.

    keptFiles, notice: recovery or repair kept bytes aside
    Nobody reads them. They may contain the rest of a write that was not finished.
    Remove them once "heartlog verify" finds nothing and you miss nothing.

    lostSnapshot, notice: a snapshot knew commits that the log had lost
    The loss was reported once, and the snapshot kept as evidence.
    Sync with the other devices, then "heartlog repair", then remove the file.

    unusedSnapshot, notice: a snapshot is of another version or another store
    Nobody starts from it; it costs disk space.
    Remove it.

    unfinishedErasure, problem: an erasure, or the arrival of content, was interrupted, or the list of erased events is damaged
    Content that was to be erased may still be in the store, and it starts without a snapshot.
    Run "heartlog compact".

    missingKey, notice: this device has no key
    Its commits are unsigned. Before its next write the store becomes a new replica with a key.
    Nothing, if an older version made the store. Otherwise put the file back from a copy of this folder.

    foreignKey, notice: the device key is of another replica
    It is from another store, or repair gave this one a new identity. Before its next write the store becomes a new replica with a key.
    Nothing, after a repair. Otherwise put the right file back, if there is a copy.

    copiedFolder, notice: this folder was copied, moved or restored
    Before its next write the store becomes a new replica, so that no number is used twice.
    Nothing. If the original is gone, retire its replica.

    newerFormat, damage: a newer Heartlog wrote this
    This version cannot read it, and the rest was not checked.
    Install a newer version of Heartlog.
    """
}
