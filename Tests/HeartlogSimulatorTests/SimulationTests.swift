import HeartlogSimulator
import Testing

@Suite("The simulator")
struct SimulationTests {
  @Test(
    "the same seed tells the same story, in which every promise is kept",
    arguments: [1, 7, 19, 40] as [UInt64])
  func repeats(seed: UInt64) {
    let once = Simulation.run(seed: seed, steps: 100, tellsStory: true)
    let again = Simulation.run(seed: seed, steps: 100, tellsStory: true)
    #expect(once.violation == nil)
    #expect(once.story == again.story && once.story.count > 100)
    #expect(once.checks > 0)
  }

  @Test("devices that join, rotate and remove each other at once settle")
  func keys() {
    // `Scripts/torture simulate` runs one such world in 300.
    let outcome = Simulation.run(seed: 303, steps: 200, tellsStory: true)
    #expect(outcome.violation == nil, "\(outcome.story.joined(separator: "\n"))")
    #expect(outcome.checks > 1)
  }

  @Test(
    "whatever file operation fails, a call throws a clear error or succeeds, and nothing is lost",
    arguments: [.append, .rotate, .receive] as [CallWorkload])
  func failingCalls(workload: CallWorkload) {
    var counts = CallEnumeration.Counts()
    // `Scripts/torture calls` tries all workloads, and all errors.
    #expect(CallEnumeration.check([workload], codes: [28], &counts) == nil)
    #expect(counts.calls > 20 && counts.runs == 2 * counts.calls)
  }

  @Test("every crash in a workload of one step is survived")
  func crashes() {
    var counts = CrashEnumeration.Counts()
    #expect(CrashEnumeration.check([[.append], [.erase], [.checkpoint]], &counts) == nil)
    #expect(counts.workloads == 3 && counts.checked > 10)
  }

  @Test("a process that is stopped at a file operation, and one that works meanwhile, do not harm each other")
  func interleavings() {
    var counts = InterleavingEnumeration.Counts()
    // `Scripts/torture interleavings` tries all pairs of steps, at all operations.
    #expect(InterleavingEnumeration.check([(.receive, .takeErasure)], part: (0, 16), &counts) == nil)
    #expect(counts.pairs == 1 && counts.points > 5 && counts.waits > 0)
  }

  @Test("changes of a store are named, or harmless")
  func damage() {
    var counts = DamageEnumeration.Counts()
    #expect(DamageEnumeration.check(part: 0, of: 20_011, &counts) == nil)
    #expect(counts.bytes >= 64 << 10 && counts.named > 10 && counts.harmless > 0)
    #expect(counts.misplaced >= 50)
  }
}
