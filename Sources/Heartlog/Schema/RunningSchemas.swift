import HeartlogStorage

/// What a device says of a library's schema: a field of its item in the library "settings".
struct SchemaAnnouncement {
  static let library = "settings"
  private static let prefix = "schema/"

  /// The version of the item type that the device runs.
  let version: Int
  /// The names that earlier versions use instead of newer ones, each with the first and the last of these versions, sorted by bytes.
  let oldNames: [(name: String, versions: ClosedRange<Int>)]

  init(_ lineage: FieldLineage) {
    version = lineage.version
    oldNames = lineage.replacedNames.map { ($0.name, ClosedRange($0.versions)) }
      .sorted { $0.name.bytesPrecede($1.name) }
  }

  /// Reads an announcement; nil for any other value.
  init?(_ value: FieldValue?) {
    guard case .json(let json) = value, case .object(let members) = json.value,
      case .int64(let version) = members.first(where: { $0.name == "version" })?.value, version >= 1
    else { return nil }
    self.version = Int(version)
    guard case .object(let names) = members.first(where: { $0.name == "oldNames" })?.value else {
      oldNames = []
      return
    }
    oldNames = names.compactMap { name in
      guard case .array(let ends) = name.value, ends.count == 2, case .int64(let first) = ends[0],
        case .int64(let last) = ends[1], first <= last
      else { return nil }
      return (name.name, Int(first)...Int(last))
    }
  }

  static func fieldName(of library: String) -> String { prefix + library }

  /// The library that a field announces a schema of; nil for another field.
  static func library(of field: String) -> String? {
    field.hasPrefix(prefix) ? String(field.dropFirst(prefix.count)) : nil
  }

  func field(of library: String) throws(MalformedError) -> Field {
    let names = oldNames.map { name in
      JSONMember(
        name.name,
        .array([.int64(Int64(name.versions.lowerBound)), .int64(Int64(name.versions.upperBound))]))
    }
    return Field(
      name: Self.fieldName(of: library),
      value: try FieldValue(
        .object([JSONMember("oldNames", .object(names)), JSONMember("version", .int64(Int64(version)))])))
  }
}

/// Which version of a library's item type a device runs, as far as it has announced it.
public struct RunningSchema: Hashable, Sendable {
  /// The library.
  public let library: String
  /// The device.
  public let device: Device
  /// The version that it announced; 1 if it announced none, because the first version of a type announces nothing.
  public let version: Int
  /// Whether it announced a version.
  public let isAnnounced: Bool
  /// The older names of fields that newer versions write because of this device, sorted by bytes. Empty for a device that is retired or has
  /// ended.
  public let oldNames: [String]
}

extension FavoritesStore {
  /// Which version of its item type each device runs, for every library of which a device has announced a version. Sorted by library and
  /// replica.
  ///
  /// A device announces its version with the first write of the library that it makes with it. Devices without commits are left out.
  public var runningSchemas: [RunningSchema] {
    let devices = devices.filter { $0.head > 0 }
    let fields = read { state in
      devices.map {
        state.item(Self.settingsItem(of: $0.replica), in: SchemaAnnouncement.library)?.fields ?? []
      }
    }
    let libraries = Set(fields.joined().compactMap { SchemaAnnouncement.library(of: $0.name) })
    return libraries.sorted { $0.bytesPrecede($1) }.flatMap { library in
      let announced = fields.map { SchemaAnnouncement($0[SchemaAnnouncement.fieldName(of: library)]) }
      let newest = announced.compactMap(\.self).max { $0.version < $1.version }
      return zip(devices, announced).map { device, announced in
        let version = announced?.version ?? 1
        let oldNames = newest?.oldNames.filter { $0.versions.contains(version) }.map(\.name) ?? []
        return RunningSchema(
          library: library, device: device, version: version, isAnnounced: announced != nil,
          oldNames: device.isRetired || device.isEnded ? [] : oldNames)
      }
    }
  }

  /// Whether any device announced a version in a field.
  func hasAnnouncement(in field: String) -> Bool {
    read { state in
      state.heads.contains { head in
        state.item(Self.settingsItem(of: head.replica), in: SchemaAnnouncement.library)?.value(of: field)
          != nil
      }
    }
  }

  /// The versions of a library's item type that other devices run, without those that write no more.
  ///
  /// A device that announced none counts as version 1, even if it never wrote to the library: it may read it.
  func otherVersions(announcedIn field: String, in transaction: WriteTransaction) -> Set<Int> {
    let (own, ended) = transaction.ownAndEndedReplicas
    return read { state in
      var versions: Set<Int> = []
      for replica in state.heads.lazy.map(\.replica) where replica != own && !ended.contains(replica) {
        let settings = state.item(Self.settingsItem(of: replica), in: SchemaAnnouncement.library)
        guard settings?.value(of: "retired") != .bool(true) else { continue }
        versions.insert(SchemaAnnouncement(settings?.value(of: field))?.version ?? 1)
      }
      return versions
    }
  }
}
