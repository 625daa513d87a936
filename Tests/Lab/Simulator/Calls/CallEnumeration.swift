#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif
import Heartlog

/// Workloads of which every file operation fails, with every error: alone, and with all operations after it.
package enum CallEnumeration {
  /// What was enumerated.
  package struct Counts: Sendable {
    package var workloads = 0
    /// The operations of the workloads when nothing fails.
    package var calls = 0
    /// The runs with a failure in them.
    package var runs = 0

    package init() {}
  }

  /// The errors that an operation may fail with. An interrupted call (EINTR) is repeated below the file system.
  package static let codes = [EIO, ENOSPC, EMFILE, EROFS, EACCES]

  /// Lets every operation of some workloads fail.
  ///
  /// - Parameters:
  ///   - codes: The errors to try.
  ///   - part: Which part of the failures is tried, of how many: of every `count` in a row, the one at `index`.
  /// - Returns: what was found broken; nil if nothing was.
  package static func check(
    _ workloads: [CallWorkload] = CallWorkload.allCases, codes: [Int32] = codes,
    part: (index: Int, count: Int) = (0, 1), _ counts: inout Counts
  ) -> String? {
    do {
      let stage = try CallStage()
      for workload in workloads {
        counts.workloads += 1
        let calls = try CallRun(workload, stage).run(nil)
        counts.calls += calls
        for first in 1...calls {
          for (number, code) in codes.enumerated() {
            for lasts in [false, true] {
              // One more each time, so that a part has all errors.
              guard (first * (2 * codes.count + 1) + 2 * number + (lasts ? 1 : 0)) % part.count == part.index
              else { continue }
              counts.runs += 1
              do {
                _ = try CallRun(workload, stage).run(CallFailure(first: first, code: code, lasts: lasts))
              } catch {
                let name =
                  "\(workload.rawValue), operation \(first) of \(calls)\(lasts ? " and all after it" : "")"
                return "\(name), errno \(code): \(error)"
              }
            }
          }
        }
      }
    } catch { return "\(error)" }
    return nil
  }
}
