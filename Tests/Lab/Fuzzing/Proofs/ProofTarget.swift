import HeartlogFormat

extension FuzzTarget {
  /// The files that prove something: of any bytes, and of bytes that are signed first, so that all before the signature is reached.
  static let proof = FuzzTarget(
    "proof",
    seeds: { _ in
      let commits = try SeedCommits.stream(of: replica)
      var seeds: [Seed] = []
      for (index, commit) in commits.enumerated() {
        var row: [UInt8] = []
        try RowEncoding.append(commit, to: &row)
        var writer = ByteWriter()
        writer.u8(Form.event.rawValue)
        writer.varint(UInt64(index + 1))
        writer.varint(UInt64(index))
        writer.u8(0)
        writer.lengthAndBytes(row)
        writer.raw([UInt8](0..<16))
        writer.raw([UInt8](repeating: 3, count: 64))
        seeds.append(Seed("event-\(index + 1)", writer.bytes))
      }
      seeds.append(Seed("tree", [Form.tree.rawValue, 5, 13, 2, 0, 0]))
      seeds.append(Seed("large-tree", [Form.sizes.rawValue, 0x80, 0x80, 4, 0xFF, 0xFF, 0xFF, 0x7F, 20]))
      let fork = try fork(size: 5, KnownTree.roots[2], KnownTree.roots[3])
      seeds.append(Seed("fork", [Form.file.rawValue] + fork.bytes))
      seeds.append(Seed("two-roots", [Form.fork.rawValue, 5, 2, 3, 1, 0]))
      return seeds
    }
  ) { bytes in
    var reader = ByteReader(bytes)
    guard let form = (try? reader.u8()).flatMap(Form.init) else { return }
    switch form {
    case .file:
      guard let proof = try? ProofFile(Array(reader.rest)) else { return }
      try state(proof.bytes.elementsEqual(reader.rest), "a proof has two files")
    case .event: try checkEvent(&reader)
    case .tree: try checkTree(&reader)
    case .sizes: try checkSizes(&reader)
    case .fork:
      guard let size = try? reader.u8(), let one = try? reader.u8(), let other = try? reader.u8() else {
        return
      }
      let roots = KnownTree.roots
      let made = try? fork(
        size: UInt64(size), roots[Int(one) % roots.count], roots[Int(other) % roots.count])
      try state(
        (made == nil) == (size == 0 || Int(one) % roots.count == Int(other) % roots.count),
        "two roots of one size are no proof")
      if let made { try checkFile(made, &reader) }
    }
  }

  private enum Form: UInt8 {
    case file, event, tree, sizes, fork
  }

  private static func fork(size: UInt64, _ one: Digest, _ other: Digest) throws -> ProofFile {
    func witnessed(_ root: Digest) throws -> WitnessedCheckpoint {
      try WitnessedCheckpoint(try KnownKeys.checkpoint(size: size, root: root)) { _ in nil }
    }
    guard size > 0 else { throw Violation("a checkpoint of nothing") }
    let history = try HistoryProof(.root(size: size, other), path: [], later: try witnessed(other))
    return .fork(try ForkProof(earlier: try witnessed(one), history: history))
  }

  /// Reads a proof again, as it is and with one byte changed.
  private static func checkFile(_ proof: ProofFile, _ reader: inout ByteReader) throws {
    var bytes = proof.bytes
    try state(try ProofFile(bytes) == proof, "a proof is another one when it is read again")
    guard let place = try? reader.u8(), let high = try? reader.u8() else { return }
    bytes[(Int(place) | Int(high) << 8) % bytes.count] ^= 1 << (place % 8)
    try state((try? ProofFile(bytes)) == nil, "a proof with a changed bit is valid")
  }

