import Observation

/// Waits until what a view reads fulfills a condition.
@MainActor
public func wait(until condition: @escaping @MainActor @Sendable () -> Bool) async {
  for await isFulfilled in Observations({ condition() }) where isFulfilled { return }
}
