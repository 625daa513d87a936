/// A file that proves something about a stream, to anyone, with nothing but the file. Source: docs/audit.md.
public enum ProofFile: Hashable, Sendable {
  /// That a replica wrote an event.
  case event(EventProof)
  /// That the history of a stream was only added to.
  case history(HistoryProof)
  /// That one key signed two histories.
  case fork(ForkProof)

  /// Reads and verifies a file: every hash and every signature in it.
  ///
  /// A valid file proves what it says of the owner of the key in it. Whose key that is, it cannot say: see `KeyReference`.
  ///
  /// - Throws: `MalformedError`: the file is not a proof, or it proves nothing.
  public init(_ bytes: [UInt8]) throws(MalformedError) {
    guard bytes.count <= Self.bytesMax else {
      throw MalformedError("a file of \(bytes.count) bytes, the most for a proof is \(Self.bytesMax)")
    }
    self = try bytes.withBytes { (bytes) throws(MalformedError) in
      var reader = ByteReader(bytes)
      guard reader.remaining > Self.magic.count, try reader.take(Self.magic.count).elementsEqual(Self.magic)
      else {
        throw MalformedError("a file that is not a proof")
      }
      let proof: ProofFile
      switch try reader.u8() {
      case Kind.event: proof = .event(try EventProof(from: &reader))
      case Kind.history: proof = .history(try HistoryProof(from: &reader))
      case Kind.fork: proof = .fork(try ForkProof(from: &reader))
      case let kind: throw MalformedError("a proof of kind \(kind), of a later version")
      }
      try reader.end()
      return proof
    }
  }

  /// The file.
  public var bytes: [UInt8] {
    var writer = ByteWriter(Self.magic)
    switch self {
    case .event(let proof):
      writer.u8(Kind.event)
      proof.write(to: &writer)
    case .history(let proof):
      writer.u8(Kind.history)
      proof.write(to: &writer)
    case .fork(let proof):
      writer.u8(Kind.fork)
      proof.write(to: &writer)
    }
    return writer.bytes
  }

  /// The checkpoint that covers what is proven.
  public var checkpoint: WitnessedCheckpoint {
    switch self {
    case .event(let proof): proof.checkpoint
    case .history(let proof): proof.later
    case .fork(let proof): proof.later
    }
  }

  /// The most bytes of a file that is read: a commit as large as commits can be, and a mebibyte for the rest.
  public static let bytesMax = Limits.commitBytesMax + 1 << 20

  private static let magic: [UInt8] = [0x89] + Array("HPROOF\n".utf8)

  private enum Kind {
    static let event: UInt8 = 1
    static let history: UInt8 = 2
    static let fork: UInt8 = 3
  }
}

extension ByteReader {
  /// Reads the roots of a path.
  mutating func path() throws(MalformedError) -> [Digest] {
    var path: [Digest] = []
    // Twice 53 levels: a consistency proof may have roots on both sides of its way.
    for _ in 0..<(try count(atMost: 106, "roots of a path")) { path.append(try digest()) }
    return path
  }
}

extension ByteWriter {
  mutating func path(_ path: [Digest]) {
    varint(path.count)
    for root in path { raw(root) }
  }
}