  /// Any commit is signed, and an event of it is proven.
  private static func checkEvent(_ reader: inout ByteReader) throws {
    guard let number = try? reader.varint(), (1...Limits.numberMax).contains(number),
      let later = try? reader.varint(), later <= Limits.numberMax - number, let index = try? reader.u8(),
      let row = try? reader.lengthAndBytes(),
      let commit = try? RowEncoding.decode(
        row, replica: KnownKeys.owner.publicKey.replica, number: CommitNumber(rawValue: number)),
      let salt = (try? reader.take(16)).map(Salt.init)
    else { return }
    var hasher = SHA256Hasher()
    let event = Int(index) % commit.eventCount
    let hashes = commit.records.map { record in
      if case .withheld(let hash) = record { hash } else { record.hash(salt: salt, hasher: &hasher) }
    }
    let withheld = Commit(
      replica: commit.replica, number: commit.number, firstSequence: commit.firstSequence,
      stamp: commit.stamp, wallTime: commit.wallTime, origin: commit.origin, heads: commit.heads,
      unknownMembers: commit.unknownMembers, records: hashes.map(EventRecord.withheld))
    var salts = Salts([])
    let leaf = try withheld.leafHash(salts: &salts, hasher: &hasher)
    let size = number + later
    let inclusion = InclusionProof(index: number - 1, size: size) { subtrees in
      subtrees.map { KnownTree.node($0.height, $0.index) }
    }
    let checkpoint = try WitnessedCheckpoint(
      try KnownKeys.checkpoint(size: size, root: try inclusion.root(of: leaf))
    ) { _ in nil }
    var isWithheld = false
    if case .withheld = commit.records[event] { isWithheld = true }
    let proof = try? EventProof(
      commit: commit, index: event, salt: salt, hashes: hashes, path: inclusion.path, checkpoint: checkpoint)
    try state((proof == nil) == isWithheld, "an event that is there cannot be proven, or one that is not can")
    if let proof { try checkFile(.event(proof), &reader) }
  }

  /// A consistency and an inclusion in a real tree, with a root of the path changed.
  private static func checkTree(_ reader: inout ByteReader) throws {
    guard let first = try? reader.u8(), let second = try? reader.u8() else { return }
    let count = UInt64(KnownTree.roots.count)
    let later = UInt64(second) % count + 1
    let size = UInt64(first) % later + 1
    var consistency = ConsistencyProof(size: size, laterSize: later, roots: KnownTree.subtrees)
    let roots = (KnownTree.roots[Int(size) - 1], KnownTree.roots[Int(later) - 1])
    try consistency.verify(root: roots.0, laterRoot: roots.1)
    var inclusion = InclusionProof(index: size - 1, size: later, roots: KnownTree.subtrees)
    let leaf = KnownTree.leaves[Int(size) - 1]
    try state(try inclusion.root(of: leaf) == roots.1, "a leaf is not in its tree")
    guard let change = try? reader.u8(), let place = try? reader.u8(), change > 0 else { return }
    func changed(_ path: [Digest]) -> [Digest]? {
      guard !path.isEmpty else { return nil }
      var path = path
      var bytes = path[Int(place) % path.count].bytes
      bytes[Int(place) % bytes.count] ^= change
      path[Int(place) % path.count] = Digest(bytes)
      return path
    }
    if let path = changed(consistency.path) {
      consistency = ConsistencyProof(size: size, laterSize: later, path: path)
      try state(
        (try? consistency.verify(root: roots.0, laterRoot: roots.1)) == nil, "a changed history is valid")
    }
    if let path = changed(inclusion.path) {
      inclusion = InclusionProof(index: size - 1, size: later, path: path)
      try state((try? inclusion.root(of: leaf)) != roots.1, "a changed path leads to the root")
    }
  }

  /// Any sizes, and a path of any length.
  private static func checkSizes(_ reader: inout ByteReader) throws {
    guard let size = try? reader.varint(), let later = try? reader.varint(), let count = try? reader.u8()
    else { return }
    let path = (0..<count).map { KnownTree.node(Int($0) % 8, UInt64($0)) }
    _ = try? ConsistencyProof(size: size, laterSize: later, path: path)
      .verify(root: KnownTree.roots[0], laterRoot: KnownTree.roots[1])
    _ = try? InclusionProof(index: size, size: later, path: path).root(of: KnownTree.leaves[0])
  }
}

/// The tree of a stream of 200 commits.
private enum KnownTree {
  static let leaves: [Digest] = (0..<200).map { SHA256Hasher.digest(of: [UInt8($0)]) }

  /// After each commit.
  static let roots: [Digest] = {
    var tree = MerkleTree()
    return leaves.map { leaf in
      tree.append(leaf: leaf)
      return tree.root
    }
  }()

  static func subtrees(_ subtrees: [MerkleSubtree]) -> [Digest] {
    subtrees.map { subtree in
      var tree = MerkleTree()
      for leaf in leaves[Int(subtree.leaves.lowerBound)..<Int(subtree.leaves.upperBound)] {
        tree.append(leaf: leaf)
      }
      return tree.root
    }
  }

  /// A node of a tree that is not here: 32 bytes that tell it from others.
  static func node(_ height: Int, _ index: UInt64) -> Digest {
    var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: height), count: 32)
    for byte in 0..<8 { bytes[byte] = UInt8(truncatingIfNeeded: index >> UInt64(8 * byte)) }
    return Digest(bytes)
  }
}
