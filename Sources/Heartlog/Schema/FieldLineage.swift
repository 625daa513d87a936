import HeartlogEngine

/// All names that the fields of a type have had, and how the value under one follows from the value under another.
///
/// Every name comes from one older name at most, so the names of a field form a chain, and those of a split field a tree.
struct FieldLineage: Sendable {
  /// A write to a register of one item.
  struct Write {
    /// The same for all writes of a commit.
    let position: EventPosition
    let value: FieldValue

    init(position: EventPosition, value: FieldValue) {
      self.position = EventPosition(
        stamp: position.stamp, replica: position.replica, sequence: SequenceNumber(rawValue: 0))
      self.value = value
    }
  }

  private struct Name {
    let text: String
    /// The first version with this name.
    let introduced: Int
    /// The first version without it; nil if the newest has it.
    var replaced: Int?
    /// The step that it comes from, and its place among the step's new names; nil if there is no older name.
    let origin: (step: Int, part: Int)?
    /// The oldest name that it comes from; its own index if there is none.
    let root: Int

    func isUsed(by version: Int) -> Bool { introduced <= version && version < replaced ?? .max }
  }

  private struct Step {
    let step: ItemSchema.Step
    let old: Int
    let new: [Int]

    func forward(_ value: FieldValue) -> [FieldValue]? {
      value.isNull ? new.map { _ in .null } : step.forward(value)
    }

    /// - Parameter values: by the index of their names.
    func backward(_ values: [FieldValue?]) -> FieldValue? {
      let parts = new.compactMap { values[$0] }
      guard parts.count == new.count else { return nil }
      return parts.allSatisfy(\.isNull) ? .null : step.backward(parts)
    }
  }

  let version: Int
  private var known: [Name] = []
  private var steps: [Step] = []
  private var indices: [UTF8Key: Int] = [:]

  /// - Throws: a reason if the schema breaks a rule.
  init(_ schema: ItemSchema) throws(MalformedError) {
    version = schema.version
    try Self.check(version >= 1, "the version \(version), which must be 1 or greater")
    var before = 2
    for step in schema.steps {
      try Self.check(
        step.since >= before,
        "the step of \"\(step.old)\" since version \(step.since), which must be \(before) or later: the oldest step comes first"
      )
      try Self.check(
        step.since <= version,
        "the step of \"\(step.old)\" since version \(step.since), but the version is only \(version)")
      before = step.since
      try add(step)
    }
  }

  private static func check(_ holds: Bool, _ reason: @autoclosure () -> String) throws(MalformedError) {
    if !holds { throw MalformedError(reason()) }
  }

  private mutating func add(_ step: ItemSchema.Step) throws(MalformedError) {
    for name in [step.old] + step.new {
      try NameRules.checkFieldName(name)
      try Self.check(
        !name.utf8.starts(with: "@".utf8) && !FieldKey.isSupplied(name),
        "a step with the name \"\(name)\", which is reserved")
    }
    try Self.check(
      !step.isSplit || step.new.count >= 2,
      "the split of \"\(step.old)\" into \(step.new.count) names, which must be at least two")
    let old = indices[UTF8Key(step.old)] ?? append(step.old, introduced: 1, origin: nil)
    try Self.check(
      known[old].replaced == nil,
      "a second step of \"\(step.old)\", which version \(known[old].replaced ?? 0) replaced")
    try Self.check(
      known[old].introduced < step.since,
      "two steps of \"\(step.old)\" in version \(step.since): it is new in this version")
    known[old].replaced = step.since
    var new: [Int] = []
    for (part, name) in step.new.enumerated() {
      try Self.check(
        indices[UTF8Key(name)] == nil,
        "the new name \"\(name)\", which another version used: it must be unused")
      new.append(append(name, introduced: step.since, origin: (steps.count, part), root: known[old].root))
    }
    steps.append(Step(step: step, old: old, new: new))
  }

  private mutating func append(
    _ name: String, introduced: Int, origin: (step: Int, part: Int)?, root: Int? = nil
  ) -> Int {
    let index = known.count
    known.append(Name(text: name, introduced: introduced, origin: origin, root: root ?? index))
    indices[UTF8Key(name)] = index
    return index
  }

  /// All names, older and newer; the values of the functions below are in this order.
  var names: [String] { known.map(\.text) }

  /// The index of a name in `names`; nil for a field that never changed.
  func index(of name: String) -> Int? { indices[UTF8Key(name)] }

  /// The indices of the names that the newest version uses.
  var current: [Int] { known.indices.filter { isCurrent($0) } }

  func isCurrent(_ name: Int) -> Bool { known[name].replaced == nil }

