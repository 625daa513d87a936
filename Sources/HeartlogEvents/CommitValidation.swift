extension Commit {
  /// Checks every rule that the format states for one commit: names, values, order, numbers, times, size.
  ///
  /// Decoded commits have already been checked; this is for commits created in other ways.
  package func validate() throws(MalformedError) {
    try validateParts()
    try Self.checkByteCount(RowEncoding.limitedByteCount(of: self))
  }

  /// Checks every rule except the size, which is known once the commit is encoded.
  ///
  /// - Parameter recordsAreChecked: each record has already been checked, with the commit's wall time.
  package func validateParts(recordsAreChecked: Bool = false) throws(MalformedError) {
    try header.validate()
    if let origin { try NameRules.checkOrigin(origin) }
    try Head.validate(heads, of: replica)
    try UnknownMember.validate(unknownMembers)
    guard !recordsAreChecked else { return }
    try contents.forEach { (record) throws(MalformedError) in try record.validate(wallTime: wallTime) }
  }

  /// - Parameter count: the size of a row in bytes.
  package static func checkByteCount(_ count: Int) throws(MalformedError) {
    guard count <= Limits.commitBytesMax else {
      throw MalformedError("a commit of \(count) bytes, the most is \(Limits.commitBytesMax)")
    }
  }
}

extension Head {
  /// Checks a vector of heads in the stream of `own`: sorted by replica, without duplicates, and not including `own`.
  static func validate(_ heads: [Head], of own: ReplicaID) throws(MalformedError) {
    guard heads.count <= Limits.headsMax else {
      throw MalformedError("\(heads.count) heads, the most is \(Limits.headsMax)")
    }
    for (index, head) in heads.enumerated() {
      guard index == 0 || heads[index - 1].replica < head.replica else {
        throw MalformedError("heads that are not sorted by replica")
      }
      guard head.replica != own else { throw MalformedError("a head of the stream's own replica") }
      guard (1...Limits.numberMax).contains(head.commit.rawValue) else {
        throw MalformedError("a head at commit number \(head.commit)")
      }
    }
  }
}

extension UnknownMember {
  static func validate(_ members: [UnknownMember]) throws(MalformedError) {
    guard members.count > 1 else { return }
    for index in 1..<members.count where members[index - 1].tag >= members[index].tag {
      throw MalformedError("members that are not sorted by tag")
    }
  }
}

extension EventRecord {
  /// - Parameter wallTime: the commit's wall time; a favorited date equal to it is omitted.
  func validate(wallTime: Milliseconds) throws(MalformedError) {
    switch self {
    case .withheld: return
    case .unknown(let kind, _):
      guard kind >= 8 else { throw MalformedError("an event of a later version with kind \(kind)") }
    case .event(let event):
      try event.validate(wallTime: wallTime)
    }
  }
}
