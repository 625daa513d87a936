#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

extension Zone {
  /// The zone of the process: the one in `TZ`, or else the machine's, or else UTC.
  ///
  /// A `TZ` with an unknown name counts as UTC: the C library treats it as UTC but keeps the name.
  static func ofProcess() -> Zone {
    guard let name = processName() else { return .utc }
    tzset()
    let zone = Zone(name: name) { local(at: $0).offsetSeconds }
    // January and July: in a zone with summer time, one of them has it.
    return [1_767_225_600, 1_782_864_000].allSatisfy(isUTC) ? .utc : zone
  }

  private static func isUTC(at seconds: Int64) -> Bool {
    let (offset, abbreviation) = local(at: seconds)
    return offset == 0 && abbreviation == "UTC"
  }

  private static func local(at seconds: Int64) -> (offsetSeconds: Int64, abbreviation: String) {
    var time = time_t(seconds)
    var parts = tm()
    guard localtime_r(&time, &parts) != nil else { return (0, "UTC") }
    return (Int64(parts.tm_gmtoff), parts.tm_zone.map { String(cString: $0) } ?? "")
  }

  /// The folders with time zones: TZDIR, and those that C libraries search.
  private static var folders: [String] {
    (getenv("TZDIR").map { [String(cString: $0)] } ?? [])
      + ["/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/share/zoneinfo", "/etc/zoneinfo"]
  }

  private static func processName() -> String? {
    guard let value = getenv("TZ") else {
      guard isZoneFile("/etc/localtime") else { return nil }
      guard let path = realpath("/etc/localtime", nil) else { return "local time" }
      defer { free(path) }
      return shortName(String(cString: path)) ?? "local time"
    }
    let text = String(cString: value)
    let name = text.hasPrefix(":") ? String(text.dropFirst()) : text
    guard !name.isEmpty else { return nil }
    if name.hasPrefix("/") { return isZoneFile(name) ? shortName(name) ?? name : nil }
    return isRule(name) || folders.contains { isZoneFile("\($0)/\(name)") } ? name : nil
  }

  /// `Europe/Berlin` for a path that ends with it; nil if the path is not in a folder of zones.
  private static func shortName(_ path: String) -> String? {
    let parts = path.split(separator: "/")
    guard let folder = parts.lastIndex(where: { $0.hasPrefix("zoneinfo") }), folder + 1 < parts.count else {
      return nil
    }
    return parts[(folder + 1)...].joined(separator: "/")
  }

  /// Whether a file begins with the magic number of RFC 9636.
  private static func isZoneFile(_ path: String) -> Bool {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return false }
    defer { close(file) }
    var magic = [UInt8](repeating: 0, count: 4)
    return read(file, &magic, 4) == 4 && magic.elementsEqual("TZif".utf8)
  }

  /// Whether a text begins like a POSIX rule: a name of three letters or more, or of anything in angle brackets, and an offset.
  private static func isRule(_ text: String) -> Bool {
    var rest = text.utf8[...]
    if rest.first == UInt8(ascii: "<") {
      guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return false }
      rest = rest[rest.index(after: end)...]
    } else {
      let letters = rest.prefix { byte in
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte & ~0x20)
      }
      guard letters.count >= 3 else { return false }
      rest = rest[letters.endIndex...]
    }
    if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest.removeFirst() }
    return rest.first.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false
  }
}