  /// The new names that take a name's place; empty if the field was dropped.
  func successors(of name: Int) -> [String] { steps.first { $0.old == name }?.step.new ?? [] }

  /// The names that newer versions have under others, each with the first version that has it and the first that has not.
  var replacedNames: [(name: String, versions: Range<Int>)] {
    known.compactMap { name in
      guard let replaced = name.replaced, let index = index(of: name.text), !successors(of: index).isEmpty
      else {
        return nil
      }
      return (name.text, name.introduced..<replaced)
    }
  }

  // MARK: - Reading

  /// The value of a field: of all writes to its names, the last one that can be converted. Of one commit, the newest name counts.
  ///
  /// - Parameter writes: what each of `names` shows; nil if it was never written.
  /// - Returns: the value, which may be null, or nil if there is none; and whether a later write could not be converted.
  func value(
    of name: Int, in writes: [Write?]
  ) -> (value: FieldValue?, isUnreadable: Bool) {
    var chain: [(name: Int, write: Write)] = []
    var next = Optional(name)
    while let index = next {
      if let write = writes[index] {
        let place = chain.firstIndex { $0.write.position < write.position } ?? chain.count
        chain.insert((index, write), at: place)
      }
      next = known[index].origin.map { steps[$0.step].old }
    }
    var isUnreadable = false
    for (place, written) in chain.enumerated() {
      let older = chain[(place + 1)...].prefix { $0.write.position == written.write.position }
      if written.write.value.isNull,
        older.contains(where: {
          !$0.write.value.isNull && wasRestored(from: written.name, to: $0.name, in: writes)
        })
      {
        continue
      }
      if let value = convert(written.write.value, from: written.name, to: name) {
        return (value, isUnreadable)
      }
      isUnreadable = true
    }
    return (nil, isUnreadable)
  }

  /// Whether a commit that wrote both names wrote no value under the names that replaced the older one. A write of an item never does
  /// that: it is an undo that brought back what an older version wrote.
  private func wasRestored(from newer: Int, to older: Int, in writes: [Write?]) -> Bool {
    let position = writes[older]?.position
    var name = newer
    while name != older, let origin = known[name].origin {
      let step = steps[origin.step]
      if step.new.contains(where: { writes[$0]?.position == position && writes[$0]?.value.isNull == false }) {
        return false
      }
      name = step.old
    }
    return true
  }

  private func convert(_ value: FieldValue, from older: Int, to newer: Int) -> FieldValue? {
    guard older != newer, let origin = known[newer].origin else { return value }
    let step = steps[origin.step]
    return convert(value, from: older, to: step.old).flatMap { step.forward($0) }?[origin.part]
  }

  // MARK: - Writing

  /// What is written of an item whose fields change: their newest names, and the older ones that devices still use.
  ///
  /// With an older name, all names that come from it are written. For the order of writes that is one value, in every version. It also
  /// keeps what the older name cannot express: a first name of two words.
  ///
  /// - Parameters:
  ///   - changed: the names of the newest version whose values differ from those that are read.
  ///   - values: the values of the item under the names of the newest version; nil for a name that it lacks.
  ///   - writes: what each of `names` shows; nil if it was never written.
  ///   - versions: the versions that other devices use.
  func fields(
    changing changed: Set<Int>, of values: [FieldValue?], over writes: [Write?], for versions: Set<Int>
  ) -> [Field] {
    let changedRoots = Set(changed.map { known[$0].root })
    var values = values
    for name in known.indices where values[name] == nil && changedRoots.contains(known[name].root) {
      if isCurrent(name) || successors(of: name).isEmpty {
        values[name] = value(of: name, in: writes).value ?? .null
      }
    }
    var follows = changed
    for step in steps.reversed() where changedRoots.contains(known[step.old].root) && !step.new.isEmpty {
      values[step.old] = step.backward(values)
      if !follows.isDisjoint(with: step.new), values[step.old] != nil { follows.insert(step.old) }
    }
    func isUsed(_ name: Int) -> Bool { isCurrent(name) || versions.contains(where: known[name].isUsed) }
    let older = follows.filter { !isCurrent($0) && isUsed($0) }
    return known.indices.compactMap { name in
      guard changed.contains(name) || older.contains(name) || isUsed(name) && comes(name, from: older),
        let value = values[name]
      else { return nil }
      return Field(name: known[name].text, value: value)
    }
  }

  private func comes(_ name: Int, from older: Set<Int>) -> Bool {
    var next = known[name].origin.map { steps[$0.step].old }
    while let index = next {
      if older.contains(index) { return true }
      next = known[index].origin.map { steps[$0.step].old }
    }
    return false
  }
}
