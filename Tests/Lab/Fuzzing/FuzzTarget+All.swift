extension FuzzTarget {
  /// All targets, in the order in which bytes are read: texts, events, files, proofs, peers, imports.
  package static let all: [FuzzTarget] =
    [
      json, text, row, block, frame, segment, storeText, localFields, position, snapshot, checkpoint, proof,
      runFile,
      message, dialogue, sync,
      apply,
    ] + imports
}
