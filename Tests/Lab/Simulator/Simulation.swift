import HeartlogFiles

/// What a seed drives.
protocol SimulatedWorld: AnyObject {
  /// What happened, for people; nil if nobody wants to know.
  var story: [String]? { get }
  var checks: Int { get }

  /// Takes one step. What it does depends on the seed, its number and the state alone, so that other steps can be left out.
  func take(step: Int) throws

  /// Calms everything down, and checks what must hold then.
  func finish() throws

  /// Ends all threads of the world.
  func end()
}

/// Runs of the simulator: one for each seed, each the same every time.
package enum Simulation {
  /// How a run ended.
  package struct Outcome: Sendable {
    /// What was broken, and after how many steps; nil if all promises were kept.
    package var violation: String?
    package var steps: Int
    package var checks: Int
    package var story: [String]
  }

  /// One world of 300 is one of an encrypted vault, and its keys: it takes as long as hundreds of others.
  private static func isOfKeys(_ seed: UInt64) -> Bool { seed % 300 == 3 }

  /// Runs one world.
  ///
  /// - Parameters:
  ///   - seed: decides everything.
  ///   - steps: how many steps the run takes.
  ///   - omitted: steps that are left out, to find those that matter.
  ///   - tellsStory: whether to record what happens.
  package static func run(
    seed: UInt64, steps: Int, omitting omitted: Set<Int> = [], tellsStory: Bool = false
  ) -> Outcome {
    // As a strand does.
    ThreadPriority.lower()
    var outcome = Outcome(violation: nil, steps: 0, checks: 0, story: [])
    do {
      let world: any SimulatedWorld =
        isOfKeys(seed)
        ? try KeyWorld(seed: seed, tellsStory: tellsStory) : try World(seed: seed, tellsStory: tellsStory)
      defer {
        outcome.checks = world.checks
        outcome.story = world.story ?? []
        world.end()
      }
      for step in 0..<steps where !omitted.contains(step) {
        outcome.steps = step + 1
        try world.take(step: step)
      }
      try world.finish()
    } catch { outcome.violation = "\(error)" }
    return outcome
  }

  /// Finds a short run that fails like a given one: the steps that can be left out are left out.
  ///
  /// - Returns: the steps to omit, and how many are to be taken at all.
  package static func minimize(seed: UInt64, steps: Int) -> (omitted: Set<Int>, steps: Int) {
    let all = run(seed: seed, steps: steps).steps
    var omitted: Set<Int> = []
    var size = max(1, all / 2)
    while size >= 1 {
      var start = 0
      while start < all {
        let attempt = omitted.union(start..<min(start + size, all))
        if attempt != omitted, run(seed: seed, steps: all, omitting: attempt).violation != nil {
          omitted = attempt
        }
        start += size
      }
      size /= 2
    }
    return (omitted, all)
  }
}
