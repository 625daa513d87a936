import Heartlog
import Traces

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The trace as lines of JSON, so that other programs play the same: a line a step, an empty one between parts.
enum TraceFile {
  struct Failure: Error { let path: String }

  static func write(_ parts: [[Trace.Step]], to path: String) throws {
    guard let file = fopen(path, "w") else { throw Failure(path: path) }
    for part in parts {
      for step in part { fputs(line(step) + "\n", file) }
      fputs("\n", file)
    }
    guard fclose(file) == 0 else { throw Failure(path: path) }
  }

  private static func line(_ step: Trace.Step) -> String {
    switch step.deed {
    case .position(let value): return "[\"P\",\(step.time),\"\(Catalog.book(step.item))\",\(value)]"
    case .toggle: return "[\"T\",\(step.time),\"\(Catalog.paper(step.item))\"]"
    case .remove: return "[\"R\",\(step.time),\"\(Catalog.paper(step.item))\"]"
    case .add:
      let fields = Catalog.metadata(step.item).map { "\"\($0.name)\":\"\($0.value)\"" }.joined(separator: ",")
      return "[\"A\",\(step.time),\"\(Catalog.paper(step.item))\",{\(fields)}]"
    }
  }
}
